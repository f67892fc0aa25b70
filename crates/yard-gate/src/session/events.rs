//! Events of a workspace, as doors report them: steps, questions, modes and changes on disk by other programs, in one
//! numbered sequence that can be read again from any number on.

use std::sync::Arc;

use yard_core::{Call, ReadAccess as _, Result, Timestamp, World};
use yard_kernel::ExternalChanges;
use yard_store::{EVENT_PATHS, Event, EventRow, WorkspaceRecords};

use crate::session::ANY_TOOL;
use crate::{ChangeSubscription, CommitListener, OpenWorkspace, Session};

/// How many events are read at once.
pub const MAX_EVENTS: usize = 200;

/// The newest event of a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastEvent {
    /// Its number; 0 before the first.
    pub number: u64,
    /// When it happened.
    pub at: Option<Timestamp>,
}

impl LastEvent {
    /// Reads it.
    pub fn read(records: &dyn WorkspaceRecords) -> Result<Self> {
        let number = records.last_event()?;
        let rows = records.events(number.saturating_sub(1), 1)?;
        Ok(Self { number, at: rows.first().map(|row| row.at) })
    }
}

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

    /// The newest event.
    pub fn newest_event(&self) -> Result<LastEvent> {
        LastEvent::read(self.open().records.as_ref())
    }

    /// Whether a subscription is one to this open workspace, and not to one that was closed since.
    pub fn is_subscribed(&self, subscription: &ChangeSubscription) -> bool {
        subscription.is_of(&self.open().changes)
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
