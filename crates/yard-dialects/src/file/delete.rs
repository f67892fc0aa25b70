//! `file.delete`: removes one file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, OnFolder};
use yard_core::{Fault, FaultCode, Subject};

use crate::tool::{Context, Hints, Stop, Tool};

/// Deletes a file. Does not delete directories.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Delete {
    /// Path of the file, relative to the workspace root.
    path: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// Always true: a failure is an error.
    success: bool,
}

impl Tool for Delete {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "file.delete";
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        if path.is_root() {
            let message = format!(
                "{} is the root of the workspace, a directory: only files are deleted. Name a file",
                context.display(&path)
            );
            return Err(Stop::Fault(Fault::new(FaultCode::IsFolder, message).about(Subject::Path)));
        }
        context.perform(op::Remove { path, on_folder: OnFolder::Refuse })?;
        Ok(Reply { success: true })
    }
}
