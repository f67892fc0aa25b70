//! `cat`: concatenates files, and displays invisible characters (W13).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::Fault;
use yard_core::op::{self, ReadAnswer, Slice, Want};

use super::display::{self, Displayed, Marks};
use super::read;
use crate::paging;
use crate::tool::{Context, Stop, Tool, Work};

/// Concatenates up to 20 text files, and can show line ends, tabs and line numbers as GNU `cat`
/// does:
/// to tell tabs from spaces or to find trailing white space. A file that cannot be read has `error`
/// in its entry; the others are shown. Use `read` to page through one file.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Cat {
    /// Full paths of the files, 1 to 20.
    #[schemars(length(min = 1, max = 20))]
    paths: Vec<String>,
    /// Show `$` at the end of each line (and `^M` for a carriage return there).
    #[serde(default)]
    show_ends: bool,
    /// Show tabs as `^I`.
    #[serde(default)]
    show_tabs: bool,
    /// Show several blank lines in a row as one.
    #[serde(default)]
    squeeze_blank: bool,
    /// Show each line's number in its file, counted from 1.
    #[serde(default)]
    number_lines: bool,
    /// Show `==> path <==` before each file and a blank line between files.
    #[serde(default)]
    show_headers: bool,
    /// First line to show of each file, counted from 0; negative counts from the end (-50 shows the
    /// last 50 lines).
    #[serde(default)]
    offset: i64,
    /// Most lines to show of each file; all that one answer may hold if not given, or 0.
    limit: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// All files, one after the other.
    content: String,
    /// The files, in the order in which they were asked for.
    files: Vec<File>,
    /// Whether a file was cut because the answer was full: go on with its `next_offset`.
    truncated: bool,
}

#[derive(Default, Serialize, JsonSchema)]
struct File {
    /// The file.
    path: String,
    /// What is shown of it; null if it was not read.
    content: Option<String>,
    /// How many lines are shown.
    line_count: u64,
    /// Whether the store's newest version is what is on disk; null if it was not read.
    synced: Option<bool>,
    /// The first line that is shown, counted from 0; null if it was not read.
    offset: Option<u64>,
    /// The limit that was used; null if none was.
    limit: Option<u64>,
    /// Lines of the whole file; null if it was not read.
    total_lines: Option<u64>,
    /// Why it was not read; not there if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Whether something remains after what is shown; not there if it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    /// The `offset` that shows what remains; not there if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// A line was longer than its share of the answer and was cut: send this to `read` as
    /// `byte_offset` to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_at_byte: Option<u64>,
}

impl Tool for Cat {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "cat";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let mut left = context.limits().answer_bytes;
        let mut reply = Reply { content: String::new(), files: Vec::new(), truncated: false };
        for (index, path) in args.paths.iter().enumerate() {
            let share = left / (args.paths.len() - index) as u64;
            let (file, full) = match one(path, &args, share, context) {
                Ok(shown) => shown,
                Err(Stop::Fault(fault)) => {
                    (unread(context.display_sent(path), &args, &fault), false)
                }
                Err(stop) => return Err(stop),
            };
            append(&mut reply.content, &file, &args);
            left = left.saturating_sub(file.content.as_ref().map_or(0, |text| text.len() as u64));
            reply.truncated |= full;
            reply.files.push(file);
        }
        Ok(reply)
    }
}

/// One file, displayed in at most `share` bytes, and whether that was too little.
fn one(text: &str, args: &Cat, share: u64, context: &Context<'_>) -> Result<(File, bool), Stop> {
    let path = context.path(text)?;
    let limit = args.limit.and_then(paging::max_lines);
    let answer = context.perform(op::Read {
        path: path.clone(),
        slice: Slice::Lines { start: read::start(None, args.offset), limit },
        want: Want { line_count: true, synced: true, ..Want::default() },
        max_bytes: max_read_bytes(share, args),
    })?;
    let max_bytes = usize::try_from(share).unwrap_or(usize::MAX);
    let displayed = display::display(&answer.text, answer.first_line, marks(args), max_bytes);
    let full = displayed.taken < limit.unwrap_or(u64::MAX)
        && (answer.truncated || displayed.taken < answer.lines);
    Ok((
        shown(context.display(&path), args, &answer, displayed),
        full || answer.cut_at_byte.is_some(),
    ))
}

