//! `read`: reads a file's lines (W5), its bytes where a line is too long (R4), or the JSON value it holds
//! (W3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yard_core::op::{self, LineStart, ReadAnswer, Slice};

use super::content;
use crate::args::Fields;
use crate::paging;
use crate::tool::{Context, Stop, Tool, Work};

/// Reads a text file, by lines. Returns `hash`, to be sent as `last_read_hash` when editing, and
/// `total_lines`. A file that was written as a JSON value comes back as that value. Use `cat` to
/// see tabs and line ends, `grep` to find a place in a large file.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Read {
    /// Full path to the file.
    path: String,
    /// First line to read, counted from 0; negative counts from the end (-100 reads the last 100
    /// lines). With `cursor` it is added to that.
    #[serde(default)]
    offset: i64,
    /// Most lines to return; 0 is all that one answer may hold.
    #[serde(default = "crate::defaults::number::<500>")]
    limit: u64,
    /// Where a cut answer goes on: its `cursor`.
    cursor: Option<u64>,
    /// Read bytes from here on instead of lines: for a line that is longer than one answer, where
    /// `cut_at_byte` says.
    byte_offset: Option<u64>,
    /// Most bytes to return with `byte_offset`; all that one answer may hold if not given.
    byte_limit: Option<u64>,
    /// Return `hash` and `total_lines` also of a file above 8 MiB, all of which is read for it.
    #[serde(default)]
    hash: bool,
}

#[derive(Default, Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The file that was read.
    path: String,
    /// Its text, line ends included, or the JSON value that it holds.
    content: Value,
    /// SHA-256 of the whole file; null for a file above 8 MiB whose hash is not known, unless `hash` was sent.
    hash: Option<String>,
    /// Whether the store's newest version is what is on disk.
    synced: Option<bool>,
    /// Lines of the whole file; null for a JSON value, and for a file above 8 MiB unless `hash` was sent.
    total_lines: Option<u64>,
    /// Whether something remains after `content`; null for a JSON value.
    truncated: Option<bool>,
    /// The first line of `content`, counted from 0; null for a JSON value and for bytes.
    offset: Option<u64>,
    /// The limit that was used; null for a JSON value and for bytes.
    limit: Option<u64>,
    /// The next unread line, to be sent as `cursor`; not there if none remains, and for bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<u64>,
    /// A line was longer than one answer may be and was cut: send this as `byte_offset` to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_at_byte: Option<u64>,
    /// How to get what is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

/// Why a large file has no hash.
const NOT_HASHED: &str = "hash and total_lines are left out of a file above 8 MiB, because all of it would have to be \
    read: send `hash: true`, or call file_info, if you need them";

impl Tool for Read {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "read";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let slice = slice(&args, context.limits().answer_bytes)?;
        let max_bytes = context.limits().answer_bytes;
        let answer = context.perform(op::Read {
            path: path.clone(),
            slice,
            want: if args.hash { content::EVERYTHING } else { content::WHAT_IS_CHEAP },
            max_bytes,
        })?;
        if answer.json && matches!(slice, Slice::Lines { .. }) {
            // A value cannot be read in pages of lines, so that only the file limit bounds it (R12).
            if let Some((value, whole)) =
                content::read_value(&path, context.limits().load_bytes, context)?
            {
                return Ok(value_reply(value, &whole, context));
            }
        }
        Ok(text_reply(answer, slice, args.limit, context))
    }
}

/// W5: the lines or bytes that the arguments ask for.
fn slice(args: &Read, answer_bytes: u64) -> Result<Slice, Stop> {
    if let Some(offset) = args.byte_offset {
        if args.cursor.is_some() || args.offset != 0 {
            let mixed = "reads bytes, `offset` and `cursor` read lines: send one of them";
            return Err(Stop::argument("byte_offset", mixed));
        }
        return Ok(Slice::Bytes { offset, limit: args.byte_limit.unwrap_or(answer_bytes) });
    }
    if args.byte_limit.is_some() {
        return Err(Fields::one(
            "byte_limit",
            "goes with `byte_offset`, which is missing: send both, or `limit`, which counts lines",
        )
        .into());
    }
    Ok(Slice::Lines {
        start: start(args.cursor, args.offset),
        limit: paging::max_lines(args.limit),
    })
}

