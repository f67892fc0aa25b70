//! `read_multiple_files`: reads the first lines of many files, each with its own success.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yard_core::Fault;
use yard_core::op::{self, LineStart, ReadAnswer, Slice};

use super::{content, read};
use crate::paging;
use crate::tool::{Context, Stop, Tool, Work};

/// Reads up to 50 text files in one call. A file that cannot be read has `success: false` and
/// `error` in its entry; the others are read. One answer's bytes are shared among the files: read
/// on
/// in a cut one with `read` and its `cursor`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadMultipleFiles {
    /// Full paths of the files, 1 to 50.
    #[schemars(length(min = 1, max = 50))]
    paths: Vec<String>,
    /// Most lines of each file; 0 is all that one answer may hold.
    #[serde(default = "crate::defaults::number::<500>")]
    limit: u64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The files, in the order in which they were asked for.
    files: Vec<File>,
}

#[derive(Default, Serialize, JsonSchema)]
struct File {
    /// The file.
    path: String,
    /// Whether it was read.
    success: bool,
    /// Its text, line ends included, or the JSON value that it holds; null if it was not read.
    content: Option<Value>,
    /// SHA-256 of the whole file; null if it was not read, and for a file above 8 MiB whose hash is not known
    /// (`file_info` tells it).
    hash: Option<String>,
    /// Whether the store's newest version is what is on disk; null if it was not read.
    synced: Option<bool>,
    /// Why it was not read; null if it was.
    error: Option<String>,
    /// Lines of the whole file; null for a JSON value and if it was not read.
    total_lines: Option<u64>,
    /// Whether something remains after `content`; null if it was not read.
    truncated: Option<bool>,
    /// The next unread line, to be sent to `read` as `cursor`; not there if nothing remains.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<u64>,
    /// A line was longer than its share of the answer and was cut: send this to `read` as
    /// `byte_offset` to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_at_byte: Option<u64>,
}

impl Tool for ReadMultipleFiles {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "read_multiple_files";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let mut left = context.limits().answer_bytes;
        let mut files = Vec::with_capacity(args.paths.len());
        for (index, path) in args.paths.iter().enumerate() {
            let share = left / (args.paths.len() - index) as u64;
            let (file, bytes) = match one(path, args.limit, share, context) {
                Ok(read) => read,
                Err(Stop::Fault(fault)) => (unread(context.display_sent(path), &fault), 0),
                Err(stop) => return Err(stop),
            };
            left = left.saturating_sub(bytes);
            files.push(file);
        }
        Ok(Reply { files })
    }
}

/// One file and the bytes that it takes of the answer, at most `share`.
fn one(text: &str, limit: u64, share: u64, context: &Context<'_>) -> Result<(File, u64), Stop> {
    let path = context.path(text)?;
    let slice = Slice::Lines { start: LineStart::FromStart(0), limit: paging::max_lines(limit) };
    let read =
        op::Read { path: path.clone(), slice, want: content::WHAT_IS_CHEAP, max_bytes: share };
    let answer = context.perform(read)?;
    if answer.json
        && let Some((value, whole)) = content::read_value(&path, share, context)?
    {
        let bytes = whole.text.len() as u64;
        return Ok((value_file(context.display(&path), value, &whole), bytes));
    }
    let bytes = answer.text.len() as u64;
    Ok((text_file(context.display(&path), answer), bytes))
}

fn value_file(path: String, value: Value, whole: &ReadAnswer) -> File {
    File {
        path,
        success: true,
        content: Some(value),
        hash: whole.hash.map(|hash| hash.to_string()),
        synced: whole.synced,
        truncated: Some(false),
        ..File::default()
    }
}

fn text_file(path: String, answer: ReadAnswer) -> File {
    File {
        path,
        success: true,
        hash: answer.hash.map(|hash| hash.to_string()),
        synced: answer.synced,
        error: None,
        total_lines: answer.line_count,
        truncated: Some(answer.truncated),
        cursor: read::next_line(&answer),
        cut_at_byte: answer.cut_at_byte,
        content: Some(Value::String(answer.text)),
    }
}

fn unread(path: String, fault: &Fault) -> File {
    File { path, error: Some(fault.message().to_owned()), ..File::default() }
}

#[cfg(test)]
mod tests {
    use yard_core::FaultCode;

    use super::*;

    #[test]
    fn a_file_that_was_not_read_says_why() {
        let fault = Fault::new(FaultCode::NotFound, "File not found: /nonexistent.txt");
        let file = serde_json::to_value(unread("/nonexistent.txt".to_owned(), &fault)).unwrap();
        assert_eq!(file["path"], "/nonexistent.txt");
        assert_eq!(file["success"], false);
        assert_eq!(file["error"], "File not found: /nonexistent.txt");
        for name in ["content", "hash", "total_lines", "truncated"] {
            assert!(file[name].is_null(), "{name}");
        }
    }
}
