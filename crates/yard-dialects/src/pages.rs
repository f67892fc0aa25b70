//! A text file, page by page, as the dialects show it that put something in front of each line (R4,
//! R12): whole lines as long as they fit, counted with what stands before them. A line that is longer
//! than a page is cut, and says so.

use std::fmt::Write as _;

use yard_core::WsPath;
use yard_core::op::{self, LineStart, ReadAnswer, Slice, Want};

use crate::tool::{Context, Stop};

/// Bytes of a page that are kept for what is said about a cut line.
const ROOM: u64 = 256;

/// What stands before each line.
#[derive(Clone, Copy)]
pub(crate) enum Margin<'a> {
    /// Its number, right-aligned in six columns, and this.
    Numbers(&'a str),
    /// Always the same.
    Text(&'a str),
}

impl Margin<'_> {
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

/// Which part of a file.
pub(crate) struct Wanted<'a> {
    pub(crate) path: WsPath,
    /// Lines that are left out first.
    pub(crate) skip: u64,
    /// Most lines; none is as many as fit.
    pub(crate) limit: Option<u64>,
    /// Most bytes, with all that is put before lines.
    pub(crate) max_bytes: u64,
    pub(crate) margin: Margin<'a>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The file, links resolved.
    pub(crate) path: WsPath,
    pub(crate) text: String,
    /// Lines of the whole file.
    pub(crate) total_lines: u64,
    /// Something remains after the page.
    pub(crate) truncated: bool,
    /// Nothing stands before it and nothing remains after it.
    pub(crate) is_whole: bool,
    /// Its one line is longer than a page.
    pub(crate) cut: Option<Cut>,
}

/// Where a line was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The line, counted from 1.
    pub(crate) line: u64,
    /// The byte of the file at which it goes on.
    pub(crate) byte: u64,
}

/// Reads one page.
pub(crate) fn read(context: &Context<'_>, wanted: Wanted<'_>) -> Result<Page, Stop> {
    let answer = context.perform(op::Read {
        path: wanted.path,
        slice: Slice::Lines { start: LineStart::FromStart(wanted.skip), limit: wanted.limit },
        want: Want { line_count: true, ..Want::default() },
        max_bytes: wanted.max_bytes.saturating_sub(ROOM + wanted.margin.bytes()).max(1),
    })?;
    Ok(page(answer, wanted.margin, wanted.max_bytes))
}

fn page(answer: ReadAnswer, margin: Margin<'_>, max_bytes: u64) -> Page {
    let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let mut text = String::with_capacity(answer.text.len() + answer.text.len() / 4);
    let mut shown = 0;
    for line in answer.text.split_inclusive('\n') {
        let end = text.len();
        margin.write(answer.first_line + shown + 1, &mut text);
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
        cut: answer.cut_at_byte.map(|byte| Cut { line: answer.first_line + 1, byte }),
    }
}

impl Page {
    /// The page; below a line that was cut, that it was and which `argument` reads on.
    pub(crate) fn with_notice(&self, argument: &str) -> String {
        match self.cut {
            None => self.text.clone(),
            Some(Cut { line, byte }) => format!(
                "{}\n[line {line} is longer than one answer and was cut here; \
                 send {argument}: {byte} to read on]\n",
                self.text
            ),
        }
    }
}

/// A part of a file by bytes, for a line that is longer than a page.
pub(crate) struct Piece {
    pub(crate) path: WsPath,
    pub(crate) text: String,
    pub(crate) total_lines: u64,
    /// Something remains after it.
    pub(crate) truncated: bool,
    /// Where it goes on.
    pub(crate) next_byte: Option<u64>,
}

/// Reads from a byte on.
pub(crate) fn read_bytes(
    context: &Context<'_>,
    path: WsPath,
    offset: u64,
    max_bytes: u64,
) -> Result<Piece, Stop> {
    let answer = context.perform(op::Read {
        path,
        slice: Slice::Bytes { offset, limit: max_bytes },
        want: Want { line_count: true, ..Want::default() },
        max_bytes,
    })?;
    Ok(Piece {
        path: answer.path,
        text: answer.text,
        total_lines: answer.line_count.unwrap_or_default(),
        truncated: answer.truncated,
        next_byte: answer.cut_at_byte,
    })
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
        let whole = page(answer("a\n\nb", 0), Margin::Numbers("\t"), 1000);
        assert_eq!(whole.text, "     1\ta\n     2\t\n     3\tb");
        assert!(whole.is_whole && !whole.truncated);
        let late = page(answer("a\n", 1_234_566), Margin::Numbers("→"), 1000);
        assert_eq!(late.text, "1234567→a\n");
        assert!(!late.is_whole && !late.truncated);
    }

    #[test]
    fn r12_what_stands_before_lines_counts() {
        let part = page(answer("a\nb\nc\n", 0), Margin::Text("...."), 12);
        assert_eq!(part.text, "....a\n....b\n");
        assert!(part.truncated && !part.is_whole);
    }

    #[test]
    fn r4_a_cut_line_says_so() {
        let cut = ReadAnswer { cut_at_byte: Some(7), truncated: true, ..answer("abc", 4) };
        let cut = page(cut, Margin::Numbers("\t"), 1000);
        assert_eq!(cut.cut, Some(Cut { line: 5, byte: 7 }));
        let notice = cut.with_notice("byte_offset");
        assert!(notice.starts_with("     5\tabc\n[line 5 ") && notice.contains("byte_offset: 7"));
    }
}