/// The first line of a read; a negative offset counts from the end.
pub(super) fn start(cursor: Option<u64>, offset: i64) -> LineStart {
    match cursor {
        Some(cursor) => LineStart::FromStart(cursor.saturating_add_signed(offset)),
        None if offset < 0 => LineStart::FromEnd(offset.unsigned_abs()),
        None => LineStart::FromStart(offset.unsigned_abs()),
    }
}

fn value_reply(value: Value, whole: &ReadAnswer, context: &Context<'_>) -> Reply {
    Reply {
        path: context.display(&whole.path),
        content: value,
        hash: whole.hash.map(|hash| hash.to_string()),
        synced: whole.synced,
        ..Reply::default()
    }
}

fn text_reply(answer: ReadAnswer, slice: Slice, limit: u64, context: &Context<'_>) -> Reply {
    let by_lines = matches!(slice, Slice::Lines { .. });
    Reply {
        path: context.display(&answer.path),
        hash: answer.hash.map(|hash| hash.to_string()),
        synced: answer.synced,
        total_lines: answer.line_count,
        truncated: Some(answer.truncated),
        offset: by_lines.then_some(answer.first_line),
        limit: by_lines.then_some(limit),
        cursor: next_line(&answer).filter(|_| by_lines),
        cut_at_byte: answer.cut_at_byte,
        message: (answer.hash.is_none() && answer.synced.is_some()).then_some(NOT_HASHED),
        content: Value::String(answer.text),
    }
}

/// The line after the slice, if there is one.
pub(super) fn next_line(answer: &ReadAnswer) -> Option<u64> {
    let next = answer.first_line.saturating_add(answer.lines);
    let more = answer.line_count.is_none_or(|total| next < total);
    (answer.truncated && more).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(offset: i64, limit: u64, cursor: Option<u64>) -> Read {
        let path = "/a".to_owned();
        Read { path, offset, limit, cursor, byte_offset: None, byte_limit: None, hash: false }
    }

    #[test]
    fn w5_reading_starts_at_cursor_plus_offset() {
        for (offset, cursor, expected) in [
            (0, None, LineStart::FromStart(0)),
            (100, None, LineStart::FromStart(100)),
            (-100, None, LineStart::FromEnd(100)),
            (0, Some(500), LineStart::FromStart(500)),
            (10, Some(500), LineStart::FromStart(510)),
            (-10, Some(500), LineStart::FromStart(490)),
            (-10, Some(5), LineStart::FromStart(0)),
            (i64::MIN, None, LineStart::FromEnd(1 << 63)),
            (i64::MAX, Some(u64::MAX), LineStart::FromStart(u64::MAX)),
        ] {
            assert_eq!(start(cursor, offset), expected, "{offset} {cursor:?}");
        }
    }

    #[test]
    fn w5_limit_zero_is_everything() {
        let start = LineStart::FromStart(0);
        assert_eq!(slice(&args(0, 0, None), 9), Ok(Slice::Lines { start, limit: None }));
        assert_eq!(slice(&args(0, 5, None), 9), Ok(Slice::Lines { start, limit: Some(5) }));
    }

    #[test]
    fn r4_bytes_are_read_on_their_own() {
        let bytes = |offset, byte_offset, byte_limit| {
            slice(&Read { byte_offset, byte_limit, ..args(offset, 500, None) }, 9)
        };
        assert_eq!(bytes(0, Some(7), None), Ok(Slice::Bytes { offset: 7, limit: 9 }));
        assert_eq!(bytes(0, Some(7), Some(3)), Ok(Slice::Bytes { offset: 7, limit: 3 }));
        assert!(bytes(1, Some(7), None).is_err());
        assert!(bytes(0, None, Some(3)).is_err());
    }
}
