//! Patches as callers send them: read in either form, their paths made those of the workspace, done
//! in one step; and what is worth saying of where their hunks landed (X3).

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::op::{self, PatchedFile};
use yard_core::patch::{self, Action, AppliedHunk, FilePatch, Pass, Patch, PatchForm, Transfer};
use yard_core::{Fault, Subject};

use crate::tool::{Context, Stop};

/// What a patch left.
pub(crate) struct Done {
    form: PatchForm,
    /// File by file.
    pub(crate) files: Vec<PatchedFile>,
}

/// A hunk that is not exactly where the patch says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Placed {
    /// Which hunk of the file, counted from 1.
    hunk: usize,
    /// The line of the file, as it was, at which the hunk was applied.
    line: u64,
    /// What was needed to find that place.
    pass: String,
}

/// Does a patch: all of it, or nothing.
pub(crate) fn apply(context: &Context<'_>, text: &str) -> Result<Done, Stop> {
    let mut patch = patch::parse(text).map_err(|error| Fault::from(error).about(Subject::Patch))?;
    let form = patch.files.first().map_or(PatchForm::Unified, |file| file.form);
    place_in_workspace(&mut patch, context)?;
    let files = context.perform(op::ApplyPatch { patch })?.files;
    Ok(Done { form, files })
}

/// Writes every path as the workspace shows it.
fn place_in_workspace(patch: &mut Patch, context: &Context<'_>) -> Result<(), Stop> {
    for file in &mut patch.files {
        for path in [&mut file.old_path, &mut file.new_path].into_iter().flatten() {
            *path = context.patch_path(path)?.to_string();
        }
        forget_moving_onto_itself(file);
    }
    Ok(())
}

/// Two ways to write one path are no move.
fn forget_moving_onto_itself(file: &mut FilePatch) {
    let is_move = file.action == Action::Update && file.transfer == Some(Transfer::Rename);
    if is_move && file.old_path == file.new_path {
        file.transfer = None;
    }
}

impl Done {
    /// The hunks of a file that drifted or needed looser matching.
    pub(crate) fn placed(&self, file: &PatchedFile) -> Vec<Placed> {
        let loose = file.hunks.iter().enumerate().filter(|(_, landed)| self.is_news(landed));
        loose
            .map(|(at, landed)| Placed {
                hunk: at + 1,
                line: landed.line,
                pass: landed.pass.to_string(),
            })
            .collect()
    }

    /// An envelope states no lines: that a hunk of one was looked for is no news.
    fn is_news(&self, landed: &AppliedHunk) -> bool {
        match landed.pass {
            Pass::Stated => false,
            Pass::Exact => self.form == PatchForm::Unified,
            _ => true,
        }
    }
}
