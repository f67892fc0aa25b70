//! `read_file`: the old name of `read_text_file`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Reply;
use super::read_text_file::{self, ReadTextFile};
use crate::tool::{Context, Stop, Tool, Work};

/// Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadFile {
    /// The file: an absolute path within an allowed directory, or one relative to it.
    path: String,
    /// If provided, returns only the last N lines of the file.
    tail: Option<u64>,
    /// If provided, returns only the first N lines of the file.
    head: Option<u64>,
}

impl Tool for ReadFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "read_file";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let Self { path, tail, head } = args;
        read_text_file::read(&ReadTextFile { path, tail, head }, context).map(Reply::from)
    }
}
