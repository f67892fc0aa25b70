//! `apply_patch`: changes any number of files by one patch, all or none (C3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::PatchedFile;
use yard_core::patch::Action;
use yard_gate::Asks;

use crate::patches::{self, Placed};
use crate::tool::{Context, Stop, Tool};

/// Applies a patch to any number of files: adds, updates, deletes and moves them, all or none. Takes a
/// unified or git diff, or an envelope from `*** Begin Patch` to `*** End Patch`. Folders that are
/// missing are made.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApplyPatch {
    /// The whole patch. Its paths are relative to the workspace root.
    patch_text: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// Always true: a failure is an error.
    success: bool,
    /// How many files were changed.
    files_modified: usize,
    /// File by file, in the order of the patch.
    files: Vec<File>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct File {
    /// Where the file is, or was if it was deleted; relative to the workspace root.
    path: String,
    /// What happened to it: `add`, `update`, `delete`, `move` or `copy`.
    action: &'static str,
    /// Where it was, if it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<String>,
    /// The file that it is a copy of, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_from: Option<String>,
    /// The hunks that were not found exactly where the patch says, and what was needed to place them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    placed: Vec<Placed>,
}

impl Tool for ApplyPatch {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "apply_patch";
    const ASKS: Asks = Asks::OnceToChange;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let applied = patches::apply(context, &args.patch_text)?;
        let files = applied.files.iter().map(|file| File {
            path: context.display(&file.path),
            action: action(file),
            moved_from: file.moved_from.as_ref().map(|path| context.display(path)),
            copied_from: file.copied_from.as_ref().map(|path| context.display(path)),
            placed: applied.placed(file),
        });
        Ok(Reply { success: true, files_modified: applied.files.len(), files: files.collect() })
    }
}

fn action(file: &PatchedFile) -> &'static str {
    match file.action {
        Action::Add => "add",
        Action::Delete => "delete",
        Action::Update if file.moved_from.is_some() => "move",
        Action::Update if file.copied_from.is_some() => "copy",
        Action::Update => "update",
    }
}
