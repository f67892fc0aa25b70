//! Events of a workspace, as doors report them: steps, questions, modes and changes on disk by other programs, in one
//! numbered sequence that can be read again from any number on.

use std::sync::Arc;

use yard_core::{Call, ReadAccess as _, Result, World};
use yard_kernel::ExternalChanges;
use yard_store::{EVENT_PATHS, Event, EventRow};

use crate::session::ANY_TOOL;
use crate::{ChangeSubscription, CommitListener, OpenWorkspace, Session};

/// How many events are read at once.
pub const MAX_EVENTS: usize = 200;

impl Session {
    /// Events after number `after`, oldest first, at most [`MAX_EVENTS`], without paths that the caller may not list.
    pub fn events(&self, call: &Call, after: u64, limit: usize) -> Result<Vec<EventRow>> {
        let rows = self.open().records.events(after, limit.clamp(1, MAX_EVENTS));
        let mut rows = rows?;
        let Some(restrictions) = self.read_restrictions(ANY_TOOL, call)? else { return Ok(rows) };
        for row in &mut rows {
            match &mut row.what {
                Event::Step(step) => {
                    step.changes.retain(|change| restrictions.may_list(&change.path));
                }
                Event::ChangedOutside { paths } => {
                    paths.retain(|path| restrictions.may_list(path));
                }
                _ => {}
            }
        }
        Ok(rows)
    }

    /// The number of the newest event; 0 before the first.
    pub fn last_event(&self) -> Result<u64> {
        Ok(self.open().records.last_event()?)
    }

    /// Calls `listener` after each change until the subscription is dropped.
    pub fn subscribe(&self, listener: CommitListener) -> ChangeSubscription {
        self.open().changes.subscribe(listener)
    }

    /// Begins to record changes on disk by other programs as events, unless this was begun before. It ends when the
    /// workspace is closed.
    pub fn watch(&self, call: &Call) -> Result<()> {
        self.open().watch(call.shared_world())
    }
}

impl OpenWorkspace {
    fn watch(&self, world: Arc<dyn World>) -> Result<()> {
        let mut watching = self.watching.lock();
        if watching.is_some() {
            return Ok(());
        }
        let (records, changes, clock) =
            (Arc::clone(&self.records), self.changes.clone(), Arc::clone(&world));
        let record = move |ExternalChanges { changed, more }: ExternalChanges| {
            // An event without paths says that more files changed than were counted.
            let rest = more.then_some(&[][..]);
            for paths in changed.chunks(EVENT_PATHS).chain(rest) {
                // An event that cannot be written is lost: the change itself is found when the file is read.
                let _ = records.changed_outside(clock.now(), paths);
            }
            changes.notify();
        };
        *watching = Some(self.workspace.watch(world, Arc::new(record))?);
        Ok(())
    }
}
