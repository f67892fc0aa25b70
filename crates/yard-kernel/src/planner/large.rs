//! Files that are too large to load. Such a file becomes a version by being kept itself, which happens when
//! a step takes it out of its place. Of one that stays in its place the store must not say that it is kept,
//! unless a copy of it is.

use yard_core::{ContentHash, FileId, Result, VersionId, WsPath};
use yard_disk::{StagedAttributes, kept_name};
use yard_store::Prepared;

use super::{Observed, Planner};
use crate::draft::Draft;
use crate::output;

/// A large file that a plan adopted, to be kept under `name` if the plan takes it out of its place.
pub(super) struct LargeFile {
    pub(super) file: FileId,
    pub(super) hash: ContentHash,
    pub(super) name: String,
}

impl Planner<'_> {
    /// Keeps a copy of a large file as a version, unless the store has that content. The copy is flushed
    /// before its step is recorded; a file that changed meanwhile fails the step's expectation.
    pub(super) fn keep_copy(
        &mut self,
        hash: ContentHash,
        path: &WsPath,
        observed: &Observed,
    ) -> Result<ContentHash> {
        let known = self.store().locate(&hash)?;
        if known.as_ref().is_some_and(|located| !output::is_evictable(located)) {
            return Ok(hash);
        }
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let (source, _) = disk.open_seen(path, &observed.stat)?;
        let shape = StagedAttributes { mode: None, owner: None, taking: None };
        let copy = stage.copy(disk, source, &shape, path)?;
        copy.flush(path)?;
        let file = kept_name::of_copy(&hash, VersionId::new(self.call.world()));
        self.draft.kept.push(copy.keep_too(&file.name, path)?);
        self.draft.contents.push(Prepared::kept(hash, observed.stat.size(), file));
        Ok(hash)
    }

    /// Takes back that large files become versions, for those that this plan leaves in their places.
    pub(super) fn leave_large_files_in_place(&mut self) {
        let large = std::mem::take(&mut self.large);
        let (displaced, staying): (Vec<_>, Vec<_>) =
            large.into_iter().partition(|large| self.draft.displaces(large.file));
        for LargeFile { file, hash, name } in staying {
            let is_left =
                |content: &Prepared| content.kept_file().is_some_and(|kept| kept.name == name);
            self.draft.contents.retain(|content| !is_left(content));
            // The same bytes in another file, which is kept, are a version of this one too.
            if !displaced.iter().any(|other| other.hash == hash) {
                self.draft.leave_content(file, hash);
            }
        }
    }
}

impl Draft {
    /// Whether one of its changes removes a file, or puts another inode in its place.
    fn displaces(&self, file: FileId) -> bool {
        let is_replaced = self.staged.contains_key(&file);
        self.changes.iter().filter(|change| change.file == file).any(|change| {
            let is_rewritten =
                is_replaced && change.from == change.to && change.before != change.after;
            change.after.is_none() || is_rewritten
        })
    }

    /// Records the file that this draft adopts with that content as one whose content is not known.
    fn leave_content(&mut self, file: FileId, hash: ContentHash) {
        let is_its = |change: &&mut yard_store::NewChange| change.file == file;
        let mut is_adopted = false;
        for change in self.adopted.iter_mut().filter(is_its) {
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
        for change in self.changes.iter_mut().filter(is_its) {
            for state in [&mut change.before, &mut change.after].into_iter().flatten() {
                state.content = state.content.filter(|content| *content != hash);
            }
        }
    }
}
