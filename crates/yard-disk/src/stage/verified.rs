//! Remembers which kept files were verified, so that a large one is not hashed again while its signature is the same.

use yard_core::Signature;

use super::Stage;
use crate::stat::EntryStat;

/// Most verified files that are remembered.
const MAX_VERIFIED: usize = 1_024;

impl Stage {
    /// Whether a kept file was verified, and has the same signature since.
    pub fn was_whole(&self, name: &str) -> bool {
        let verified = self.verified.lock();
        verified.get(name).is_some_and(|seen| self.kept_signature(name) == Some(*seen))
    }

    /// Remembers that a kept file was verified.
    pub fn remember_whole(&self, name: &str) {
        let Some(signature) = self.kept_signature(name) else { return };
        let mut verified = self.verified.lock();
        if verified.len() >= MAX_VERIFIED {
            verified.clear();
        }
        verified.insert(name.to_owned(), signature);
    }

    fn kept_signature(&self, name: &str) -> Option<Signature> {
        Some(EntryStat::at(&self.kept, name).ok()?.signature)
    }
}
