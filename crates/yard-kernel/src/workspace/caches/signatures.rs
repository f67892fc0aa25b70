//! Caches the signatures under which contents were read, so that a file with the same signature need not be read again.
//! Signatures that are old enough to be trusted are handed to the store; those of files that were just recorded stay in this
//! process.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::{ContentHash, FileId, Signature};
use yard_store::{SeenContent, Store};

/// How many signatures are remembered in memory before they are handed to the store.
const MAX_REMEMBERED: usize = 4_096;

/// How many signatures of files that were just recorded are remembered.
const MAX_RECORDED: usize = 65_536;

/// The signatures that one process knows of a workspace.
pub(crate) struct Signatures {
    store: Arc<dyn Store>,
    seen: Mutex<HashMap<FileId, SeenContent>>,
    /// Files that commands changed in place and this process recorded, whose signatures are too recent to be stored.
    recorded: Mutex<HashMap<FileId, (ContentHash, Signature)>>,
}

impl Signatures {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, seen: Mutex::default(), recorded: Mutex::default() }
    }

    /// Remembers the signature under which a content was read.
    pub(crate) fn remember(&self, seen: SeenContent) {
        let mut all = self.seen.lock();
        all.insert(seen.file, seen);
        if all.len() < MAX_REMEMBERED {
            return;
        }
        let full = std::mem::take(&mut *all);
        // The store may wait for another process, so that the lock must be free.
        drop(all);
        // If this fails, the files are read again.
        let _ = self.store.remember(&full.into_values().collect::<Vec<_>>());
    }

    /// Notes the signature under which a content was just recorded. It is never stored, so that another process notices a
    /// file that changed again within the same tick of the clock.
    pub(crate) fn note_recorded(&self, file: FileId, content: ContentHash, signature: Signature) {
        let mut all = self.recorded.lock();
        if all.len() >= MAX_RECORDED {
            all.clear();
        }
        all.insert(file, (content, signature));
    }

    /// Whether this process recorded a content of a file under a signature.
    pub(crate) fn did_record(
        &self,
        file: FileId,
        content: ContentHash,
        signature: Signature,
    ) -> bool {
        let all = self.recorded.lock();
        all.get(&file) == Some(&(content, signature))
    }

    /// Whether a content of a file was read under a signature that is not handed to the store yet.
    pub(crate) fn remembers(
        &self,
        file: FileId,
        content: ContentHash,
        signature: Signature,
    ) -> bool {
        let all = self.seen.lock();
        all.get(&file).is_some_and(|seen| (seen.content, seen.signature) == (content, signature))
    }
}

impl Drop for Signatures {
    fn drop(&mut self) {
        let seen = std::mem::take(self.seen.get_mut());
        if !seen.is_empty() {
            let _ = self.store.remember(&seen.into_values().collect::<Vec<_>>());
        }
    }
}
