//! The caches of a workspace, which spare it reads of files and of the store. They decide nothing: an entry that is missing is
//! looked up again.

pub(crate) mod blame_cache;
pub(crate) mod content_cache;
mod foreign_changes;
pub(crate) mod git_config_cache;
mod line_counts;
mod signatures;

use std::sync::Arc;

use yard_store::Store;

use crate::workspace::caches::blame_cache::BlameCache;
use crate::workspace::caches::content_cache::{RangeReadCache, WrittenContents};
use crate::workspace::caches::foreign_changes::ForeignChangeCache;
use crate::workspace::caches::git_config_cache::GitConfigCache;
use crate::workspace::caches::line_counts::LineCounts;
use crate::workspace::caches::signatures::Signatures;

/// The caches of one workspace.
pub(crate) struct WorkspaceCaches {
    pub(crate) written_contents: WrittenContents,
    pub(crate) range_reads: RangeReadCache,
    pub(crate) signatures: Signatures,
    pub(crate) foreign_changes: ForeignChangeCache,
    pub(crate) git_configs: GitConfigCache,
    pub(crate) line_counts: LineCounts,
    pub(crate) blames: BlameCache,
}

impl WorkspaceCaches {
    /// Empty caches.
    pub(crate) fn new(store: &Arc<dyn Store>) -> Self {
        Self {
            written_contents: WrittenContents::default(),
            range_reads: RangeReadCache::default(),
            signatures: Signatures::new(Arc::clone(store)),
            foreign_changes: ForeignChangeCache::default(),
            git_configs: GitConfigCache::default(),
            line_counts: LineCounts::default(),
            blames: BlameCache::default(),
        }
    }
}
