//! The applied mark, which says up to which step the disk is done, and the flush after which no crash undoes it.

use yard_core::{Call, Result};
use yard_store::Seq;

use crate::workspace::Workspace;
use crate::workspace::root_identity::mark_of;

/// Moves the applied mark to the head: everything recorded so far is on disk. The caller holds the
/// workspace's lock.
pub(crate) fn advance_applied_mark(workspace: &Workspace, call: &Call) -> Result<()> {
    let mark = mark_of(workspace.store().head()?, call);
    workspace.history.locks.set_applied(mark)?;
    workspace.history.flusher.flush_soon(mark);
    Ok(())
}

/// Flushes the disk. Every step up to `seq` must be on it; none of them needs recovery after this.
pub(crate) fn flush_to(workspace: &Workspace, seq: Seq, call: &Call) -> Result<()> {
    workspace.disk.flush()?;
    workspace.store().set_flushed_mark(mark_of(seq, call))?;
    workspace.history.flusher.note_flushed(seq);
    Ok(())
}
