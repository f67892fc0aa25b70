//! `delete_file`: removes a file or a directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::FaultCode;
use yard_core::op::{self, OnFolder};
use yard_gate::Asks;

use crate::tool::{Context, Hints, Stop, Tool};

/// Deletes a file, or a directory: an empty one, or with `recursive` any one with all that is in it.
#[derive(Deserialize, JsonSchema)]
pub(super) struct DeleteFile {
    /// Path of the file or directory, relative to the workspace root.
    path: String,
    /// Delete also what is in the directory; otherwise one that is not empty is an error.
    #[serde(default)]
    recursive: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// Everything that is gone, relative to the workspace root.
    deleted: Vec<String>,
}

impl Tool for DeleteFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "delete_file";
    const ASKS: Asks = Asks::ToOverwrite;
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let on_folder = match args.recursive {
            true => OnFolder::WithContents,
            false => OnFolder::IfEmpty,
        };
        let removed = context.perform(op::Remove { path, on_folder }).map_err(|stop| {
            stop.reword(|fault| {
                let message = fault.message();
                (fault.code() == FaultCode::NotEmpty)
                    .then(|| format!("{message}, or send `recursive`: true to delete that too"))
            })
        })?;
        Ok(Reply { deleted: removed.paths.iter().map(|path| context.display(path)).collect() })
    }
}
