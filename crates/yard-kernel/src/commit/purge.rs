//! Commits a purge: the store drops the contents of removed files, and everything in the data folder that may quote them is
//! removed with them. It is no step and waits in no queue.

use yard_core::{Call, Fault, FileId, Result};
use yard_store::{Purged, StoreError};

use crate::contents::deletions::delete_purged_files;
use crate::draft::step_metadata::StepMetadata;
use crate::projection::applied::flush_to;
use crate::recovery;
use crate::workspace::Workspace;

/// Most files that the audit row of a purge names.
const MAX_AUDITED_FILES: usize = 8;

/// Commits a purge. `None` if a file was restored since the plan.
///
/// It runs under the workspace's lock, so that no step is being projected. The disk is flushed first, so that no power loss
/// makes recovery need a purged content.
pub(super) fn commit_purge(
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
