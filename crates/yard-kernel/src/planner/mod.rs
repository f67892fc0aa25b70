//! Writes a [`Draft`]. Nothing is changed but the staging folder.
//!
//! Before a plan uses an entry on disk, it adopts what other programs changed there: the difference to the store is
//! recorded as a step of author `external` right before the planned one.

mod attributes;
mod folders;
mod large;
mod unloaded;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use yard_core::op::Operation;
use yard_core::{
    Call, ContentHash, Effect, EffectKind, Fault, FaultCode, FileId, FileKind, FileState, FileType,
    Result, StepId, Subject, VersionId, WsPath,
};
use yard_store::{Base, Effort, NewChange, Node, Prepared, Store};

use crate::contents::build_output;
use crate::contents::load_limits::check_writable;
use crate::contents::staging::{ContentToStage, StagedContent};
use crate::contents::stored_content::{purged, stage_stored};
use crate::draft::{Draft, Expectation, ExpectedEntry, LargeFile, PlanningGuard};
use crate::proposal::{CommitWork, Planned, Proposal};
use crate::virtual_files::check_not_reserved;
use crate::workspace::Workspace;
use yard_disk::{
    EntryKind, EntryStat, Replaces, Staged, StagedAttributes, hash_all, kept_name, not_found,
    read_all, special,
};

/// Most contents that a draft retains for the cache of written contents.
const MAX_WRITTEN: usize = 512;
/// Most contents that a draft retains to compare them with displaced files; further files are hashed instead.
const MAX_DISPLACING: usize = 1_024;

/// A file, folder or link in its current state, on which store and disk agree.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) id: FileId,
    pub(crate) path: WsPath,
    pub(crate) state: FileState,
    pub(crate) stat: EntryStat,
    /// A file's bytes or a link's target; empty for a file that is too large to load.
    pub(crate) bytes: Arc<Vec<u8>>,
    /// The store knew the file before this plan.
    pub(crate) was_known: bool,
    /// The hash of the content on disk.
    observed: Option<ContentHash>,
}

impl Current {
    /// The hash of the content on disk; a folder has none.
    pub(crate) fn content(&self) -> Option<ContentHash> {
        self.observed
    }

    /// The same without its bytes.
    pub(crate) fn without_bytes(self) -> Self {
        Self { bytes: Arc::default(), ..self }
    }

    /// Whether it is a file that is too large to be loaded.
    pub(crate) fn is_not_loaded(&self) -> bool {
        self.stat.is(FileKind::File) && self.bytes.len() as u64 != self.stat.size()
    }
}

/// An entry as it is on disk.
pub(crate) struct Observed {
    pub(crate) kind: FileKind,
    pub(crate) stat: EntryStat,
    pub(crate) content: Option<ContentHash>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_large: bool,
}

/// What a plan does with the content of a file that is too large to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Large {
    /// If the plan displaces the file, the file itself is kept as the version.
    Keep,
    /// The content is not recorded.
    Leave,
    /// A copy of the file is kept as the version.
    Copy,
}

/// The content and type of a file that a plan writes.
pub(crate) struct NewContent<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) file_type: FileType,
    pub(crate) json: bool,
}

/// A staged file, with its content.
pub(crate) struct StagedFile {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    pub(crate) staged: Staged,
}

/// How far a plan was at one time.
pub(crate) struct PlanMark {
    changes: usize,
    effects: usize,
}

