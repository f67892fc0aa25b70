//! Pages of a text file for the dialects that put a prefix before each line (R4, R12). A page has whole lines as long
//! as they fit with their prefixes. A line that is longer than a page is cut, and the page says so.

use std::fmt::Write as _;

use yard_core::WsPath;
use yard_core::op::{self, FETCH_BYTES, Fetch, LineStart, ReadAnswer, Slice, Want};

use crate::tool::{Context, Stop};

/// Bytes of a page that are reserved for the notice about a cut line.
const NOTICE_BYTES: u64 = 256;

/// The prefix of each line.
#[derive(Clone, Copy)]
pub(crate) enum LinePrefix<'a> {
    /// The number of the line, right-aligned in six columns, and this separator.
    Numbers(&'a str),
    /// The same text before each line.
    Text(&'a str),
}

impl LinePrefix<'_> {
    fn bytes(self) -> u64 {
        match self {
            // The longest number has twenty digits.
            Self::Numbers(separator) => 20 + separator.len() as u64,
            Self::Text(text) => text.len() as u64,
        }
    }

    fn write(self, number: u64, page: &mut String) {
        match self {
            Self::Numbers(separator) => {
                // Writing to a string does not fail.
                let _ = write!(page, "{number:>6}{separator}");
            }
            Self::Text(text) => page.push_str(text),
        }
    }
}

/// Which lines of a file to read.
pub(crate) struct PageRequest<'a> {
    pub(crate) path: WsPath,
    /// Lines before the page.
    pub(crate) skip: u64,
    /// Most lines; none is as many as fit.
    pub(crate) limit: Option<u64>,
    /// Most bytes, prefixes included.
    pub(crate) max_bytes: u64,
    pub(crate) prefix: LinePrefix<'a>,
}

/// Lines or bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The file, links resolved.
    pub(crate) path: WsPath,
    pub(crate) text: String,
    /// Lines of the whole file.
    pub(crate) total_lines: u64,
    /// The file has lines after the page.
    pub(crate) truncated: bool,
    /// The page has all lines of the file.
    pub(crate) is_whole: bool,
    /// The line that is longer than a page, counted from 1, if the page has a part of one.
    pub(crate) cut_line: Option<u64>,
    /// The byte of the file at which it goes on after a line that was cut, or after bytes.
    pub(crate) next_byte: Option<u64>,
}

/// Reads one page.
pub(crate) fn read(context: &Context<'_>, request: PageRequest<'_>) -> Result<Page, Stop> {
    let reserved = NOTICE_BYTES + request.prefix.bytes();
    let answer = context.perform(op::Read {
        path: request.path,
        slice: Slice::Lines { start: LineStart::FromStart(request.skip), limit: request.limit },
        want: Want { line_count: true, ..Want::default() },
        max_bytes: request.max_bytes.saturating_sub(reserved).max(1),
    })?;
    Ok(page(answer, request.prefix, request.max_bytes))
}

fn page(answer: ReadAnswer, prefix: LinePrefix<'_>, max_bytes: u64) -> Page {
    let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let mut text = String::with_capacity(answer.text.len() + answer.text.len() / 4);
    let mut shown = 0;
    for line in answer.text.split_inclusive('\n') {
        let end = text.len();
        prefix.write(answer.first_line + shown + 1, &mut text);
        text.push_str(line);
        if end > 0 && text.len() > max_bytes {
            text.truncate(end);
            break;
        }
        shown += 1;
    }
    let truncated = answer.truncated || shown < answer.lines;
    Page {
        path: answer.path,
        text,
        total_lines: answer.line_count.unwrap_or(answer.first_line + answer.lines),
        truncated,
        is_whole: answer.first_line == 0 && !truncated,
        cut_line: answer.cut_at_byte.map(|_| answer.first_line + 1),
        next_byte: answer.cut_at_byte,
    }
}

impl Page {
    /// The text; below a line that was cut, a notice which `argument` reads on.
    pub(crate) fn with_notice(&self, argument: &str) -> String {
        match self.cut_line.zip(self.next_byte) {
            None => self.text.clone(),
            Some((line, byte)) => format!(
                "{}\n[line {line} is longer than one answer and was cut here; \
                 send {argument}: {byte} to read on]\n",
                self.text
            ),
        }
    }
}

/// Reads a text from the byte `offset` on, for a line that is longer than a page.
pub(crate) fn read_bytes(
    context: &Context<'_>,
    path: WsPath,
    offset: u64,
    max_bytes: u64,
) -> Result<Page, Stop> {
    let answer = context.perform(op::Read {
        path,
        slice: Slice::Bytes { offset, limit: max_bytes },
        want: Want { line_count: true, ..Want::default() },
        max_bytes,
    })?;
    Ok(Page {
        path: answer.path,
        text: answer.text,
        total_lines: answer.line_count.unwrap_or_default(),
        truncated: answer.truncated,
        is_whole: false,
        cut_line: None,
        next_byte: answer.cut_at_byte,
    })
}

/// Reads all bytes of a file, of one content. Returns them with the path of the file, links resolved; a file above the
/// limit is refused with the stop that `too_large` makes from its path and size.
pub(crate) fn read_whole(
    context: &Context<'_>,
    path: &WsPath,
    too_large: impl FnOnce(&WsPath, u64) -> Stop,
) -> Result<(WsPath, Vec<u8>), Stop> {
    let fetch = |offset, seen| {
        context.perform(Fetch { path: path.clone(), offset, length: FETCH_BYTES, seen })
    };
    let first = fetch(0, None)?;
    if first.size > context.limits().load_bytes {
        return Err(too_large(&first.path, first.size));
    }
    let mut bytes = first.bytes;
    while (bytes.len() as u64) < first.size {
        bytes.extend(fetch(bytes.len() as u64, Some(first.seen))?.bytes);
    }
    Ok((first.path, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str, first_line: u64) -> ReadAnswer {
        ReadAnswer {
            path: WsPath::root(),
            text: text.to_owned(),
            first_line,
            lines: text.split_inclusive('\n').count() as u64,
            truncated: false,
            cut_at_byte: None,
            line_count: Some(9),
            hash: None,
            size: 0,
            synced: None,
            json: false,
        }
    }

    #[test]
    fn lines_are_numbered_in_six_columns() {
        let whole = page(answer("a\n\nb", 0), LinePrefix::Numbers("\t"), 1000);
        assert_eq!(whole.text, "     1\ta\n     2\t\n     3\tb");
        assert!(whole.is_whole && !whole.truncated);
        let late = page(answer("a\n", 1_234_566), LinePrefix::Numbers("→"), 1000);
        assert_eq!(late.text, "1234567→a\n");
        assert!(!late.is_whole && !late.truncated);
    }

    #[test]
    fn r12_prefixes_count_as_bytes_of_a_page() {
        let part = page(answer("a\nb\nc\n", 0), LinePrefix::Text("...."), 12);
        assert_eq!(part.text, "....a\n....b\n");
        assert!(part.truncated && !part.is_whole);
    }

    #[test]
    fn r4_a_cut_line_says_so() {
        let cut = ReadAnswer { cut_at_byte: Some(7), truncated: true, ..answer("abc", 4) };
        let cut = page(cut, LinePrefix::Numbers("\t"), 1000);
        assert_eq!((cut.cut_line, cut.next_byte), (Some(5), Some(7)));
        let notice = cut.with_notice("byte_offset");
        assert!(notice.starts_with("     5\tabc\n[line 5 ") && notice.contains("byte_offset: 7"));
    }
}
