//! Files that are too large to load. If a step displaces such a file, the file itself is kept as the version. If it stays
//! at its path, the store must not record that it is kept, unless a copy of it is.

use yard_core::{ContentHash, FileId, Result, VersionId, WsPath};
use yard_disk::{StagedAttributes, kept_name};
use yard_store::Prepared;

use super::Planner;
use super::adoption::Observed;
use crate::contents::build_output;
use crate::draft::Draft;
use crate::draft::contents::LargeFile;

impl Planner<'_> {
    /// Keeps a copy of a large file as a version, unless the store has that content. The copy is flushed before its step is
    /// recorded. If the file changes meanwhile, the step's expectation is not met.
    pub(super) fn store_copy(
        &mut self,
        hash: ContentHash,
        path: &WsPath,
        observed: &Observed,
    ) -> Result<ContentHash> {
        let located = self.store().locate(&hash)?;
        if located.as_ref().is_some_and(|located| !build_output::is_evictable(located)) {
            return Ok(hash);
        }
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let (source, _) = disk.open_seen(path, &observed.stat)?;
        let attributes = StagedAttributes { mode: None, owner: None, taking: None };
        let copy = stage.copy(disk, source, &attributes, path, self.call)?;
        copy.flush(path)?;
        let file = kept_name::of_copy(&hash, VersionId::new(self.call.world()));
        self.draft.contents.stored_files.push(copy.keep_too(&file.name, path)?);
        self.add_prepared(Prepared::kept(hash, observed.stat.size(), file))?;
        Ok(hash)
    }
}

impl Draft {
    /// Cancels that large files become versions, for those that this draft does not displace.
    pub(crate) fn leave_large_files_in_place(&mut self) {
        let large = std::mem::take(&mut self.contents.large);
        let (displaced, staying): (Vec<_>, Vec<_>) =
            large.into_iter().partition(|large| self.displaces(large.file));
        for LargeFile { file, hash, name } in staying {
            self.contents.waiting.drop_kept(&name);
            // If another file with the same bytes is kept, that is a version of this one too.
            if !displaced.iter().any(|other| other.hash == hash) {
                self.remove_content(file, hash);
            }
        }
        self.contents.large = displaced;
    }

    /// Whether one of its changes removes or replaces a file.
    fn displaces(&self, file: FileId) -> bool {
        let is_replaced = self.files.staged.contains_key(&file);
        self.changes.iter().filter(|change| change.file == file).any(|change| {
            let is_rewritten =
                is_replaced && change.from == change.to && change.before != change.after;
            change.after.is_none() || is_rewritten
        })
    }

    /// Makes a file that this draft adopts with that content one whose content is not recorded.
    fn remove_content(&mut self, file: FileId, hash: ContentHash) {
        let is_of_file = |change: &&mut yard_store::NewChange| change.file == file;
        let mut is_adopted = false;
        for change in self.adopted.iter_mut().filter(is_of_file) {
            let after = change.after.as_mut().filter(|after| after.content == Some(hash));
            if let Some(after) = after {
                (after.content, change.version) = (None, None);
                is_adopted = true;
            }
        }
        if !is_adopted {
            // The store had the content before this plan.
            return;
        }
        self.adopted.retain(|change| change.file != file || change.before != change.after);
        for change in self.changes.iter_mut().filter(is_of_file) {
            for state in [&mut change.before, &mut change.after].into_iter().flatten() {
                state.content = state.content.filter(|content| *content != hash);
            }
        }
    }
}
