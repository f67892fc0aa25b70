//! Opens a workspace: finishes what a crash left unfinished, and removes what nobody needs any more.

use std::sync::Arc;

use yard_core::{Call, Result};

use crate::leftovers::{self, sweep_kept};
use crate::op::purge;
use crate::opening::Opening;
use crate::recovery;
use crate::workspace::Workspace;

impl Workspace {
    /// Opens a workspace and finishes what a crash left unfinished.
    pub fn open(opening: Opening) -> Result<Self> {
        let call = Call::new(Arc::clone(&opening.world));
        let workspace = Self::found(opening)?;
        workspace.settle(&call)?;
        Ok(workspace)
    }

    fn settle(&self, call: &Call) -> Result<()> {
        self.flusher.is_flushed_to(self.store().projected()?.seq);
        let _lock = self.locks.acquire(call)?;
        let alone = self.locks.enter();
        recovery::settle(self, call)?;
        purge::bury(self)?;
        if alone {
            leftovers::rescue(self, call)?;
            sweep_kept(self)?;
            self.sweep_runs(call)?;
            self.homes.sweep(call.world().now())?;
            self.stage.sweep();
        }
        self.spills.sweep(&self.keeping(), call.world().now(), None);
        self.locks.share()
    }
}