/// Writes a [`Draft`].
pub(crate) struct Planner<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) call: &'a Call,
    pub(crate) draft: Draft,
    pub(crate) effect: Effect,
    /// How much time is spent on compressing contents.
    pub(crate) effort: Effort,
    folders: HashMap<WsPath, FileId>,
    revived: HashMap<FileId, WsPath>,
    /// The current paths of entries that this plan moves.
    moved: HashMap<FileId, WsPath>,
    /// Entries of the store that this plan found to be no longer on disk.
    gone: HashSet<FileId>,
    /// Folders that are known to be writable.
    writable: HashSet<WsPath>,
    /// Paths that this plan vacates, so that other entries may be made there.
    vacated: HashSet<WsPath>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(workspace: &'a Workspace, call: &'a Call) -> Self {
        let active = PlanningGuard::enter(workspace.history.queue.active());
        let draft = Draft::new(StepId::new(call.world()), active);
        Self {
            workspace,
            call,
            draft,
            effect: Effect::default(),
            effort: Effort::Quick,
            folders: HashMap::new(),
            revived: HashMap::new(),
            moved: HashMap::new(),
            gone: HashSet::new(),
            writable: HashSet::new(),
            vacated: HashSet::new(),
        }
    }

    /// Ends the plan. A fault if it would change anything at a reserved path; changes by other programs there are recorded
    /// all the same.
    pub(crate) fn propose<O: Operation>(mut self, answer: O::Answer) -> Result<Planned<O::Answer>> {
        self.draft.leave_large_files_in_place();
        let changes = self.draft.changes.iter();
        for path in changes.flat_map(|change| change.from.iter().chain(&change.to)) {
            check_not_reserved(path)?;
        }
        let work = CommitWork::Step { draft: self.draft, answer };
        Ok(Planned::Change(Box::new(Proposal { effect: self.effect, work })))
    }

    pub(crate) fn store(&self) -> &'a dyn Store {
        self.workspace.store()
    }

    pub(crate) fn expect(&mut self, path: &WsPath, entry: ExpectedEntry) {
        self.draft.expectations.push(Expectation { path: path.clone(), entry });
    }

    /// Adopts an entry that the store does not know.
    fn adopt_new(
        &mut self,
        parent: FileId,
        path: &WsPath,
        observed: &Observed,
        large: Large,
    ) -> Result<(FileId, FileState)> {
        let name = path.name().ok_or_else(|| not_found(path))?;
        let id = FileId::new(self.call.world());
        let folder = observed.kind == FileKind::Folder;
        let after = FileState {
            parent,
            name,
            kind: observed.kind,
            file_type: if folder { FileType::Folder } else { FileType::Document },
            mode: observed.stat.mode,
            content: self.capture(id, path, observed, large)?,
            size: if folder { 0 } else { observed.stat.size() },
            json: false,
        };
        self.adopt(id, None, after.clone(), path);
        Ok((id, after))
    }

    fn adopt(&mut self, id: FileId, before: Option<FileState>, after: FileState, path: &WsPath) {
        let version = after.content.map(|_| VersionId::new(self.call.world()));
        let from = before.as_ref().map(|_| path.clone());
        let to = Some(path.clone());
        let change = NewChange { file: id, before, after: Some(after), from, to, version };
        self.draft.adopted.push(change);
    }

    /// Prepares an observed content for the store, and returns its hash.
    fn capture(
        &mut self,
        file: FileId,
        path: &WsPath,
        observed: &Observed,
        large: Large,
    ) -> Result<Option<ContentHash>> {
        let Some(hash) = observed.content else { return Ok(None) };
        if observed.is_large {
            match large {
                Large::Leave => return Ok(None),
                Large::Copy => return self.store_copy(hash, path, observed).map(Some),
                Large::Keep => {}
            }
            // The file itself becomes the version, so that its bytes must be durable before its step is recorded.
            self.workspace.disk.flush_entry(path)?;
            let kept = kept_name::of_version(VersionId::new(self.call.world()));
            self.draft.large.push(LargeFile { file, hash, name: kept.name.clone() });
            self.add_prepared(Prepared::kept(hash, observed.stat.size(), kept))?;
        } else {
            let prepared = self.store().prepare(hash, &observed.bytes, None, self.effort)?;
            self.add_prepared(prepared)?;
        }
        Ok(Some(hash))
    }

    /// The entry at `path`, whose links must be resolved. Changes by other programs are adopted.
    pub(crate) fn current(&mut self, path: &WsPath, large: Large) -> Result<Current> {
        let stat = self.workspace.disk.stat(path)?.ok_or_else(|| not_found(path))?;
        self.current_as(path, &stat, large)
    }

    /// As [`Planner::current`], with metadata that was just read.
    pub(crate) fn current_as(
        &mut self,
        path: &WsPath,
        seen: &EntryStat,
        large: Large,
    ) -> Result<Current> {
        let (parent, node) = self.node_at(path)?;
        let observed = self.observe(path, seen, node.as_ref())?;
        self.reconcile(parent, path, node, observed, large)
    }

    /// As [`Planner::current`], with metadata and bytes of a file that were just read.
    pub(crate) fn current_read(
        &mut self,
        path: &WsPath,
        stat: EntryStat,
        bytes: Vec<u8>,
    ) -> Result<Current> {
        let (parent, node) = self.node_at(path)?;
        let expected = node.as_ref().and_then(|node| node.last.content);
        let content = Some(self.workspace.caches.written_contents.hash(&bytes, expected));
        let observed = Observed { kind: FileKind::File, stat, content, bytes, is_large: false };
        self.reconcile(parent, path, node, observed, Large::Keep)
    }

    /// The id of the entry that the store has at a path.
    pub(crate) fn id_at(&self, path: &WsPath) -> Result<Option<FileId>> {
        if path.is_root() {
            return Ok(Some(FileId::ROOT));
        }
        Ok(self.store().lookup(path)?.map(|node| node.id))
    }

    /// The id of the folder above a path, and the node that the store has at the path.
    fn node_at(&mut self, path: &WsPath) -> Result<(FileId, Option<Node>)> {
        let above = path.parent().ok_or_else(|| not_found(path))?;
        let name = path.name().ok_or_else(|| not_found(path))?;
        let parent = self.folder(&above)?;
        let node = self.store().child(parent, &name)?;
        Ok((parent, node))
    }

    /// Adopts the difference between the store and an observed entry, and expects that the entry stays the same.
    fn reconcile(
        &mut self,
        parent: FileId,
        path: &WsPath,
        node: Option<Node>,
        observed: Observed,
        large: Large,
    ) -> Result<Current> {
        self.expect(path, ExpectedEntry::Unchanged(observed.stat));
        let was_known = node.is_some();
        let (id, state) = self.adopt_difference(parent, path, node, &observed, large)?;
        if observed.kind == FileKind::Folder {
            self.folders.insert(path.clone(), id);
        }
        let Observed { stat, bytes, content, .. } = observed;
        let (path, bytes) = (path.clone(), Arc::new(bytes));
        Ok(Current { id, path, state, stat, bytes, was_known, observed: content })
    }

    /// Adopts the difference between an entry in the store and on disk. Returns its id and state.
    fn adopt_difference(
        &mut self,
        parent: FileId,
        path: &WsPath,
        node: Option<Node>,
        observed: &Observed,
        large: Large,
    ) -> Result<(FileId, FileState)> {
        let Some(node) = node else { return self.adopt_new(parent, path, observed, large) };
        if node.last.kind != observed.kind {
            self.adopt_gone(&node, path)?;
            return self.adopt_new(parent, path, observed, large);
        }
        let same_content = node.last.content == observed.content;
        if same_content && self.may_be_evicted(path, observed.content)? {
            self.capture(node.id, path, observed, large)?;
        }
        if same_content && node.last.mode == observed.stat.mode {
            return Ok((node.id, node.last));
        }
        let mut after = node.last.clone();
        after.mode = observed.stat.mode;
        if !same_content {
            after.content = self.capture(node.id, path, observed, large)?;
            after.size = observed.stat.size();
        }
        if after != node.last {
            self.adopt(node.id, node.state, after.clone(), path);
        }
        Ok((node.id, after))
    }

    /// Whether the content of a file that is no build output is only stored as that of build output, and so may be evicted.
    fn may_be_evicted(&self, path: &WsPath, content: Option<ContentHash>) -> Result<bool> {
        let has_evictable = self.workspace.stage.has_evictable();
        let Some(hash) = content.filter(|_| has_evictable && !build_output::has_build_folder(path))
        else {
            return Ok(false);
        };
        let located = self.store().locate(&hash)?;
        Ok(located.as_ref().is_some_and(build_output::is_evictable))
    }

    /// Reads the content of an entry.
    fn observe(&self, path: &WsPath, seen: &EntryStat, node: Option<&Node>) -> Result<Observed> {
        match seen.kind {
            EntryKind::Special(what) => Err(special(path, what)),
            EntryKind::Known(FileKind::Folder) => Ok(Observed::folder(*seen)),
            EntryKind::Known(FileKind::Link) => {
                let bytes = self.workspace.disk.read_link(path)?;
                let content = Some(ContentHash::of(&bytes));
                Ok(Observed { kind: FileKind::Link, stat: *seen, content, bytes, is_large: false })
            }
            EntryKind::Known(FileKind::File) => {
                self.observe_file(path, seen, node.and_then(|node| node.last.content))
            }
        }
    }

    fn observe_file(
        &self,
        path: &WsPath,
        seen: &EntryStat,
        expected: Option<ContentHash>,
    ) -> Result<Observed> {
        let (mut file, stat) = self.workspace.disk.open_seen(path, seen)?;
        let is_large = stat.size() > self.workspace.limits().load_bytes;
        let bytes = if is_large { Vec::new() } else { read_all(&mut file, stat.size(), path)? };
        let content = if is_large {
            hash_all(&mut file, path, self.call)?
        } else {
            self.workspace.caches.written_contents.hash(&bytes, expected)
        };
        Ok(Observed { kind: FileKind::File, stat, content: Some(content), bytes, is_large })
    }

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
        self.draft.staged.insert(id, staged);
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
        let has_room = self.draft.displacing.len() < MAX_DISPLACING;
        if has_room && current.bytes.len() as u64 == current.stat.size() {
            self.draft.displacing.insert(current.id, Arc::clone(&current.bytes));
        }
        self.draft.staged.insert(current.id, staged);
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
            let living = !self.revived.contains_key(&state.parent);
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
            self.draft.staged.insert(file, staged);
        } else if state.kind != FileKind::Folder {
            return Err(not_stored(path));
        }
        self.push_change(file, None, Some(state.clone()), None, Some(path.clone()));
        self.effect.push(EffectKind::Create, path.clone(), state.file_type);
        self.revived.insert(file, path.clone());
        Ok(())
    }

    /// The path of a folder that exists or that this plan restores.
    pub(crate) fn living_path(&self, folder: FileId) -> Result<Option<WsPath>> {
        match self.revived.get(&folder) {
            Some(path) => Ok(Some(path.clone())),
            None => self.store().path_of(folder).map_err(Fault::from),
        }
    }

    /// Adds a staged content to the draft.
    pub(crate) fn add_content(&mut self, content: StagedContent) -> Result<StagedFile> {
        let StagedContent { hash, size, prepared, staged, stored_file, written } = content;
        if let Some(prepared) = prepared {
            self.add_prepared(prepared)?;
        }
        self.draft.stored_files.extend(stored_file);
        // The cache would drop more contents than these before the next plan.
        if self.draft.written.len() < MAX_WRITTEN {
            self.draft.written.extend(written.map(|bytes| (hash, bytes)));
        }
        Ok(StagedFile { hash, size, staged })
    }

    fn add_prepared(&mut self, prepared: Prepared) -> Result<()> {
        self.draft.contents.push(prepared, self.workspace.store())
    }

    /// Plans that an entry's times are set to now.
    pub(crate) fn touch(&mut self, current: &Current) {
        let now = self.call.world().now().as_millis().saturating_mul(1_000_000);
        let newer = current.stat.signature.mtime.saturating_add(1);
        self.draft.touches.insert(current.id, now.max(newer));
        self.change_in_place(current, current.state.clone(), EffectKind::Touch);
    }

    /// Plans another state for an entry that stays at its path. Returns the version, if the change makes one.
    fn change_in_place(
        &mut self,
        current: &Current,
        after: FileState,
        kind: EffectKind,
    ) -> Option<VersionId> {
        let (before, at) = (Some(current.state.clone()), Some(current.path.clone()));
        let version = self.push_change(current.id, before, Some(after), at.clone(), at);
        self.effect.push(kind, current.path.clone(), current.state.file_type);
        version
    }

    /// Plans that an entry is moved to another path, with that state. Returns the moved entry.
    pub(crate) fn push_move(
        &mut self,
        current: &Current,
        after: FileState,
        to: &WsPath,
    ) -> Current {
        let (before, from) = (Some(current.state.clone()), Some(current.path.clone()));
        self.push_change(current.id, before, Some(after.clone()), from, Some(to.clone()));
        self.effect.push(EffectKind::MoveFrom, current.path.clone(), after.file_type);
        self.effect.push(EffectKind::MoveTo, to.clone(), after.file_type);
        self.note_vacated(&current.path);
        Current { path: to.clone(), state: after, ..current.clone() }
    }

    /// Plans that an entry is removed.
    pub(crate) fn remove(&mut self, current: &Current) {
        let from = Some(current.path.clone());
        self.push_change(current.id, Some(current.state.clone()), None, from, None);
        self.effect.push(EffectKind::Remove, current.path.clone(), current.state.file_type);
    }

    /// How far the plan is, so that what is planned after this can be taken back.
    pub(crate) fn mark(&self) -> PlanMark {
        PlanMark { changes: self.draft.changes.len(), effects: self.effect.paths.len() }
    }

    /// Takes back the changes that were planned since a mark. What was adopted stays, because it is on disk. Returns the
    /// changes.
    pub(crate) fn take_back(&mut self, mark: PlanMark) -> Vec<NewChange> {
        self.effect.paths.truncate(mark.effects);
        let taken_back = self.draft.changes.split_off(mark.changes);
        for change in &taken_back {
            self.draft.staged.remove(&change.file);
            self.draft.displacing.remove(&change.file);
            self.moved.remove(&change.file);
            self.revived.remove(&change.file);
            if let Some(path) = vacated_path(change) {
                self.vacated.remove(path);
            }
        }
        taken_back
    }

    /// Adds a change. Returns the version, if the change makes one.
    pub(crate) fn push_change(
        &mut self,
        file: FileId,
        before: Option<FileState>,
        after: Option<FileState>,
        from: Option<WsPath>,
        to: Option<WsPath>,
    ) -> Option<VersionId> {
        let after = after.map(|after| self.without_set_id(file, after));
        if let (Some(from), Some(to)) = (&from, &to)
            && from != to
        {
            self.moved.entry(file).or_insert_with(|| from.clone());
        }
        let version = makes_version(before.as_ref(), after.as_ref());
        let version = version.then(|| VersionId::new(self.call.world()));
        self.draft.changes.push(NewChange { file, before, after, from, to, version });
        version
    }
}

impl Observed {
    fn folder(stat: EntryStat) -> Self {
        Self { kind: FileKind::Folder, stat, content: None, bytes: Vec::new(), is_large: false }
    }
}

/// The path that a change vacates, if it removes or moves its entry.
pub(crate) fn vacated_path(change: &NewChange) -> Option<&WsPath> {
    change.from.as_ref().filter(|from| change.to.as_ref() != Some(from))
}

/// Whether a change makes a version: a content is new, restored, or written again. A move and a touch make none.
fn makes_version(before: Option<&FileState>, after: Option<&FileState>) -> bool {
    match (before, after) {
        (_, None) => false,
        (None, Some(after)) => after.content.is_some(),
        (Some(before), Some(after)) => {
            let moved = (&before.parent, &before.name) != (&after.parent, &after.name);
            after.content.is_some()
                && (before.content != after.content || !(moved || before == after))
        }
    }
}

/// A path below a folder. A fault if it would be too long.
pub(crate) fn join(folder: &WsPath, name: &yard_core::Name) -> Result<WsPath> {
    folder.join(name).map_err(|error| {
        Fault::new(FaultCode::BadPath, format!("{folder}/{name}: {error}")).about(Subject::Path)
    })
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
