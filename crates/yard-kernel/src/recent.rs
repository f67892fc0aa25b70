//! Two small caches of contents in memory. Neither decides anything: what they do not hold is worked
//! out again.

use std::sync::{Arc, Mutex, PoisonError};

use yard_core::{ContentHash, FastMap};

/// Larger contents are not kept.
pub(crate) const LARGEST: usize = 64 << 10;
/// When the cache would hold more bytes than this, it is emptied first.
const MOST: usize = 1 << 20;

/// The newest contents that this process wrote. A file on disk that still holds one of them is compared
/// with it instead of being hashed: this is how most edits of a series begin.
#[derive(Default)]
pub(crate) struct Recent(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    by_hash: FastMap<ContentHash, Vec<u8>>,
    bytes: usize,
}

impl Recent {
    /// The hash of the bytes: the expected one if the cache holds that content and it is the same.
    pub(crate) fn hash(&self, bytes: &[u8], expected: Option<ContentHash>) -> ContentHash {
        expected.filter(|hash| self.holds(hash, bytes)).unwrap_or_else(|| ContentHash::of(bytes))
    }

    fn holds(&self, hash: &ContentHash, bytes: &[u8]) -> bool {
        let contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        contents.by_hash.get(hash).is_some_and(|known| known == bytes)
    }

    /// Keeps a content that was just written.
    pub(crate) fn keep(&self, hash: ContentHash, bytes: Vec<u8>) {
        let mut contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes.len() > LARGEST || contents.by_hash.contains_key(&hash) {
            return;
        }
        if contents.bytes + bytes.len() > MOST {
            *contents = Contents::default();
        }
        contents.bytes += bytes.len();
        contents.by_hash.insert(hash, bytes);
    }
}

/// The large content that was last read in parts, so that it is decompressed once and not for each part.
/// A workspace holds at most one: two that are read in turns are decompressed each time.
#[derive(Default)]
pub(crate) struct InParts(Mutex<Option<(ContentHash, Arc<Vec<u8>>)>>);

impl InParts {
    /// The content, if it is the one that is held.
    pub(crate) fn get(&self, hash: &ContentHash) -> Option<Arc<Vec<u8>>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().filter(|(known, _)| known == hash).map(|(_, bytes)| Arc::clone(bytes))
    }

    /// Holds a content for the next part.
    pub(crate) fn hold(&self, hash: ContentHash, bytes: Arc<Vec<u8>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((hash, bytes));
    }

    /// Drops the content that is held.
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
