//! What a draft was planned on: the entries that it expects on disk when it is committed, and the contents that the plan
//! read. Nothing here looks at the disk: the commit compares.

use std::collections::HashMap;
use std::sync::OnceLock;

use yard_core::{ContentHash, FileId, Result, Signature, WsPath};
use yard_disk::EntryStat;

use crate::draft::moved_tree::MovedTree;

/// What must be at a path when the draft is committed.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) path: WsPath,
    pub(crate) entry: ExpectedEntry,
}

#[derive(Clone, Debug)]
pub(crate) enum ExpectedEntry {
    /// Nothing.
    Absent,
    /// An entry with exactly this metadata.
    Unchanged(EntryStat),
    /// This folder; its entries may differ.
    Folder { inode: u64 },
    /// This folder, with only the entries that the step itself removes.
    FolderHolding { inode: u64, names: usize },
}

/// What a draft was planned on.
#[derive(Default)]
pub(crate) struct DraftBasis {
    pub(crate) expectations: Vec<Expectation>,
    /// Contents that the plan read from disk. Their signatures may be stored once the step is recorded.
    pub(crate) observed: Vec<(FileId, ContentHash, EntryStat)>,
    /// The entries of the folders that the draft moves. Read when a person is to approve it.
    moved_trees: OnceLock<Vec<MovedTree>>,
}

impl DraftBasis {
    /// Whether the plan looked at an entry at that path, and the entry's metadata then.
    pub(crate) fn stat_at(&self, path: &WsPath) -> Option<&EntryStat> {
        self.expectations.iter().find_map(|expected| match &expected.entry {
            ExpectedEntry::Unchanged(stat) if expected.path == *path => Some(stat),
            _ => None,
        })
    }

    /// The signature of every entry that the plan looked at.
    pub(crate) fn signatures(&self) -> HashMap<WsPath, Signature> {
        let signatures = self.expectations.iter().filter_map(|expected| match &expected.entry {
            ExpectedEntry::Unchanged(stat) => Some((expected.path.clone(), stat.signature)),
            _ => None,
        });
        signatures.collect()
    }

    /// The entries of the folders that the draft moves, as far as they were read.
    pub(crate) fn moved_trees(&self) -> &[MovedTree] {
        self.moved_trees.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// The same; they are read if they were not.
    pub(super) fn moved_trees_or(
        &self,
        read: impl FnOnce() -> Result<Vec<MovedTree>>,
    ) -> Result<&[MovedTree]> {
        if self.moved_trees.get().is_none() {
            // No other thread can have set it: a draft belongs to the thread that plans it.
            let _ = self.moved_trees.set(read()?);
        }
        Ok(self.moved_trees())
    }
}
