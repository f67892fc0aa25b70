//! `write_file`: writes a whole file.

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::Subject;
use yard_core::op::{self, OnMissingFolder};

use super::{Reply, fault, host_paths};
use crate::tool::{Context, Hints, Stop, Tool};

/// Create a new file or completely overwrite an existing file with new content. Use with caution as it will
/// overwrite existing files without warning (the content before can be had back from the history). Only works
/// within allowed directories.
#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteFile {
    /// The file: an absolute path within an allowed directory, or one relative to it. Its directory must
    /// exist.
    path: String,
    /// All that the file shall hold.
    content: String,
}

impl Tool for WriteFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "write_file";
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = host_paths::parse(context, &args.path, Subject::Path)?;
        let written = op::Write {
            on_missing_folder: OnMissingFolder::Refuse,
            ..op::Write::replacing(path.clone(), args.content.into_bytes())
        };
        context.perform(written).map_err(fault::of_placing(context, "open", &path))?;
        Ok(format!("Successfully wrote to {}", args.path).into())
    }
}
