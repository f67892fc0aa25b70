//! What is remembered of who else changed a file. Nothing here asks the store.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use yard_core::FileId;
use yard_store::{OthersChange, Seq};

/// A file, and the chat that is not among the others.
type Key = (FileId, Option<String>);

/// Files of which it is remembered who else changed them.
const MOST_REMEMBERED: usize = 4_096;

/// What is known of who else changed a file: up to which step it was looked at, and what was found.
pub(crate) type Looked = (Seq, Option<OthersChange>);

/// Who else changed files, as far as that was looked at: a history only grows, so that only what is new has
/// to be looked at again.
#[derive(Debug, Default)]
pub(crate) struct OthersSeen(Mutex<HashMap<Key, Looked>>);

impl OthersSeen {
    /// What is known of a file.
    pub(crate) fn of(&self, key: &Key) -> Option<Looked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    /// Notes what is known of a file by now.
    pub(crate) fn remember(&self, key: Key, looked: Looked) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST_REMEMBERED {
            seen.clear();
        }
        seen.insert(key, looked);
    }
}
