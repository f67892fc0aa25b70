//! The part of a workspace that makes changes durable, once and in order: the store, the queue of changes, the locks between
//! processes, and the flushes in the background. It plans no change and looks at no file of the workspace.

use std::path::Path;
use std::sync::Arc;

use yard_core::Result;
use yard_disk::{Disk, Locks, Processes};
use yard_store::Store;

use crate::commit_queue::CommitQueue;
use crate::flusher::Flusher;

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
    pub(crate) fn open(state_dir: &Path, disk: &Arc<Disk>, store: Arc<dyn Store>) -> Result<Self> {
        Ok(Self {
            queue: CommitQueue::default(),
            locks: Locks::open(state_dir)?,
            processes: Processes::new(state_dir),
            flusher: Flusher::new(Arc::clone(disk), Arc::clone(&store)),
            store,
        })
    }
}
