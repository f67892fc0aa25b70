//! The contents that a draft brings into the store. Beyond a bound their bytes wait for the commit in a file of the store's
//! and not in memory, so that a step may have any number of files.

use std::collections::HashSet;

use yard_core::{ContentHash, Result};
use yard_store::{Prepared, Store};

/// Bytes of contents of one draft that wait in memory.
const MAX_BYTES_IN_MEMORY: u64 = 32 << 20;

#[derive(Default)]
pub(crate) struct WaitingContents {
    contents: Vec<Prepared>,
    bytes_in_memory: u64,
}

impl WaitingContents {
    pub(crate) fn push(&mut self, content: Prepared, store: &dyn Store) -> Result<()> {
        self.bytes_in_memory += content.bytes_in_memory();
        self.contents.push(content);
        if self.bytes_in_memory > MAX_BYTES_IN_MEMORY {
            store.move_to_file(&mut self.contents)?;
            self.bytes_in_memory = 0;
        }
        Ok(())
    }

    pub(crate) fn into_prepared(self) -> Vec<Prepared> {
        self.contents
    }

    /// Drops the content that is kept as the file of that name.
    pub(crate) fn drop_kept(&mut self, name: &str) {
        self.contents.retain(|content| content.kept_file().is_none_or(|kept| kept.name != name));
    }

    /// Drops the contents that are not needed. Returns the names of the files as which they would be kept.
    pub(crate) fn retain(&mut self, needed: &HashSet<ContentHash>) -> HashSet<String> {
        let is_unneeded = |content: &mut Prepared| !needed.contains(&content.hash());
        let unneeded = self.contents.extract_if(.., is_unneeded);
        unneeded.filter_map(|content| content.kept_file().map(|file| file.name.clone())).collect()
    }
}
