//! Caches the newest change of each file that was made outside of a chat. Nothing here reads the store.

use std::collections::HashMap;

use parking_lot::Mutex;
use yard_core::FileId;
use yard_store::{OthersChange, Seq};

/// A file, and the chat whose changes do not count.
type Key = (FileId, Option<String>);

/// Most entries of the cache.
const MAX_CACHED: usize = 4_096;

/// Up to which step a file was checked, and the newest foreign change of it that was found.
pub(crate) type LastForeignChange = (Seq, Option<OthersChange>);

/// The newest foreign changes of files. A history only grows, so that only steps after the cached one have to be checked.
#[derive(Debug, Default)]
pub(crate) struct ForeignChangeCache(Mutex<HashMap<Key, LastForeignChange>>);

impl ForeignChangeCache {
    pub(crate) fn get(&self, key: &Key) -> Option<LastForeignChange> {
        self.0.lock().get(key).copied()
    }

    pub(crate) fn insert(&self, key: Key, last: LastForeignChange) {
        let mut cache = self.0.lock();
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(key, last);
    }
}
