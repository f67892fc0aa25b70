//! Plans new bytes: files that are made, replaced, rewritten or restored, each with a staged file and a content for the
//! store.

use std::sync::Arc;

use yard_core::{
    ContentHash, EffectKind, Fault, FaultCode, FileId, FileKind, FileState, FileType, Result,
    Subject, VersionId, WsPath,
};
use yard_disk::{Replaces, StagedAttributes, not_found};
use yard_store::{Base, Prepared};

use super::{Current, NewContent, Planner, StagedFile};
use crate::contents::load_limits::check_writable;
use crate::contents::staging::{ContentToStage, StagedContent};
use crate::contents::stored_content::{purged, stage_stored};
use crate::draft::basis::ExpectedEntry;
use crate::workspace::Workspace;

/// Most contents that a draft retains for the cache of written contents.
const MAX_WRITTEN: usize = 512;
/// Most contents that a draft retains to compare them with displaced files; further files are hashed instead.
const MAX_DISPLACING: usize = 1_024;

impl Planner<'_> {
    /// Plans a new file.
    pub(crate) fn create_file(
        &mut self,
        path: &WsPath,
        new: &NewContent<'_>,
    ) -> Result<(FileId, Option<VersionId>, ContentHash)> {
        check_writable(new.bytes.len() as u64, self.workspace.limits(), path)?;
        self.create_staged(path, new.file_type, new.json, |planner, attributes| {
            let (bytes, kind) = (new.bytes, FileKind::File);
            let (attributes, path) = (*attributes, path.clone());
            let content = ContentToStage { bytes, base: None, kind, attributes, path, layer: None };
            let staged = content.stage(planner.workspace, planner.effort, planner.call)?;
            planner.add_content(staged)
        })
    }

    /// Plans a new file with the staged file that `stage` makes.
    pub(crate) fn create_staged(
        &mut self,
        path: &WsPath,
        file_type: FileType,
        json: bool,
        stage: impl FnOnce(&mut Self, &StagedAttributes) -> Result<StagedFile>,
    ) -> Result<(FileId, Option<VersionId>, ContentHash)> {
        let above = path.parent().ok_or_else(|| not_found(path))?;
        let name = path.name().ok_or_else(|| not_found(path))?;
        let parent = self.make_folders(&above)?;
        self.expect_free(parent, path)?;
        self.check_writable_above(path)?;
        let StagedFile { hash, size, staged } =
            stage(self, &StagedAttributes { mode: None, owner: None, taking: None })?;
        let after = FileState {
            parent,
            name,
            kind: staged.stat.kind.known().unwrap_or(FileKind::File),
            file_type,
            mode: staged.stat.mode,
            content: Some(hash),
            size,
            json,
        };
        let id = FileId::new(self.call.world());
        self.draft.files.staged.insert(id, staged);
        let version = self.push_change(id, None, Some(after), None, Some(path.clone()));
        self.effect.push(EffectKind::Create, path.clone(), file_type);
        Ok((id, version, hash))
    }

    /// Plans new bytes for an existing file.
    pub(crate) fn replace_file(
        &mut self,
        current: &Current,
        new: &NewContent<'_>,
    ) -> Result<(Option<VersionId>, ContentHash)> {
        check_writable(new.bytes.len() as u64, self.workspace.limits(), &current.path)?;
        self.check_replaceable(current)?;
        let mut after = current.state.clone();
        after.file_type = new.file_type;
        after.json = new.json;
        self.put(current, new.bytes, after)
    }

    /// Plans another state for an existing entry. Its bytes stay the same if `bytes` is `None`.
    pub(crate) fn rewrite(
        &mut self,
        current: &Current,
        bytes: Option<Vec<u8>>,
        after: FileState,
    ) -> Result<()> {
        if after.kind == FileKind::Folder {
            self.change_in_place(current, after, EffectKind::Modify);
            return Ok(());
        }
        if bytes.is_none() && current.is_not_loaded() {
            return self.rewrite_unloaded(current, after);
        }
        let bytes = bytes.as_deref().unwrap_or(current.bytes.as_slice());
        self.put(current, bytes, after).map(|_| ())
    }

    fn put(
        &mut self,
        current: &Current,
        bytes: &[u8],
        after: FileState,
    ) -> Result<(Option<VersionId>, ContentHash)> {
        let content = self.content_for(current, bytes, &after);
        let staged = content.stage(self.workspace, self.effort, self.call)?;
        let put = self.put_content(current, after, staged)?;
        self.copy_attributes(current)?;
        Ok(put)
    }

    /// The content to stage so that an entry gets these bytes.
    pub(crate) fn content_for<'b>(
        &self,
        current: &'b Current,
        bytes: &'b [u8],
        after: &FileState,
    ) -> ContentToStage<'b> {
        let base = current.state.content.filter(|_| !current.bytes.is_empty());
        let base = base.map(|hash| Base { hash, bytes: &current.bytes });
        let (kind, attributes) = (after.kind, self.attributes_for(current, after));
        ContentToStage { bytes, base, kind, attributes, path: current.path.clone(), layer: None }
    }

    pub(crate) fn attributes_for(&self, current: &Current, after: &FileState) -> StagedAttributes {
        let taking = Some(Replaces { file: current.id, step: self.draft.id });
        StagedAttributes { mode: Some(after.mode), owner: Some(current.stat.owner), taking }
    }

    /// Plans another state for an existing file or link, with a staged content.
    pub(crate) fn put_content(
        &mut self,
        current: &Current,
        after: FileState,
        staged: StagedContent,
    ) -> Result<(Option<VersionId>, ContentHash)> {
        self.put_staged(current, after, |planner, _| planner.add_content(staged))
    }

    /// Plans another state for an existing file or link, with the staged file that `stage` makes.
    pub(crate) fn put_staged(
        &mut self,
        current: &Current,
        mut after: FileState,
        stage: impl FnOnce(&mut Self, &StagedAttributes) -> Result<StagedFile>,
    ) -> Result<(Option<VersionId>, ContentHash)> {
        self.check_writable_above(&current.path)?;
        let attributes = self.attributes_for(current, &after);
        let StagedFile { hash, size, staged } = stage(self, &attributes)?;
        (after.content, after.size) = (Some(hash), size);
        let has_room = self.draft.files.displacing.len() < MAX_DISPLACING;
        if has_room && current.bytes.len() as u64 == current.stat.size() {
            self.draft.files.displacing.insert(current.id, Arc::clone(&current.bytes));
        }
        self.draft.files.staged.insert(current.id, staged);
        let version = match self.change_in_place(current, after, EffectKind::Modify) {
            Some(version) => Some(version),
            None => self.newest_version(current.id)?,
        };
        Ok((version, hash))
    }

    /// The newest version of a file for which this plan makes none.
    fn newest_version(&self, file: FileId) -> Result<Option<VersionId>> {
        let adopted = self.draft.adopted.iter().rev().find(|change| change.file == file);
        if let Some(version) = adopted.and_then(|change| change.version) {
            return Ok(Some(version));
        }
        let node = self.store().node(file)?;
        Ok(node.and_then(|node| node.version))
    }

    /// Plans that a removed entry is restored, under its old id.
    pub(crate) fn revive(&mut self, file: FileId, state: &FileState, path: &WsPath) -> Result<()> {
        let node = self.store().node(file)?;
        if state.kind != FileKind::Folder && node.is_some_and(|node| node.purged) {
            return Err(purged().about(Subject::Path));
        }
        self.expect(path, ExpectedEntry::Absent);
        self.check_writable_above(path)?;
        if let Some(parent) = path.parent() {
            let living = !self.known.revived.contains_key(&state.parent);
            if living {
                self.folder(&parent)?;
                self.adopt_missing(state.parent, path)?;
            }
        }
        if let Some(hash) = state.content {
            let attributes = StagedAttributes { mode: Some(state.mode), owner: None, taking: None };
            let staged =
                stage_stored(self.workspace, &hash, state.kind, &attributes, path, self.call)?;
            let staged = staged.ok_or_else(|| not_restorable(self.workspace, &hash, path))?;
            self.draft.files.staged.insert(file, staged);
        } else if state.kind != FileKind::Folder {
            return Err(not_stored(path));
        }
        self.push_change(file, None, Some(state.clone()), None, Some(path.clone()));
        self.effect.push(EffectKind::Create, path.clone(), state.file_type);
        self.known.revived.insert(file, path.clone());
        Ok(())
    }

    /// The path of a folder that exists or that this plan restores.
    pub(crate) fn living_path(&self, folder: FileId) -> Result<Option<WsPath>> {
        match self.known.revived.get(&folder) {
            Some(path) => Ok(Some(path.clone())),
            None => self.store().path_of(folder).map_err(Fault::from),
        }
    }

    /// Adds a staged content to the draft.
    pub(crate) fn add_content(&mut self, content: StagedContent) -> Result<StagedFile> {
        let StagedContent { hash, size, prepared, staged, stored_file, written } = content;
        self.draft.contents.add(prepared, stored_file, self.workspace.store())?;
        // The cache would drop more contents than these before the next plan.
        if self.draft.contents.written.len() < MAX_WRITTEN {
            self.draft.contents.written.extend(written.map(|bytes| (hash, bytes)));
        }
        Ok(StagedFile { hash, size, staged })
    }

    pub(super) fn add_prepared(&mut self, prepared: Prepared) -> Result<()> {
        self.draft.contents.waiting.push(prepared, self.workspace.store())
    }
}

/// The fault for a removed entry whose content is no longer stored.
fn not_restorable(workspace: &Workspace, hash: &ContentHash, path: &WsPath) -> Fault {
    match workspace.store().is_purged(hash) {
        Ok(true) => purged().about(Subject::Path),
        _ => not_stored(path),
    }
}

fn not_stored(path: &WsPath) -> Fault {
    let message = format!("the content of {path} was not kept, so it cannot be brought back");
    Fault::new(FaultCode::NotFound, message).about(Subject::Path)
}
