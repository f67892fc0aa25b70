//! `apply_patch_json` and `apply_patch_freeform`: change any number of files by one patch, all or none.
//! Each takes both forms (X3); a model sends what it was taught.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::PatchedFile;
use yard_core::patch::Action;
use yard_gate::Asks;

use crate::patches::{self, AppliedPatch, Placed};
use crate::tool::{Calling, Context, Stop, Tool};

/// Applies a unified diff, of git or of `diff -u`, to any number of files: all of it, or nothing.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Json {
    /// The unified diff, or an envelope from `*** Begin Patch` to `*** End Patch`.
    patch: String,
}

/// Applies an envelope, from `*** Begin Patch` to `*** End Patch`, with a section for each file
/// (`*** Add File: `, `*** Update File: `, `*** Delete File: `): all of it, or nothing.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Freeform {
    /// The envelope, or a unified diff.
    patch: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// File by file, in the order of the patch.
    results: Vec<File>,
}

#[derive(Serialize, JsonSchema)]
struct File {
    /// Where the file is, or was if it was deleted; relative to the workspace root.
    path: String,
    /// Bytes that it holds now; 0 if it was deleted.
    bytes_written: u64,
    /// Whether the file is new.
    created: bool,
    /// Whether the file is gone.
    deleted: bool,
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

impl Tool for Json {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "apply_patch_json";
    const ASKS: Asks = Asks::ToChange;
    const CALLING: Calling = Calling::Strict;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        patches::apply(context, &args.patch).map(|applied| Reply::of(&applied, context))
    }
}

impl Tool for Freeform {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "apply_patch_freeform";
    const ASKS: Asks = Asks::ToChange;
    const CALLING: Calling = Calling::Strict;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        patches::apply(context, &args.patch).map(|applied| Reply::of(&applied, context))
    }
}

impl Reply {
    fn of(applied: &AppliedPatch, context: &Context<'_>) -> Self {
        let results = applied.files.iter().map(|file| File::of(file, applied, context));
        Self { results: results.collect() }
    }
}

impl File {
    fn of(file: &PatchedFile, applied: &AppliedPatch, context: &Context<'_>) -> Self {
        Self {
            path: context.display(&file.path),
            bytes_written: file.size,
            created: file.action == Action::Add || file.copied_from.is_some(),
            deleted: file.action == Action::Delete,
            moved_from: file.moved_from.as_ref().map(|path| context.display(path)),
            copied_from: file.copied_from.as_ref().map(|path| context.display(path)),
            placed: applied.placed(file),
        }
    }
}
