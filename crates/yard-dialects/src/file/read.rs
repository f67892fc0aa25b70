//! `file.read`: reads a file's lines, numbered as `cat -n` does (F2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pages::{self, LinePrefix, PageRequest};
use crate::tool::{Context, Stop, Tool, Work};

/// Reads a text file. Each line comes with its number, right-aligned in six columns, and a tab; the
/// number and the tab are not part of the file. Read a long file in parts with `offset` and `limit`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Read {
    /// Path of the file, relative to the workspace root.
    path: String,
    /// First line to read, counted from 1.
    #[serde(default = "crate::defaults::number::<1>")]
    #[schemars(range(min = 1))]
    offset: u64,
    /// Most lines to return; all that one answer may hold if not given.
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
    /// Lines of the whole file.
    total_lines: u64,
    /// Whether something remains after `content`.
    truncated: bool,
    /// The `byte_offset` that reads on, after a line that was cut or bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_byte: Option<u64>,
}

impl Tool for Read {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "file.read";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let max_bytes = context.limits().answer_bytes;
        let page = match args.byte_offset {
            Some(offset) => pages::read_bytes(context, path, offset, max_bytes)?,
            None => {
                let (skip, limit) = (args.offset.saturating_sub(1), args.limit);
                let prefix = LinePrefix::Numbers("\t");
                pages::read(context, PageRequest { path, skip, limit, max_bytes, prefix })?
            }
        };
        Ok(Reply {
            content: page.with_notice("byte_offset"),
            total_lines: page.total_lines,
            truncated: page.truncated,
            next_byte: page.next_byte,
        })
    }
}
