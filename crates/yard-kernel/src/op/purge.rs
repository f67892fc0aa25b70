//! purge: removes the contents of a removed file for good. It is no step, because nothing could undo it, but it has an audit
//! row, and the history of the file remains.

use yard_core::op::{Purge, PurgeAnswer};
use yard_core::{Call, Effect, EffectKind, Fault, FaultCode, FileId, FileKind, Result, Subject};
use yard_store::{Node, Purged, StoreError};

use crate::applied::flush_to;
use crate::op::history::find_file;
use crate::proposal::{CommitWork, Execute, Planned, Proposal};
use crate::recovery;
use crate::step_metadata::StepMetadata;
use crate::workspace::Workspace;

/// Most files that the audit row of a purge names.
const MAX_AUDITED_FILES: usize = 8;

impl Execute for Purge {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<PurgeAnswer>> {
        let node = find_file(workspace, self.file)?;
        if node.state.is_some() {
            return Err(living(&node));
        }
        let nodes = removed_together(workspace, node, call)?;
        let mut effect = Effect::default();
        nodes.iter().for_each(|node| {
            effect.push(EffectKind::Purge, node.path.clone(), node.last.file_type)
        });
        let files: Vec<FileId> = nodes.iter().map(|node| node.id).collect();
        let (file, count) = (self.file, files.len() as u64);
        let answer = Box::new(move |purged: Purged| PurgeAnswer {
            file,
            files: count,
            contents: purged.contents.len() as u64,
            bytes: purged.bytes,
        });
        Ok(Planned::Change(Box::new(Proposal {
            effect,
            work: CommitWork::Purge { files, answer },
        })))
    }
}

fn living(node: &Node) -> Fault {
    let message = format!(
        "{} was not removed; remove it first, then purge it from the trash. Nothing was purged",
        node.path
    );
    Fault::new(FaultCode::Exists, message).about(Subject::Path)
}

/// A removed entry, and for a folder everything below it that the same step removed and that was not restored since.
fn removed_together(workspace: &Workspace, node: Node, call: &Call) -> Result<Vec<Node>> {
    if node.last.kind != FileKind::Folder {
        return Ok(vec![node]);
    }
    let changes = workspace.store().changes(node.seq)?;
    let (folder, seq) = (node.path.clone(), node.seq);
    let mut nodes = vec![node];
    for change in changes {
        call.check()?;
        let below =
            change.from.as_ref().is_some_and(|from| *from != folder && from.is_within(&folder));
        if change.after.is_some() || !below {
            continue;
        }
        let removed = workspace.store().node(change.file)?;
        nodes.extend(removed.filter(|node| node.state.is_none() && node.seq == seq));
    }
    Ok(nodes)
}

/// Commits a purge. `None` if a file was restored since the plan.
///
/// It runs under the workspace's lock, so that no step is being projected. The disk is flushed first, so that no power loss
/// makes recovery need a purged content.
pub(crate) fn commit_purge(
    workspace: &Workspace,
    files: &[FileId],
    metadata: StepMetadata,
    call: &Call,
) -> Result<Option<Purged>> {
    // Layers of dropped runs may have the same bytes until they are deleted. That takes long only before the lock.
    workspace.commands.runs.settle_within(call)?;
    let _lock = workspace.history.locks.acquire(call)?;
    let head = recovery::recover(workspace, call)?;
    // Nothing is removed for a purge that has to be planned again.
    if !are_removed(workspace, files)? {
        return Ok(None);
    }
    workspace.commands.runs.settle_within(call)?;
    flush_to(workspace, head, call)?;
    // Command output may quote the purged contents.
    workspace.commands.outputs.clear()?;
    let mut entry = metadata.audit;
    entry.detail = format!("{} ({})", entry.detail, named(files));
    let purged = match workspace.store().purge(files, &entry) {
        Ok(purged) => purged,
        Err(StoreError::Misfit(_) | StoreError::Moved { .. }) => return Ok(None),
        Err(error) => return Err(failed(workspace, files, error)),
    };
    // The purge denied their approvals, and their layers may have the same bytes.
    workspace.drop_waiting_runs()?;
    workspace.caches.range_reads.clear();
    workspace.stage.discard_displaced(files);
    delete_purged_files(workspace)?;
    Ok(Some(purged))
}

/// Whether none of the files was restored.
fn are_removed(workspace: &Workspace, files: &[FileId]) -> Result<bool> {
    for file in files {
        let node = workspace.store().node(*file)?;
        if node.is_none_or(|node| node.state.is_some()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The files by their ids, as far as an audit row has room for them.
fn named(files: &[FileId]) -> String {
    let ids: Vec<String> = files.iter().take(MAX_AUDITED_FILES).map(ToString::to_string).collect();
    match files.len() - ids.len() {
        0 => ids.join(", "),
        rest => format!("{}, and {rest} more", ids.join(", ")),
    }
}

/// The fault of a failed purge. If the purge is recorded all the same, the fault says so.
fn failed(workspace: &Workspace, files: &[FileId], error: StoreError) -> Fault {
    let is_recorded = files
        .iter()
        .any(|file| matches!(workspace.store().node(*file), Ok(Some(node)) if node.purged));
    let fault = Fault::from(error);
    if !is_recorded {
        return fault;
    }
    let message = format!(
        "{}; the contents can no longer be read, but their bytes may still be on disk: purge again",
        fault.message()
    );
    Fault::new(fault.code(), message)
}

/// Removes kept files whose contents were purged. The caller holds the workspace's lock.
pub(crate) fn delete_purged_files(workspace: &Workspace) -> Result<()> {
    let pending = workspace.store().pending_deletions()?;
    if pending.is_empty() {
        return Ok(());
    }
    workspace.stage.remove_kept(&pending)?;
    workspace.store().forget_deletions(&pending).map_err(Fault::from)
}
