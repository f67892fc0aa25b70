//! Plans for contents that are not in memory: uploads that arrived, files that are too large to load, and
//! contents that the store has.

use yard_core::{ContentHash, FileState, Result, VersionId, WsPath};
use yard_disk::{StagedAttributes, kept_name, not_found};
use yard_store::Prepared;

use super::{Current, Image, Planner};
use crate::image::{image, lost};
use crate::output;
use crate::upload::Arrived;

impl Planner<'_> {
    /// Makes what arrived ready to be put in its place, and its content ready to be kept.
    pub(crate) fn receive(
        &mut self,
        arrived: &Arrived,
        shape: &StagedAttributes,
        path: &WsPath,
    ) -> Result<Image> {
        let Arrived { hash, size, staged } = arrived;
        let known = self.store().locate(hash)?;
        if known.as_ref().is_none_or(output::is_evictable) {
            let file = kept_name::of_copy(hash, VersionId::new(self.call.world()));
            self.draft.kept.push(staged.keep_too(&file.name, path)?);
            self.draft.contents.push(Prepared::kept(*hash, *size, file));
        }
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let staged = stage.copy(disk, staged.open(path)?, shape, path)?;
        Ok(Image { hash: *hash, size: *size, staged })
    }

    /// Plans another state for a file that is too large to load and keeps its bytes.
    pub(crate) fn rewrite_unloaded(&mut self, current: &Current, after: FileState) -> Result<()> {
        let (workspace, path) = (self.workspace, &current.path);
        let put = self.put_image(current, after, |_, shape| {
            let (source, stat) = workspace.disk.open_seen(path, &current.stat)?;
            let hash = current.content().ok_or_else(|| not_found(path))?;
            let staged = workspace.stage.copy(&workspace.disk, source, shape, path)?;
            Ok(Image { hash, size: stat.size(), staged })
        });
        put?;
        self.keep_attributes(current)
    }

    /// Plans that a file gets a content that the store has, however large it is.
    pub(crate) fn rewrite_as_stored(
        &mut self,
        current: &Current,
        hash: ContentHash,
        size: u64,
        after: FileState,
    ) -> Result<()> {
        let (workspace, kind) = (self.workspace, after.kind);
        let put = self.put_image(current, after, |_, shape| {
            let staged = image(workspace, &hash, kind, shape, &current.path)?;
            let staged = staged.ok_or_else(|| lost(workspace, &hash))?;
            Ok(Image { hash, size, staged })
        });
        put?;
        self.keep_attributes(current)
    }
}
