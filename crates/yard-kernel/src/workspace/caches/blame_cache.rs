//! The origins of the lines of the files that were asked about last, in memory. A file's versions never change, so that an
//! entry is right for ever and goes on with the next version. They are not in the store: reading remembers nothing there,
//! a purge has nothing to clean up, and finding them again takes a second or two even for a thousand versions. An entry has
//! no text, only numbers of lines.

use std::mem;

use parking_lot::Mutex;
use yard_core::line_origins::LineOrigins;
use yard_core::{ContentHash, FastMap, FileId, StepId};
use yard_store::Seq;

/// The oldest entries go when all of them are larger than that.
const MAX_BYTES: usize = 32 << 20;

/// The entries, the one that was used last at the end.
#[derive(Default)]
pub(crate) struct BlameCache(Mutex<Vec<FileOrigins>>);

/// What is known of one file.
pub(crate) struct FileOrigins {
    pub(crate) file: FileId,
    pub(crate) versions: Vec<BlamedVersion>,
    pub(crate) origins: LineOrigins,
    /// The first version with a content.
    pub(crate) first_with: FastMap<ContentHash, usize>,
}

/// One version of a file.
#[derive(Clone, Copy)]
pub(crate) struct BlamedVersion {
    pub(crate) seq: Seq,
    pub(crate) step: StepId,
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
}

impl FileOrigins {
    pub(crate) fn new(file: FileId) -> Self {
        let (versions, origins) = (Vec::new(), LineOrigins::default());
        Self { file, versions, origins, first_with: FastMap::default() }
    }

    fn bytes(&self) -> usize {
        let version = size_of::<BlamedVersion>() + 2 * size_of::<(ContentHash, usize)>();
        self.versions.len() * version + self.origins.bytes()
    }
}

impl BlameCache {
    /// Takes what is known of a file out of the cache, so that the caller can add to it.
    pub(crate) fn take(&self, file: FileId) -> FileOrigins {
        let mut entries = self.0.lock();
        let known = entries.iter().position(|entry| entry.file == file);
        known.map_or_else(|| FileOrigins::new(file), |at| entries.remove(at))
    }

    /// Puts it back.
    pub(crate) fn put(&self, entry: FileOrigins) {
        let mut entries = self.0.lock();
        entries.retain(|other| other.file != entry.file);
        entries.push(entry);
        let mut left = MAX_BYTES;
        let newest_first = mem::take(&mut *entries).into_iter().rev();
        *entries = newest_first
            .take_while(|entry| {
                let fits = entry.bytes() <= left;
                left = left.saturating_sub(entry.bytes());
                fits
            })
            .collect();
        entries.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_go_when_there_are_too_many() {
        let cache = BlameCache::default();
        let entry = |number: u8| {
            let mut entry = FileOrigins::new(FileId::from_bytes([number; 16]));
            let version = BlamedVersion {
                seq: 1,
                step: StepId::from_bytes([1; 16]),
                hash: ContentHash::of(b""),
                size: 0,
            };
            entry.versions = vec![version; MAX_BYTES / 3 / 200];
            entry
        };
        (1..9).for_each(|number| cache.put(entry(number)));
        let held = cache.0.lock().iter().map(|entry| entry.file.as_bytes()[0]).collect::<Vec<_>>();
        assert!((2..8).contains(&held.len()) && held.ends_with(&[7, 8]), "{held:?}");
        assert_eq!(cache.take(FileId::from_bytes([8; 16])).versions.len(), MAX_BYTES / 3 / 200);
        assert!(cache.take(FileId::from_bytes([8; 16])).versions.is_empty());
    }
}
