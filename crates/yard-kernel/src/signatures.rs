//! Under which signatures contents were seen, so that a file that looks the same need not be read again. What is
//! remembered is handed to the store; what was just recorded is known to this process alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use yard_core::{ContentHash, FileId};
use yard_store::{SeenContent, Signature, Store};

/// How many signatures are remembered in memory before they are handed to the store.
const REMEMBERED: usize = 4_096;

/// How many signatures of what was just recorded are remembered.
const RECORDED: usize = 65_536;

/// The signatures that one process knows of a workspace.
pub(crate) struct Signatures {
    store: Arc<dyn Store>,
    seen: Mutex<HashMap<FileId, SeenContent>>,
    /// What this process recorded of what commands changed in place, too young to be remembered for good.
    recorded: Mutex<HashMap<FileId, (ContentHash, Signature)>>,
}

impl Signatures {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, seen: Mutex::default(), recorded: Mutex::default() }
    }

    /// Remembers under which signature a content was seen, so that it need not be read again.
    pub(crate) fn remember(&self, seen: SeenContent) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(seen.file, seen);
        if all.len() < REMEMBERED {
            return;
        }
        let full = std::mem::take(&mut *all);
        // The store may wait for another process; nobody waits here for that.
        drop(all);
        // A hint: if it cannot be stored, the next look reads the file again.
        let _ = self.store.remember(&full.into_values().collect::<Vec<_>>());
    }

    /// Notes under which signature a content was just recorded. Nothing of it survives this process: a file
    /// that changes again within the same tick of the clock is found by the next one that looks.
    pub(crate) fn note_recorded(&self, file: FileId, content: ContentHash, signature: Signature) {
        let mut all = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= RECORDED {
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
        let all = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&file) == Some(&(content, signature))
    }

    /// Whether a content of a file was seen under a signature, and is not with the store yet.
    pub(crate) fn remembers(
        &self,
        file: FileId,
        content: ContentHash,
        signature: Signature,
    ) -> bool {
        let all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&file).is_some_and(|seen| (seen.content, seen.signature) == (content, signature))
    }
}

impl Drop for Signatures {
    fn drop(&mut self) {
        let seen = std::mem::take(self.seen.get_mut().unwrap_or_else(PoisonError::into_inner));
        if !seen.is_empty() {
            let _ = self.store.remember(&seen.into_values().collect::<Vec<_>>());
        }
    }
}
