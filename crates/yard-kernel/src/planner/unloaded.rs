//! Plans for contents that are not in memory: uploads, files that are too large to load, and stored contents.

use yard_core::{ContentHash, FileState, Result, VersionId, WsPath};
use yard_disk::{StagedAttributes, kept_name, not_found};
use yard_store::Prepared;

use super::{Current, Planner, StagedFile};
use crate::contents::build_output;
use crate::contents::stored_content::{lost, stage_stored};
use crate::workspace::upload::ReceivedFile;

impl Planner<'_> {
    /// Stages a copy of an upload, and prepares its content for the store.
    pub(crate) fn stage_upload(
        &mut self,
        upload: &ReceivedFile,
        attributes: &StagedAttributes,
        path: &WsPath,
    ) -> Result<StagedFile> {
        let ReceivedFile { hash, size, staged } = upload;
        let located = self.store().locate(hash)?;
        if located.as_ref().is_none_or(build_output::is_evictable) {
            let file = kept_name::of_copy(hash, VersionId::new(self.call.world()));
            self.draft.contents.stored_files.push(staged.keep_too(&file.name, path)?);
            self.add_prepared(Prepared::kept(*hash, *size, file))?;
        }
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let staged = stage.copy(disk, staged.open(path)?, attributes, path, self.call)?;
        Ok(StagedFile { hash: *hash, size: *size, staged })
    }

    /// Plans another state, with the same bytes, for a file that is too large to load.
    pub(crate) fn rewrite_unloaded(&mut self, current: &Current, after: FileState) -> Result<()> {
        let (workspace, path, call) = (self.workspace, &current.path, self.call);
        self.put_staged(current, after, |_, attributes| {
            let (source, stat) = workspace.disk.open_seen(path, &current.stat)?;
            let hash = current.content().ok_or_else(|| not_found(path))?;
            let staged = workspace.stage.copy(&workspace.disk, source, attributes, path, call)?;
            Ok(StagedFile { hash, size: stat.size(), staged })
        })?;
        self.copy_attributes(current)
    }

    /// Plans that a file gets a stored content of any size.
    pub(crate) fn rewrite_as_stored(
        &mut self,
        current: &Current,
        hash: ContentHash,
        size: u64,
        after: FileState,
    ) -> Result<()> {
        let (workspace, kind, call) = (self.workspace, after.kind, self.call);
        self.put_staged(current, after, |_, attributes| {
            let staged = stage_stored(workspace, &hash, kind, attributes, &current.path, call)?;
            let staged = staged.ok_or_else(|| lost(workspace, &hash))?;
            Ok(StagedFile { hash, size, staged })
        })?;
        self.copy_attributes(current)
    }
}
