//! `file.write`: writes a whole file, and makes the folders above it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op;

use crate::tool::{Context, Hints, Stop, Tool};

/// Creates a file, or replaces all that an existing one holds. Folders that are missing are made. Use
/// `file.patch` to change a part of a file.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Write {
    /// Path of the file, relative to the workspace root.
    path: String,
    /// All that the file shall hold.
    content: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// Always true: a failure is an error.
    success: bool,
    /// Bytes that the file holds now.
    bytes_written: usize,
}

impl Tool for Write {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "file.write";
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let bytes_written = args.content.len();
        let path = context.path(&args.path)?;
        context.perform(op::Write::replacing(path, args.content.into_bytes()))?;
        Ok(Reply { success: true, bytes_written })
    }
}
