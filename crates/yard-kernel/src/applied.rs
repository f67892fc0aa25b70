//! Up to which step everything is on the disk: the applied mark, and what no crash can take back.

use yard_core::{Call, Result};
use yard_store::Seq;

use crate::belonging::mark_of;
use crate::workspace::Workspace;

/// Moves the applied mark to the head: everything recorded so far is on disk. The caller holds the
/// workspace's lock.
pub(crate) fn advance(workspace: &Workspace, call: &Call) -> Result<()> {
    let mark = mark_of(workspace.store().head()?, call);
    workspace.locks.set_applied(mark)?;
    workspace.flusher.flush_soon(mark);
    Ok(())
}

/// Flushes the disk, on which every step up to `seq` is: no crash can take them back then.
pub(crate) fn flush_to(workspace: &Workspace, seq: Seq, call: &Call) -> Result<()> {
    workspace.disk.flush()?;
    workspace.store().set_projected(mark_of(seq, call))?;
    workspace.flusher.is_flushed_to(seq);
    Ok(())
}
