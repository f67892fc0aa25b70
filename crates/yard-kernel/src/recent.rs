//! The newest contents that this process wrote or read. A file on disk that still holds one of them is
//! compared with it instead of being hashed: that is how most edits of a row of edits begin.
//!
//! A hint and nothing more: what is not here is hashed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use yard_core::ContentHash;

/// Larger contents are not kept.
pub(crate) const LARGEST: usize = 64 << 10;
/// When there is more than this, everything is forgotten.
const MOST: usize = 1 << 20;

/// A few contents by their hashes.
#[derive(Default)]
pub(crate) struct Recent(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    by_hash: HashMap<ContentHash, Vec<u8>>,
    bytes: usize,
}

impl Recent {
    /// The hash of the bytes: the expected one if that content is known and the same.
    pub(crate) fn hash(&self, bytes: &[u8], expected: Option<ContentHash>) -> ContentHash {
        expected.filter(|hash| self.is(hash, bytes)).unwrap_or_else(|| ContentHash::of(bytes))
    }

    /// Whether the bytes are known to be the content of that hash.
    pub(crate) fn is(&self, hash: &ContentHash, bytes: &[u8]) -> bool {
        let contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        contents.by_hash.get(hash).is_some_and(|content| content.as_slice() == bytes)
    }

    /// Keeps a content that was just written or read.
    pub(crate) fn keep(&self, hash: ContentHash, bytes: Vec<u8>) {
        if bytes.len() > LARGEST {
            return;
        }
        let mut contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if contents.bytes + bytes.len() > MOST {
            *contents = Contents::default();
        }
        contents.bytes += bytes.len();
        if let Some(same) = contents.by_hash.insert(hash, bytes) {
            contents.bytes -= same.len();
        }
    }
}

/// A large content that somebody reads in parts, so that it is unpacked once and not for each part.
/// At most one a workspace: who reads another at the same time has to unpack again.
#[derive(Default)]
pub(crate) struct InParts(Mutex<Option<(ContentHash, Arc<Vec<u8>>)>>);

impl InParts {
    /// The content, if it is the one that is being read.
    pub(crate) fn get(&self, hash: &ContentHash) -> Option<Arc<Vec<u8>>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().filter(|(known, _)| known == hash).map(|(_, bytes)| Arc::clone(bytes))
    }

    /// Holds a content for the next part.
    pub(crate) fn hold(&self, hash: ContentHash, bytes: Arc<Vec<u8>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((hash, bytes));
    }

    /// Lets go of whatever is held.
    pub(crate) fn release(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_the_bytes_whatever_was_expected() {
        let recent = Recent::default();
        let (one, two) = (ContentHash::of(b"one"), ContentHash::of(b"two"));
        recent.keep(one, b"one".to_vec());
        for expected in [None, Some(one), Some(two)] {
            assert_eq!(recent.hash(b"one", expected), one);
            assert_eq!(recent.hash(b"two", expected), two);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let recent = Recent::default();
        for number in 0..200u32 {
            let bytes = vec![number as u8; LARGEST];
            recent.keep(ContentHash::of(&bytes), bytes);
            assert!(recent.0.lock().unwrap().bytes <= MOST);
        }
        recent.keep(ContentHash::of(b"x"), vec![0; LARGEST + 1]);
        assert!(!recent.0.lock().unwrap().by_hash.contains_key(&ContentHash::of(b"x")));
    }
}
