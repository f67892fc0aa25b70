//! `read_file`: reads a whole file or a part of it, as text or as bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, Fetch, LineStart, Slice, Want};
use yard_core::{Fault, FaultCode, Subject, WsPath};

use super::encoding::{Encoding, to_base64};
use crate::pages::{self, LinePrefix, Page, PageRequest};
use crate::tool::{Context, Stop, Tool, Work};

/// Reads a whole file: as text, or in base64 if it is no text. A large one is read in parts, with `offset`
/// and `limit`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadFile {
    /// Path of the file, relative to the workspace root.
    path: String,
    /// How `content` is written: `utf-8` for text, `base64` for the bytes of any file.
    #[serde(default)]
    encoding: Encoding,
    /// First line to read, counted from 0, to read a part of a text.
    offset: Option<u64>,
    /// Most lines of that part; as many as one answer holds if not given.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Read a part by bytes instead, from here on: for a line that is longer than one answer, and for
    /// `base64`.
    byte_offset: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// All that the file holds, or the part that was asked for.
    content: String,
    /// Its size in bytes.
    size: u64,
    /// When it was last changed (RFC 3339, UTC).
    modified: String,
    /// Of a part: whether something remains after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    /// Of a part of a text: lines of the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    /// The `byteOffset` that reads on, after bytes or a line that was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_byte: Option<u64>,
}

impl Tool for ReadFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "read_file";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let part = part(&args, &path, context).map_err(suggest_base64)?;
        let stat = context.perform(op::Stat { path, want: Want::default(), follow: true })?;
        Ok(Reply {
            content: part.content,
            size: part.size.or(stat.entry.size).unwrap_or(0),
            modified: stat.entry.updated_at.to_string(),
            truncated: part.truncated,
            total_lines: part.total_lines,
            next_byte: part.next_byte,
        })
    }
}

fn suggest_base64(stop: Stop) -> Stop {
    stop.reword(|fault| {
        let message = fault.message();
        (fault.code() == FaultCode::Binary && message.contains("is not a text"))
            .then(|| format!("{message}; for its bytes send `encoding`: \"base64\""))
    })
}

/// The whole of a file, or the part that was requested.
#[derive(Default)]
struct Part {
    content: String,
    /// Known where bytes or the whole were read.
    size: Option<u64>,
    truncated: Option<bool>,
    total_lines: Option<u64>,
    next_byte: Option<u64>,
}

fn part(args: &ReadFile, path: &WsPath, context: &Context<'_>) -> Result<Part, Stop> {
    let by_lines = args.offset.is_some() || args.limit.is_some();
    match (args.byte_offset, args.encoding) {
        (Some(_), _) if by_lines => {
            let mixed = "reads bytes, `offset` and `limit` read lines: send one of them";
            Err(Stop::argument("byteOffset", mixed))
        }
        (None, Encoding::Base64) if by_lines => {
            Err(Stop::argument("offset", "counts lines of a text; send `byteOffset` with base64"))
        }
        (Some(offset), Encoding::Base64) => bytes_from(path, offset, context),
        (Some(offset), Encoding::Utf8) => {
            let max_bytes = context.limits().answer_bytes;
            pages::read_bytes(context, path.clone(), offset, max_bytes).map(Part::from)
        }
        (None, Encoding::Utf8) if by_lines => lines(args, path, context),
        (None, Encoding::Utf8) => {
            let (content, size) = text(path, context)?;
            Ok(Part { content, size: Some(size), ..Part::default() })
        }
        (None, Encoding::Base64) => {
            let too_large = |path: &WsPath, size| too_large(path, size, context);
            let (_, bytes) = pages::read_whole(context, path, too_large)?;
            let size = Some(bytes.len() as u64);
            Ok(Part { content: to_base64(&bytes), size, ..Part::default() })
        }
    }
}

fn lines(args: &ReadFile, path: &WsPath, context: &Context<'_>) -> Result<Part, Stop> {
    let request = PageRequest {
        path: path.clone(),
        skip: args.offset.unwrap_or(0),
        limit: args.limit,
        max_bytes: context.limits().answer_bytes,
        prefix: LinePrefix::Text(""),
    };
    pages::read(context, request).map(Part::from)
}

impl From<Page> for Part {
    fn from(page: Page) -> Self {
        Self {
            content: page.text,
            size: None,
            truncated: Some(page.truncated),
            total_lines: Some(page.total_lines),
            next_byte: page.next_byte,
        }
    }
}

fn bytes_from(path: &WsPath, offset: u64, context: &Context<'_>) -> Result<Part, Stop> {
    let length = context.limits().answer_bytes;
    let fetched = context.perform(Fetch { path: path.clone(), offset, length, seen: None })?;
    let next = offset.saturating_add(fetched.bytes.len() as u64);
    Ok(Part {
        content: to_base64(&fetched.bytes),
        size: Some(fetched.size),
        truncated: Some(next < fetched.size),
        total_lines: None,
        next_byte: (next < fetched.size).then_some(next),
    })
}

/// The spec has no parts of a file, so that only the file limit bounds a whole one (R12).
fn text(path: &WsPath, context: &Context<'_>) -> Result<(String, u64), Stop> {
    let answer = context.perform(op::Read {
        path: path.clone(),
        slice: Slice::Lines { start: LineStart::FromStart(0), limit: None },
        want: Want::default(),
        max_bytes: context.limits().load_bytes,
    })?;
    if answer.truncated {
        return Err(too_large(&answer.path, answer.size, context));
    }
    Ok((answer.text, answer.size))
}

fn too_large(path: &WsPath, size: u64, context: &Context<'_>) -> Stop {
    let message = format!(
        "{} has {size} bytes; at most {} can be read at once: read it in parts, with offset and limit",
        context.display(path),
        context.limits().load_bytes
    );
    Stop::Fault(Fault::new(FaultCode::TooLarge, message).about(Subject::Path))
}
