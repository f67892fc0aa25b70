//! Patches as callers send them: parsed in either form, with their paths converted to those of the workspace, applied
//! in one step; and a report of the hunks that were not applied exactly where the patch says (X3).

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::op::{self, PatchedFile};
use yard_core::patch::{self, Action, AppliedHunk, Pass, Patch, PatchForm, Transfer};
use yard_core::{Fault, Subject};

use crate::tool::{Context, Stop};

/// A patch that was applied.
pub(crate) struct AppliedPatch {
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

/// Applies a patch: all of it, or nothing.
pub(crate) fn apply(context: &Context<'_>, text: &str) -> Result<AppliedPatch, Stop> {
    let mut patch = patch::parse(text).map_err(|error| Fault::from(error).about(Subject::Patch))?;
    let form = patch.files.first().map_or(PatchForm::Unified, |file| file.form);
    convert_paths(&mut patch, context)?;
    let files = context.perform(op::ApplyPatch { patch })?.files;
    Ok(AppliedPatch { form, files })
}

/// Writes every path from the root of the workspace.
fn convert_paths(patch: &mut Patch, context: &Context<'_>) -> Result<(), Stop> {
    for file in &mut patch.files {
        for path in [&mut file.old_path, &mut file.new_path].into_iter().flatten() {
            *path = context.patch_path(path)?.to_string();
        }
        // A rename between two spellings of one path is none.
        let is_rename = file.action == Action::Update && file.transfer == Some(Transfer::Rename);
        if is_rename && file.old_path == file.new_path {
            file.transfer = None;
        }
    }
    Ok(())
}

impl AppliedPatch {
    /// The hunks of a file that moved or needed looser matching.
    pub(crate) fn placed(&self, file: &PatchedFile) -> Vec<Placed> {
        let hunks = file.hunks.iter().enumerate().filter(|(_, landed)| self.is_notable(landed));
        hunks
            .map(|(at, landed)| Placed {
                hunk: at + 1,
                line: landed.line,
                pass: landed.pass.to_string(),
            })
            .collect()
    }

    /// An envelope states no lines: an exact match anywhere is the usual case there.
    fn is_notable(&self, landed: &AppliedHunk) -> bool {
        match landed.pass {
            Pass::Stated => false,
            Pass::Exact => self.form == PatchForm::Unified,
            _ => true,
        }
    }
}
