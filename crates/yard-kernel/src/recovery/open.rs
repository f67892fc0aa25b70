//! Opens a workspace: recovers from a crash, and removes files that are no longer needed.

use std::sync::Arc;

use yard_core::{Call, Result};

use crate::contents::deletions::delete_purged_files;
use crate::recovery;
use crate::recovery::leftovers::{self, sweep_kept};
use crate::workspace::Workspace;
use crate::workspace::opening::Opening;

impl Workspace {
    /// Opens a workspace, and recovers from a crash if there was one.
    pub fn open(opening: Opening) -> Result<Self> {
        let call = Call::new(Arc::clone(&opening.world));
        let workspace = Self::open_unrecovered(opening)?;
        workspace.recover_all(&call)?;
        Ok(workspace)
    }

    fn recover_all(&self, call: &Call) -> Result<()> {
        self.history.flusher.note_flushed(self.store().flushed_mark()?.seq);
        let _lock = self.history.locks.acquire(call)?;
        let alone = self.history.locks.enter();
        recovery::recover(self, call)?;
        delete_purged_files(self)?;
        if alone {
            leftovers::recover_leftovers(self, call)?;
            sweep_kept(self)?;
            self.sweep_runs(call)?;
            self.commands.homes.sweep(call.world().now())?;
            self.stage.sweep();
        }
        self.commands.outputs.sweep(&self.keeping(), call.world().now(), None);
        self.history.locks.share()
    }
}
