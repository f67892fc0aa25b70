//! `file.patch`: replaces texts in a file, all or none (F3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, EditAction};

use crate::tool::{Context, Stop, Tool};

/// Replaces texts in a file. Each `find` must occur exactly once in the file as the patches before it
/// left it. Either all patches are applied or none. Everything else in the file stays byte for byte.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Patch {
    /// Path of the file, relative to the workspace root.
    path: String,
    /// What to replace, in this order.
    #[schemars(length(min = 1))]
    patches: Vec<Replacement>,
}

#[derive(Deserialize, JsonSchema)]
struct Replacement {
    /// The text to find, exactly as it stands in the file, with enough around it to be unique.
    find: String,
    /// What stands there afterwards; an empty string deletes.
    replace: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// Always true: a failure is an error.
    success: bool,
    /// How many patches were applied: all of them.
    patches_applied: usize,
}

impl Tool for Patch {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "file.patch";

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let actions: Vec<EditAction> = args.patches.into_iter().map(EditAction::from).collect();
        let patches_applied = actions.len();
        context.perform(op::Edit { path, actions, expected: None })?;
        Ok(Reply { success: true, patches_applied })
    }
}

impl From<Replacement> for EditAction {
    fn from(patch: Replacement) -> Self {
        Self::Replace { old: patch.find, new: patch.replace, all: false }
    }
}
