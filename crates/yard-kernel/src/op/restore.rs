//! restore: restores a removed entry at its old path, with what was removed along with it; or makes an old version of a
//! file its newest.

use yard_core::op::{Restore, Restored};
use yard_core::{
    Call, Fault, FaultCode, FileId, FileKind, FileState, Result, Subject, VersionId, WsPath,
};
use yard_disk::not_found;
use yard_store::{Node, Seq, VersionRow};

use crate::op::history::last_at;
use crate::planner::{Large, Planner, join};
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Restore {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Restored>> {
        match self {
            Self::Version(version) => to_version(workspace, call, *version),
            Self::Removed(file) => {
                let node = workspace.store().node(*file)?;
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
    let mut planner = Planner::new(workspace, call);
    planner.draft.exclusive = true;
    if node.state.is_some() && !is_deleted_by_hand(&mut planner, node)? {
        let message = format!(
            "{} was not removed; to go back to an older content, restore a version of it",
            node.path
        );
        return Err(Fault::new(FaultCode::Exists, message).about(Subject::Path));
    }
    let path = revive(&mut planner, node, &node.last)?;
    if node.last.kind == FileKind::Folder {
        revive_below(&mut planner, node, &path)?;
    }
    let answer = Restored { file: node.id, path, step: planner.draft.id };
    planner.propose::<Restore>(answer)
}

/// Whether another program deleted an entry. That is adopted as a step of its own, right before the planned one.
fn is_deleted_by_hand(planner: &mut Planner<'_>, node: &Node) -> Result<bool> {
    let path = planner.store().path_of(node.id)?;
    match path {
        Some(path) => planner.adopt_if_gone(&path),
        None => Ok(false),
    }
}

/// Restores an entry in that state, with the folders above it that are gone. Returns its path.
fn revive(planner: &mut Planner<'_>, node: &Node, state: &FileState) -> Result<WsPath> {
    revive_above(planner, node.last.parent)?;
    let path = restored_path(planner, node)?;
    planner.revive(node.id, state, &path)?;
    Ok(path)
}

/// The path at which a removed entry is restored, in folders that exist or are restored too.
fn restored_path(planner: &mut Planner<'_>, node: &Node) -> Result<WsPath> {
    let folder = planner.living_path(node.last.parent)?;
    let folder = folder.ok_or_else(|| not_found(&node.path))?;
    let path = join(&folder, &node.last.name)?;
    if planner.workspace.disk.stat(&path)?.is_some() {
        let message = format!("{path} exists already; move it away first");
        return Err(Fault::new(FaultCode::Exists, message).about(Subject::Path));
    }
    Ok(path)
}

/// Restores the removed folders above an entry.
fn revive_above(planner: &mut Planner<'_>, folder: FileId) -> Result<()> {
    if folder == FileId::ROOT {
        return Ok(());
    }
    let node = planner.store().node(folder)?;
    let node = node.ok_or_else(|| unknown("folder for it"))?;
    revive_above(planner, node.last.parent)?;
    if node.state.is_none() || planner.is_gone(node.id) {
        let path = restored_path(planner, &node)?;
        planner.revive(node.id, &node.last, &path)?;
    }
    Ok(())
}

/// Restores entries that were removed together with a folder: by one step, or outside of Toolyard.
fn revive_below(planner: &mut Planner<'_>, folder: &Node, path: &WsPath) -> Result<()> {
    let gone = match planner.is_gone(folder.id) {
        true => deleted_by_hand(planner),
        false => removed_by(planner, folder.seq)?,
    };
    // A folder was removed after its entries, so that it comes first in reverse order.
    for (file, state, from) in gone.into_iter().rev() {
        let was_at = if planner.is_gone(folder.id) { path } else { &folder.path };
        if file == folder.id || !from.is_within(was_at) {
            continue;
        }
        // Entries that were purged since are skipped.
        let node = planner.store().node(file)?;
        if node.is_some_and(|node| node.purged) {
            continue;
        }
        let below = planner.living_path(state.parent)?.unwrap_or_else(|| path.clone());
        let path = join(&below, &state.name)?;
        planner.revive(file, &state, &path)?;
    }
    Ok(())
}

type RemovedEntries = Vec<(FileId, FileState, WsPath)>;

/// The entries that a step removed, in its order.
fn removed_by(planner: &Planner<'_>, seq: Seq) -> Result<RemovedEntries> {
    let changes = planner.store().changes(seq)?;
    let removed = changes.into_iter().filter(|change| change.after.is_none());
    Ok(removed.filter_map(|change| Some((change.file, change.before?, change.from?))).collect())
}

/// The entries that this plan found to be no longer on disk, in the same order.
fn deleted_by_hand(planner: &Planner<'_>) -> RemovedEntries {
    let gone = planner.draft.adopted.iter().filter(|change| change.after.is_none());
    let gone =
        gone.filter_map(|change| Some((change.file, change.before.clone()?, change.from.clone()?)));
    gone.collect()
}

fn to_version(workspace: &Workspace, call: &Call, version: VersionId) -> Result<Planned<Restored>> {
    let store = workspace.store();
    let row = store.version(version)?;
    let row = row.ok_or_else(|| unknown(&format!("version {version}")))?;
    let mut planner = Planner::new(workspace, call);
    let path = store.path_of(row.file)?.ok_or_else(|| {
        let message =
            format!("the file of version {version} was removed; restore it from the trash first");
        Fault::new(FaultCode::NotFound, message)
    })?;
    let hash = row.state.content.ok_or_else(|| unknown("content of that version"))?;
    if planner.adopt_if_gone(&path)? {
        return restore_as_version(planner, &row, &version);
    }
    let current = planner.current(&path, Large::Keep)?;
    planner.check_replaceable(&current)?;
    let bytes = store.content(&hash)?;
    let mut after = current.state.clone();
    (after.json, after.file_type) = (row.state.json, row.state.file_type);
    match bytes {
        Some(bytes) => planner.rewrite(&current, Some(bytes), after)?,
        None => planner.rewrite_as_stored(&current, hash, row.state.size, after)?,
    }
    let answer = Restored { file: row.file, path, step: planner.draft.id };
    planner.propose::<Restore>(answer)
}

/// Restores a file that was deleted outside of Toolyard, with the content of that version.
fn restore_as_version(
    mut planner: Planner<'_>,
    row: &VersionRow,
    version: &VersionId,
) -> Result<Planned<Restored>> {
    planner.draft.exclusive = true;
    let node = planner.store().node(row.file)?;
    let node = node.ok_or_else(|| unknown(&format!("version {version}")))?;
    let FileState { content, size, json, file_type, .. } = row.state.clone();
    let state = FileState { content, size, json, file_type, ..node.last.clone() };
    let path = revive(&mut planner, &node, &state)?;
    let answer = Restored { file: row.file, path, step: planner.draft.id };
    planner.propose::<Restore>(answer)
}
