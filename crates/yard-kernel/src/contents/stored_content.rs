//! Stages stored contents for the disk, and makes the faults for contents that are not stored any more.

use yard_core::{Call, ContentHash, Fault, FaultCode, FileKind, Result, WsPath};
use yard_disk::{Staged, StagedAttributes, is_content};
use yard_store::{KeptFile, Retention};

use crate::workspace::Workspace;

/// Stages a stored content as a file or link. `None` if the store does not have it.
pub(crate) fn stage_stored(
    workspace: &Workspace,
    hash: &ContentHash,
    kind: FileKind,
    attributes: &StagedAttributes,
    path: &WsPath,
    call: &Call,
) -> Result<Option<Staged>> {
    let (disk, stage) = (&workspace.disk, &workspace.stage);
    match workspace.store().content(hash)? {
        Some(bytes) if kind == FileKind::Link => stage.link(disk, &bytes, path).map(Some),
        Some(bytes) => stage.file(disk, &bytes, attributes, path).map(Some),
        None => {
            let located = workspace.store().locate(hash)?;
            match located.and_then(|located| located.kept) {
                Some(kept) if !is_whole(workspace, &kept, hash, call)? => Ok(None),
                Some(kept) => {
                    stage.copy_of_kept(disk, &kept.name, attributes, path, call).map(Some)
                }
                None => Ok(None),
            }
        }
    }
}

/// Whether a kept file has the right content. Build output may have been evicted or written into, because its file is also
/// in the workspace; any other kept file may be incomplete after a power loss. A file that was checked is not read again while
/// its signature is the same.
pub(crate) fn is_whole(
    workspace: &Workspace,
    kept: &KeptFile,
    hash: &ContentHash,
    call: &Call,
) -> Result<bool> {
    let (stage, name) = (&workspace.stage, &kept.name);
    if kept.retention == Retention::Keep && stage.was_whole(name) {
        return Ok(true);
    }
    let Ok(mut file) = stage.open_kept(name) else { return Ok(false) };
    let is_whole = is_content(&mut file, hash, call)?;
    if is_whole {
        stage.remember_whole(name);
    }
    Ok(is_whole)
}

/// The fault for a content that is not stored any more.
pub(crate) fn lost(workspace: &Workspace, hash: &ContentHash) -> Fault {
    match workspace.store().is_purged(hash) {
        Ok(true) => purged(),
        Ok(false) => Fault::new(FaultCode::NotFound, format!("content {hash} was not kept")),
        Err(error) => error.into(),
    }
}

/// The fault for a purged content.
pub(crate) fn purged() -> Fault {
    let message = "content purged: an owner removed these bytes for good, only the history of their \
                   changes is left";
    Fault::new(FaultCode::NotFound, message)
}
