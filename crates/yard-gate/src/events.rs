//! What happened in a workspace, as doors report it: steps, questions, modes and what others changed on
//! disk, in one sequence that is read again from any number on.

use std::sync::{Arc, PoisonError};

use yard_core::{Call, Result, World};
use yard_kernel::{ExternalChanges, store_fault};
use yard_store::{EVENT_PATHS, EventRow};

use crate::{BellSubscription, Listener, OpenWorkspace, Session};

/// Most events that are handed out at once.
pub const MOST_EVENTS: usize = 200;

impl Session {
    /// Events after number `after`, oldest first, at most [`MOST_EVENTS`].
    pub fn events(&self, after: u64, limit: usize) -> Result<Vec<EventRow>> {
        self.open().desk.events(after, limit.clamp(1, MOST_EVENTS)).map_err(store_fault)
    }

    /// The number of the newest event; 0 before the first.
    pub fn last_event(&self) -> Result<u64> {
        self.open().desk.last_event().map_err(store_fault)
    }

    /// Calls `listener` whenever something happens, until what is returned is dropped.
    pub fn listen(&self, listener: Listener) -> BellSubscription {
        self.open().bell.listen(listener)
    }

    /// Makes sure that what others change on disk becomes an event from now on, for as long as the workspace is
    /// open.
    pub fn watch(&self, call: &Call) -> Result<()> {
        self.open().watch(call.shared_world())
    }
}

impl OpenWorkspace {
    fn watch(&self, world: Arc<dyn World>) -> Result<()> {
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        if watching.is_some() {
            return Ok(());
        }
        let (desk, bell, clock) = (Arc::clone(&self.desk), self.bell.clone(), Arc::clone(&world));
        let told = move |ExternalChanges { changed, more }: ExternalChanges| {
            // An event without paths says that more changed than anybody counted.
            let rest = more.then_some(&[][..]);
            for paths in changed.chunks(EVENT_PATHS).chain(rest) {
                // A hint: what cannot be written now is seen at the next look.
                let _ = desk.changed_outside(clock.now(), paths);
            }
            bell.ring();
        };
        *watching = Some(self.workspace.watch(world, Arc::new(told))?);
        Ok(())
    }
}
