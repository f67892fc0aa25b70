//! What is remembered of what the configurations of repositories point to. Nothing here reads one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use yard_core::{Signature, WsPath};

/// Repositories of which it is remembered what they point to.
const MOST_REMEMBERED: usize = 64;

/// What repositories point to, as long as their configuration is what it was.
#[derive(Debug, Default)]
pub(crate) struct Pointers(Mutex<HashMap<WsPath, (Seen, Arc<Pointed>)>>);

/// The files of a configuration, as they were when git read them.
pub(crate) type Seen = Vec<(WsPath, Option<Signature>)>;

/// What one configuration points to.
#[derive(Debug, Default)]
pub(crate) struct Pointed {
    /// Folders in which everything counts, and files.
    pub(crate) places: Vec<WsPath>,
    /// Git could not be asked: nobody knows.
    pub(crate) is_unknown: bool,
}

impl Pointers {
    /// What a repository pointed to, and the files of its configuration as they were then.
    pub(crate) fn of(&self, repository: &WsPath) -> Option<(Seen, Arc<Pointed>)> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(repository).cloned()
    }

    /// Notes what a repository points to.
    pub(crate) fn remember(&self, repository: WsPath, seen: Seen, pointed: Arc<Pointed>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_REMEMBERED {
            kept.clear();
        }
        kept.insert(repository, (seen, pointed));
    }
}
