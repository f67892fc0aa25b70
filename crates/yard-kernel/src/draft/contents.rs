//! The contents that a draft brings into the store, and the files as which some of them are stored.

use std::collections::HashSet;

use yard_core::{ContentHash, FileId, Result};
use yard_disk::NewlyKept;
use yard_store::{NewChange, Prepared, Store};

use crate::draft::waiting_contents::WaitingContents;

/// A large file that a plan adopted. It is kept under `name` if the draft displaces it.
pub(crate) struct LargeFile {
    pub(crate) file: FileId,
    pub(crate) hash: ContentHash,
    pub(crate) name: String,
}

/// The contents of a draft.
#[derive(Default)]
pub(crate) struct DraftContents {
    pub(crate) waiting: WaitingContents,
    /// Contents that are stored as whole files. The files are removed again unless the step is recorded.
    pub(crate) stored_files: Vec<NewlyKept>,
    /// Large files that become versions, because the draft displaces them.
    pub(crate) large: Vec<LargeFile>,
    /// The contents that it writes, for the cache that the next plan uses.
    pub(crate) written: Vec<(ContentHash, Vec<u8>)>,
}

impl DraftContents {
    /// Adds a content that is prepared for the store, and the file as which it is stored, if it is stored as one.
    pub(crate) fn add(
        &mut self,
        prepared: Option<Prepared>,
        stored_file: Option<NewlyKept>,
        store: &dyn Store,
    ) -> Result<()> {
        if let Some(prepared) = prepared {
            self.waiting.push(prepared, store)?;
        }
        self.stored_files.extend(stored_file);
        Ok(())
    }

    /// Drops the contents that none of these changes has, with the files that would store them.
    pub(crate) fn drop_unneeded<'c>(&mut self, changes: impl Iterator<Item = &'c NewChange>) {
        let states = changes.flat_map(|change| change.before.iter().chain(&change.after));
        let needed: HashSet<ContentHash> = states.filter_map(|state| state.content).collect();
        let files = self.waiting.retain(&needed);
        self.stored_files.retain(|file| !files.contains(file.name()));
        self.written.retain(|(hash, _)| needed.contains(hash));
    }
}
