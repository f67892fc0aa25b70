//! Removes kept files of contents that were purged: the store says which ones, also after a crash.

use yard_core::{Fault, Result};

use crate::workspace::Workspace;

/// Removes kept files whose contents were purged. The caller holds the workspace's lock.
pub(crate) fn delete_purged_files(workspace: &Workspace) -> Result<()> {
    let pending = workspace.store().pending_deletions()?;
    if pending.is_empty() {
        return Ok(());
    }
    workspace.stage.remove_kept(&pending)?;
    workspace.store().forget_deletions(&pending).map_err(Fault::from)
}
