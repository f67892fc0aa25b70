//! What a draft does to each file on disk: the staged file that takes its place, the times that it gets, and what is known
//! of the bytes that it displaces.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use yard_core::FileId;
use yard_disk::Staged;

/// What a draft puts on disk, by file.
#[derive(Default)]
pub(crate) struct DraftFiles {
    pub(crate) staged: HashMap<FileId, Staged>,
    /// The modification times, in nanoseconds, that touched files get. They are chosen here, so that the
    /// step can record them before they are on disk.
    pub(crate) touches: HashMap<FileId, i64>,
    /// The bytes that a staged file will displace: comparing is cheaper than hashing again.
    pub(crate) displacing: HashMap<FileId, Arc<Vec<u8>>>,
    /// Files that are build output.
    pub(crate) build_outputs: HashSet<FileId>,
}

impl DraftFiles {
    /// Leaves out every file for which `is_kept` is false.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&FileId) -> bool) {
        self.staged.retain(|file, _| is_kept(file));
        self.touches.retain(|file, _| is_kept(file));
        self.displacing.retain(|file, _| is_kept(file));
        self.build_outputs.retain(is_kept);
    }
}