/// The bytes that may be read so that any one line of them, displayed, fits into `share`: a tab takes two
/// bytes, and a number, `^M` and `$` a few.
fn max_read_bytes(share: u64, args: &Cat) -> u64 {
    let room = share.saturating_sub(32);
    let room = if args.show_tabs { room / 2 } else { room };
    room.max(1)
}

fn marks(args: &Cat) -> Marks {
    Marks {
        ends: args.show_ends,
        tabs: args.show_tabs,
        squeeze: args.squeeze_blank,
        numbers: args.number_lines,
    }
}

fn shown(path: String, args: &Cat, answer: &ReadAnswer, displayed: Displayed) -> File {
    let next = answer.first_line.saturating_add(displayed.taken);
    let truncated = answer.truncated || displayed.taken < answer.lines;
    let more = answer.line_count.is_none_or(|total| next < total);
    File {
        path,
        line_count: displayed.shown,
        content: Some(displayed.text),
        synced: answer.synced,
        offset: Some(answer.first_line),
        limit: args.limit,
        total_lines: answer.line_count,
        error: None,
        truncated: Some(truncated),
        next_offset: (truncated && more).then_some(next),
        cut_at_byte: answer.cut_at_byte.filter(|_| displayed.taken >= answer.lines),
    }
}

fn unread(path: String, args: &Cat, fault: &Fault) -> File {
    File { path, limit: args.limit, error: Some(fault.message().to_owned()), ..File::default() }
}

/// Appends a file to the whole; a file that was not read is left out.
fn append(whole: &mut String, file: &File, args: &Cat) {
    let Some(text) = &file.content else { return };
    if args.show_headers {
        if !whole.is_empty() {
            whole.push_str(if whole.ends_with('\n') { "\n" } else { "\n\n" });
        }
        whole.push_str(&format!("==> {} <==\n", file.path));
    }
    whole.push_str(text);
}

#[cfg(test)]
mod tests {
    use yard_core::{FaultCode, WsPath};

    use super::*;

    fn args() -> Cat {
        serde_json::from_value(serde_json::json!({"paths": ["/a"]})).unwrap()
    }

    fn read(text: &str) -> ReadAnswer {
        let lines = text.split_inclusive('\n').count() as u64;
        ReadAnswer {
            path: WsPath::root(),
            text: text.to_owned(),
            first_line: 10,
            lines,
            truncated: false,
            cut_at_byte: None,
            line_count: Some(10 + lines),
            hash: None,
            size: text.len() as u64,
            synced: Some(true),
            json: false,
        }
    }

    fn file(path: &str, text: &str) -> File {
        let displayed = display::display(text, 10, Marks::default(), usize::MAX);
        shown(path.to_owned(), &args(), &read(text), displayed)
    }

    fn joined(files: &[File], args: &Cat) -> String {
        let mut whole = String::new();
        for file in files {
            append(&mut whole, file, args);
        }
        whole
    }

    #[test]
    fn w13_headers_come_with_a_blank_line_between_files() {
        let missing = unread("/x".to_owned(), &args(), &Fault::new(FaultCode::NotFound, "no"));
        let files = [file("/a", "1\n"), missing, file("/b", "2"), file("/c", "3\n")];
        assert_eq!(
            joined(&files, &Cat { show_headers: true, ..args() }),
            "==> /a <==\n1\n\n==> /b <==\n2\n\n==> /c <==\n3\n"
        );
        assert_eq!(joined(&files, &args()), "1\n23\n");
    }

    #[test]
    fn r12_a_file_that_was_cut_says_where_it_goes_on() {
        let displayed = display::display("1\n2\n3\n", 10, Marks::default(), 4);
        let file = shown("/a".to_owned(), &args(), &read("1\n2\n3\n"), displayed);
        assert_eq!((file.truncated, file.next_offset, file.line_count), (Some(true), Some(12), 2));
        let whole = self::file("/a", "1\n2\n");
        assert_eq!((whole.truncated, whole.next_offset), (Some(false), None));
    }

    #[test]
    fn w13_a_file_that_cannot_be_read_has_its_error() {
        let file =
            unread("/x".to_owned(), &args(), &Fault::new(FaultCode::NotFound, "no such file"));
        assert_eq!((file.path.as_str(), file.error.as_deref()), ("/x", Some("no such file")));
        assert_eq!(file.content, None);
    }
}
