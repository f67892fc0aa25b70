//! `multiedit`: makes several edits in one file, all or none (C3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{self, EditAction};
use yard_gate::Asks;

use crate::tool::{Context, Stop, Tool};

/// Makes several edits in one file, in this order; each is made to what those before it left. Either
/// all edits are made or none.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MultiEdit {
    /// Path of the file, relative to the workspace root.
    file_path: String,
    /// The edits.
    #[schemars(length(min = 1))]
    edits: Vec<Replacement>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    /// The text to replace, exactly as it stands in the file by then; once, unless `replaceAll` is true.
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
    /// How many places were replaced in all.
    total_replacements: u64,
    /// Edit by edit.
    results: Vec<EditResult>,
}

#[derive(Serialize, JsonSchema)]
struct EditResult {
    /// How many places this edit replaced.
    replacements: u64,
}

impl Tool for MultiEdit {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "multiedit";
    const ASKS: Asks = Asks::OnceToChange;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.file_path)?;
        let actions = args.edits.into_iter().map(EditAction::from).collect();
        let edited = context.perform(op::Edit { path, actions, expected: None })?;
        Ok(Reply {
            success: true,
            file_path: context.display(&edited.changed.path),
            total_replacements: edited.places.iter().sum(),
            results: edited
                .places
                .into_iter()
                .map(|replacements| EditResult { replacements })
                .collect(),
        })
    }
}

impl From<Replacement> for EditAction {
    fn from(edit: Replacement) -> Self {
        Self::Replace { old: edit.old_string, new: edit.new_string, all: edit.replace_all }
    }
}
