//! Which kept files were found to be whole: a large one is not hashed again while it looks the same.

use std::sync::PoisonError;

use yard_store::Signature;

use super::Stage;
use crate::stat::EntryStat;

/// Kept files that are remembered to be whole.
const MOST_WHOLE: usize = 1_024;

impl Stage {
    /// Whether a kept file was found to be whole, and looks the same since.
    pub fn was_whole(&self, name: &str) -> bool {
        let whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        whole.get(name).is_some_and(|seen| self.kept_signature(name) == Some(*seen))
    }

    /// A kept file was found to be whole.
    pub fn is_now_whole(&self, name: &str) {
        let Some(signature) = self.kept_signature(name) else { return };
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if whole.len() >= MOST_WHOLE {
            whole.clear();
        }
        whole.insert(name.to_owned(), signature);
    }

    fn kept_signature(&self, name: &str) -> Option<Signature> {
        Some(EntryStat::at(&self.kept, name).ok()?.signature)
    }
}
