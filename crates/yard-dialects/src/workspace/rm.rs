//! `rm`: moves a file, a link or an empty folder to the trash (W7).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op;

use crate::tool::{Context, Hints, Stop, Tool};

/// Removes a file or an empty folder. What was removed can be restored by a person. A folder that
/// is not empty is refused: remove what is in it first.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Rm {
    /// Full path to the file or folder.
    path: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// What was removed.
    path: String,
    /// Its id; null for what the store did not know.
    file_id: Option<String>,
    /// The id under which it can be restored.
    trash_id: String,
}

impl Tool for Rm {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "rm";
    const HINTS: Hints = Hints::CHANGES.repeating();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let removed = context.perform(op::Remove { path, on_folder: op::OnFolder::IfEmpty })?;
        let id = removed.file.to_string();
        Ok(Reply {
            path: context.display(&removed.path),
            file_id: removed.was_known.then(|| id.clone()),
            trash_id: id,
        })
    }
}
