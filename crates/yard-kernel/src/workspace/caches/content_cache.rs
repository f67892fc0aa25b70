//! Two small caches of contents in memory. A missing entry only costs time: it is read or computed again.

use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::{ContentHash, FastMap};

/// Larger contents are not cached.
pub(crate) const MAX_CONTENT_BYTES: usize = 64 << 10;
/// The cache is emptied before it would hold more bytes than this.
const MAX_BYTES: usize = 1 << 20;

/// The newest contents that this process wrote. The next plan compares a file with the cached content instead of hashing
/// it, which speeds up a series of edits.
#[derive(Default)]
pub(crate) struct WrittenContents(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    by_hash: FastMap<ContentHash, Vec<u8>>,
    bytes: usize,
}

impl WrittenContents {
    /// The hash of the bytes: the expected one if the cache holds that content and it is the same.
    pub(crate) fn hash(&self, bytes: &[u8], expected: Option<ContentHash>) -> ContentHash {
        expected.filter(|hash| self.holds(hash, bytes)).unwrap_or_else(|| ContentHash::of(bytes))
    }

    fn holds(&self, hash: &ContentHash, bytes: &[u8]) -> bool {
        let contents = self.0.lock();
        contents.by_hash.get(hash).is_some_and(|known| known == bytes)
    }

    /// Adds a content that was just written.
    pub(crate) fn insert(&self, hash: ContentHash, bytes: Vec<u8>) {
        let mut contents = self.0.lock();
        if bytes.len() > MAX_CONTENT_BYTES || contents.by_hash.contains_key(&hash) {
            return;
        }
        if contents.bytes + bytes.len() > MAX_BYTES {
            *contents = Contents::default();
        }
        contents.bytes += bytes.len();
        contents.by_hash.insert(hash, bytes);
    }
}

/// The large content that was last read in ranges, so that it is decompressed once and not for each range. There is at
/// most one a workspace: two contents that are read in turns are decompressed each time.
#[derive(Default)]
pub(crate) struct RangeReadCache(Mutex<Option<(ContentHash, Arc<Vec<u8>>)>>);

impl RangeReadCache {
    /// The content, if it is the cached one.
    pub(crate) fn get(&self, hash: &ContentHash) -> Option<Arc<Vec<u8>>> {
        let held = self.0.lock();
        held.as_ref().filter(|(known, _)| known == hash).map(|(_, bytes)| Arc::clone(bytes))
    }

    /// Caches a content for the next range.
    pub(crate) fn insert(&self, hash: ContentHash, bytes: Arc<Vec<u8>>) {
        *self.0.lock() = Some((hash, bytes));
    }

    /// Drops the cached content.
    pub(crate) fn clear(&self) {
        *self.0.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_right_also_if_another_one_was_expected() {
        let cache = WrittenContents::default();
        let (one, two) = (ContentHash::of(b"one"), ContentHash::of(b"two"));
        cache.insert(one, b"one".to_vec());
        for expected in [None, Some(one), Some(two)] {
            assert_eq!(cache.hash(b"one", expected), one);
            assert_eq!(cache.hash(b"two", expected), two);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let cache = WrittenContents::default();
        for number in 0..200u32 {
            let bytes = vec![number as u8; MAX_CONTENT_BYTES];
            cache.insert(ContentHash::of(&bytes), bytes);
            assert!(cache.0.lock().bytes <= MAX_BYTES);
        }
        cache.insert(ContentHash::of(b"x"), vec![0; MAX_CONTENT_BYTES + 1]);
        assert!(!cache.0.lock().by_hash.contains_key(&ContentHash::of(b"x")));
    }
}
