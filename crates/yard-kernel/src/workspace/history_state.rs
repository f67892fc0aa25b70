//! The part of a workspace that makes changes durable, once and in order: the store, the queue of changes, the locks between
//! processes, and the flushes in the background. It plans no change and looks at no file of the workspace.

use std::sync::Arc;

use yard_core::Result;
use yard_disk::{Disk, Locks, Processes};
use yard_store::Store;

use crate::workspace::commit_queue::CommitQueue;
use crate::workspace::flusher::Flusher;
use crate::workspace::opening::Opening;

/// The history of one workspace, as this process writes it.
pub(crate) struct HistoryState {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queue: CommitQueue,
    pub(crate) locks: Locks,
    pub(crate) processes: Processes,
    pub(crate) flusher: Flusher,
}

impl HistoryState {
    /// Opens the locks of a state folder; nothing is read or written before they are taken.
    pub(crate) fn open(opening: &Opening, disk: &Arc<Disk>) -> Result<Self> {
        let (state_dir, store) = (&opening.state_dir, Arc::clone(&opening.store));
        Ok(Self {
            queue: CommitQueue::default(),
            locks: Locks::open(state_dir, opening.probe.clone())?,
            processes: Processes::new(state_dir),
            flusher: Flusher::new(Arc::clone(disk), Arc::clone(&store)),
            store,
        })
    }
}
