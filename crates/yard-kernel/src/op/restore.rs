//! restore: a removed entry comes back to where it was, with what was removed along with it; or an old
//! version of a file becomes its newest.

use yard_core::op::{Restore, Restored};
use yard_core::{Call, Fault, FaultCode, FileId, FileKind, Result, Subject, VersionId, WsPath};
use yard_store::Node;

use crate::disk::not_found;
use crate::draft::{Large, Planner};
use crate::op::history::last_at;
use crate::workspace::{Workspace, store_fault};
use crate::{Execute, Planned};

impl Execute for Restore {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Restored>> {
        match self {
            Self::Version(version) => to_version(workspace, call, *version),
            Self::Removed(file) => {
                let node = workspace.store().node(*file).map_err(store_fault)?;
                let node = node.ok_or_else(|| unknown(&format!("file {file}")))?;
                bring_back(workspace, call, &node)
            }
            Self::RemovedAt(path) => {
                let node = last_at(workspace, path)?.ok_or_else(|| not_found(path))?;
                bring_back(workspace, call, &node)
            }
        }
    }
}

fn unknown(what: &str) -> Fault {
    Fault::new(
        FaultCode::NotFound,
        format!("there is no {what} to restore; the trash lists what there is"),
    )
}

fn bring_back(workspace: &Workspace, call: &Call, node: &Node) -> Result<Planned<Restored>> {
    if node.state.is_some() {
        let message = format!(
            "{} was not removed; to go back to an older content, restore a version of it",
            node.path
        );
        return Err(Fault::new(FaultCode::Exists, message).about(Subject::Path));
    }
    let mut planner = Planner::new(workspace, call);
    planner.draft.exclusive = true;
    revive_above(&mut planner, node.last.parent)?;
    let path = place(&mut planner, node)?;
    planner.revive(node.id, &node.last, &path)?;
    if node.last.kind == FileKind::Folder {
        revive_below(&mut planner, node, &path)?;
    }
    let answer = Restored { file: node.id, path, step: planner.draft.id };
    planner.propose::<Restore>(answer)
}

/// Where a removed entry was, in folders that exist now or come back with it.
fn place(planner: &mut Planner<'_>, node: &Node) -> Result<WsPath> {
    let folder = planner.revived_or_living(node.last.parent)?;
    let folder = folder.ok_or_else(|| not_found(&node.path))?;
    let path = crate::draft::join(&folder, &node.last.name)?;
    if planner.workspace.disk.stat(&path)?.is_some() {
        let message = format!("{path} exists already; move it away first");
        return Err(Fault::new(FaultCode::Exists, message).about(Subject::Path));
    }
    Ok(path)
}

/// Brings back the removed folders above an entry.
fn revive_above(planner: &mut Planner<'_>, folder: FileId) -> Result<()> {
    if folder == FileId::ROOT {
        return Ok(());
    }
    let node = planner.store().node(folder).map_err(store_fault)?;
    let node = node.ok_or_else(|| unknown("folder for it"))?;
    revive_above(planner, node.last.parent)?;
    if node.state.is_none() {
        let path = place(planner, &node)?;
        planner.revive(node.id, &node.last, &path)?;
    }
    Ok(())
}

/// Brings back what one step removed together with a folder.
fn revive_below(planner: &mut Planner<'_>, folder: &Node, path: &WsPath) -> Result<()> {
    let changes = planner.store().changes(folder.seq).map_err(store_fault)?;
    // A folder was removed after what was in it: backwards it comes first.
    for change in changes.iter().rev() {
        let (Some(state), None, Some(from)) = (&change.before, &change.after, &change.from) else {
            continue;
        };
        if change.file == folder.id || !from.is_within(&folder.path) {
            continue;
        }
        // What was purged since does not keep the rest from coming back.
        let node = planner.store().node(change.file).map_err(store_fault)?;
        if node.is_some_and(|node| node.purged) {
            continue;
        }
        let below = planner.revived_or_living(state.parent)?.unwrap_or_else(|| path.clone());
        let place = crate::draft::join(&below, &state.name)?;
        planner.revive(change.file, state, &place)?;
    }
    Ok(())
}

fn to_version(workspace: &Workspace, call: &Call, version: VersionId) -> Result<Planned<Restored>> {
    let store = workspace.store();
    let row = store.version(version).map_err(store_fault)?;
    let row = row.ok_or_else(|| unknown(&format!("version {version}")))?;
    let mut planner = Planner::new(workspace, call);
    let path = store.path_of(row.file).map_err(store_fault)?.ok_or_else(|| {
        let message =
            format!("the file of version {version} was removed; restore it from the trash first");
        Fault::new(FaultCode::NotFound, message)
    })?;
    let current = planner.current(&path, Large::Keep)?;
    let hash = row.state.content.ok_or_else(|| unknown("content of that version"))?;
    let bytes = store.content(&hash).map_err(store_fault)?;
    let mut after = current.state.clone();
    (after.json, after.file_type) = (row.state.json, row.state.file_type);
    match bytes {
        Some(bytes) => planner.rewrite(&current, Some(bytes), after)?,
        None => planner.rewrite_as_stored(&current, hash, row.state.size, after)?,
    }
    let answer = Restored { file: row.file, path, step: planner.draft.id };
    planner.propose::<Restore>(answer)
}
