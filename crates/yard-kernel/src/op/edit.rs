//! edit: replacements and insertions in a text, in the file's own encoding and line ending. All are made or none.

use yard_core::op::{Changed, Edit, Edited};
use yard_core::{Call, Fault, Result, Subject, WsPath, replace};

use crate::contents::load_limits::check_loadable;
use crate::op::stale;
use crate::planner::{Large, NewContent, Planner};
use crate::proposal::done_part::DonePart;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;
use yard_core::FileKind;
use yard_disk::{EntryKind, is_folder, not_found, special};

impl Execute for Edit {
    const IS_EDIT: bool = true;

    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Edited>> {
        let located = workspace.locate_to_change(&self.path, true)?;
        let (path, seen) = located.present().ok_or_else(|| not_found(&self.path))?;
        match seen.kind {
            EntryKind::Known(FileKind::Folder) => return Err(is_folder(&path)),
            EntryKind::Special(what) => return Err(special(&path, what)),
            EntryKind::Known(_) => check_loadable(seen.size(), workspace.limits(), &path)?,
        }
        let mut planner = Planner::new(workspace, call);
        let current = planner.current_as(&path, &seen, Large::Keep)?;
        stale::check(workspace, &current, self.expected)?;
        let edited = call.bounding(workspace.limits().load_bytes, |bounds| {
            replace::edit_within(&current.bytes, &self.actions, bounds)
        });
        let edited = edited.map_err(|fault| with_path(fault, &path))?;
        let content = NewContent {
            bytes: &edited.bytes,
            file_type: current.state.file_type,
            json: current.state.json,
        };
        let (version, hash) = planner.replace_file(&current, &content)?;
        let file = current.id;
        let changed =
            Changed { path, file, version, hash: Some(hash), created: false, unchanged: false };
        planner.propose::<Self>(Edited { changed, places: edited.places })
    }

    fn read_paths(&self) -> Vec<WsPath> {
        vec![self.path.clone()]
    }

    fn answer_for_part(answer: Edited, done: &DonePart) -> Edited {
        Edited { changed: done.changed(answer.changed), ..answer }
    }
}

/// Adds the path to a fault of the text engine, which does not know it.
fn with_path(fault: Fault, path: &WsPath) -> Fault {
    let message = format!("{path}: {}", fault.message());
    Fault::new(fault.code(), message).about(fault.subject().unwrap_or(Subject::Path))
}
