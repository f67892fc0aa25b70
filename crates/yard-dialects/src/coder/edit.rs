//! `edit`: replaces a text in a file, once or everywhere (C2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, EditAction};
use yard_gate::Asks;

use crate::tool::{Context, Stop, Tool};

/// Replaces a text in a file. `oldString` must occur exactly once, unless `replaceAll` is true.
/// Everything else in the file stays byte for byte. Use `multiedit` for several changes of one file.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Edit {
    /// Path of the file, relative to the workspace root.
    file_path: String,
    /// The text to replace, exactly as it stands in the file (without line numbers), with enough around
    /// it to be unique.
    old_string: String,
    /// What stands there afterwards; an empty string deletes.
    new_string: String,
    /// Replace every place where `oldString` stands.
    #[serde(default)]
    replace_all: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// Always true: a failure is an error.
    success: bool,
    /// The file, relative to the workspace root.
    file_path: String,
    /// How many places were replaced.
    replacements: u64,
}

impl Tool for Edit {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "edit";
    const ASKS: Asks = Asks::OnceToChange;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.file_path)?;
        let action = EditAction::Replace {
            old: args.old_string,
            new: args.new_string,
            all: args.replace_all,
        };
        let edited = context.perform(op::Edit { path, actions: vec![action], expected: None })?;
        Ok(Reply {
            success: true,
            file_path: context.display(&edited.changed.path),
            replacements: edited.places.iter().sum(),
        })
    }
}
