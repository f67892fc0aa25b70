//! `read`: reads a file's lines, numbered, within two bounds (C1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_gate::Asks;

use crate::pages::{self, LinePrefix, PageRequest};
use crate::tool::{Context, Stop, Tool, Work};

/// Most lines of one answer.
const MAX_LINES: u64 = 2_000;
/// Most bytes of one answer, numbers included.
const MAX_BYTES: u64 = 50 << 10;

/// Reads a text file. Each line comes with its number, right-aligned in six columns, and an arrow
/// (`→`), which are not part of the file. One answer holds at most 2,000 lines and 50 KB: read a longer
/// file in parts with `offset` and `limit`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Read {
    /// Path of the file, relative to the workspace root.
    file_path: String,
    /// How many lines to skip first: 0 starts at line 1.
    #[serde(default)]
    offset: u64,
    /// Most lines to return.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Read bytes from here on instead of lines, without numbers: for a line that is longer than one
    /// answer, where the answer says so.
    byte_offset: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The lines, each with its number.
    content: String,
    /// What is known of the file.
    metadata: Metadata,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    /// Whether something remains after `content`.
    truncated: bool,
    /// Lines of the whole file.
    line_count: u64,
    /// The file, relative to the workspace root.
    file_path: String,
    /// Whether `content` is less than the whole file.
    preview: bool,
    /// The `byteOffset` that reads on, after a line that was cut or bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_byte: Option<u64>,
}

impl Tool for Read {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "read";
    const WORK: Work = Work::Look;
    const ASKS: Asks = Asks::OnceToRead;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.file_path)?;
        let page = match args.byte_offset {
            Some(offset) => pages::read_bytes(context, path, offset, MAX_BYTES)?,
            None => {
                let request = PageRequest {
                    path,
                    skip: args.offset,
                    limit: Some(args.limit.unwrap_or(MAX_LINES).min(MAX_LINES)),
                    max_bytes: MAX_BYTES,
                    prefix: LinePrefix::Numbers("→"),
                };
                pages::read(context, request)?
            }
        };
        Ok(Reply {
            content: page.with_notice("byteOffset"),
            metadata: Metadata {
                truncated: page.truncated,
                line_count: page.total_lines,
                file_path: context.display(&page.path),
                preview: !page.is_whole,
                next_byte: page.next_byte,
            },
        })
    }
}
