//! `read_file`: a whole file, as text or as bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, FETCH_BYTES, Fetch, LineStart, Slice, Want};
use yard_core::{Fault, FaultCode, Subject, WsPath};

use super::encoding::{Encoding, to_base64};
use crate::relative;
use crate::tool::{Context, Stop, Tool, Work};

pub(super) struct ReadFile;

/// Reads a whole file: as text, or in base64 if it is no text.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Path of the file, relative to the workspace root.
    path: String,
    /// How `content` is written: `utf-8` for text, `base64` for the bytes of any file.
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// All that the file holds.
    content: String,
    /// Its size in bytes.
    size: u64,
    /// When it was last changed (RFC 3339, UTC).
    modified: String,
}

impl Tool for ReadFile {
    type Args = Args;
    type Reply = Reply;
    const NAME: &'static str = "read_file";
    const WORK: Work = Work::Look;

    fn run(args: Args, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let (content, size) = match args.encoding {
            Encoding::Utf8 => text(&path, context)?,
            Encoding::Base64 => {
                let bytes = bytes(&path, context)?;
                (to_base64(&bytes), bytes.len() as u64)
            }
        };
        let stat = context.perform(op::Stat { path, want: Want::default(), follow: true })?;
        Ok(Reply { content, size, modified: stat.entry.updated_at.to_string() })
    }
}

/// This dialect cannot page, so that only the file limit bounds an answer (R12).
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

fn bytes(path: &WsPath, context: &Context<'_>) -> Result<Vec<u8>, Stop> {
    let part = |offset, seen| {
        context.perform(Fetch { path: path.clone(), offset, length: FETCH_BYTES, seen })
    };
    let first = part(0, None)?;
    if first.size > context.limits().load_bytes {
        return Err(too_large(&first.path, first.size, context));
    }
    let mut bytes = first.bytes;
    while (bytes.len() as u64) < first.size {
        let next = part(bytes.len() as u64, Some(first.seen))?;
        bytes.extend_from_slice(&next.bytes);
    }
    Ok(bytes)
}

fn too_large(path: &WsPath, size: u64, context: &Context<'_>) -> Stop {
    let message = format!(
        "{} has {size} bytes; at most {} can be read at once",
        relative::shown(path),
        context.limits().load_bytes
    );
    Stop::Fault(Fault::new(FaultCode::TooLarge, message).about(Subject::Path))
}
