//! Writes a [`Draft`], the change on paper, and changes nothing but the staging folder.
//!
//! Wherever a plan meets the disk it first makes the store's view agree with it: what changed behind
//! our back is adopted as a step of author `external` that goes in right before the planned one.

mod arrived;
mod folders;
mod large;
mod replaced;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use yard_core::op::Operation;
use yard_core::{
    Call, ContentHash, Effect, EffectKind, Fault, FaultCode, FileId, FileKind, FileState, FileType,
    Result, StepId, Subject, VersionId, WsPath,
};
use yard_store::{Base, Effort, NewChange, Node, Prepared, Store};

use crate::draft::{Active, Draft, Expect, Was};
use crate::image::{image, purged};
use crate::load_limits::check_writable;
use crate::making::{Made, Wanted};
use crate::output;
use crate::proposal::{Deed, Planned, Proposal};
use crate::virtual_files::check_free;
use crate::workspace::Workspace;
use large::LargeFile;
use yard_disk::{
    EntryKind, EntryStat, Replaces, Staged, StagedAttributes, hash_all, kept_name, not_found,
    read_all, special,
};

/// Contents that a draft keeps in memory to be known again.
const MOST_WRITTEN: usize = 512;
/// Contents that a draft keeps in memory to be compared; what displaces more is hashed instead.
const MOST_DISPLACING: usize = 1_024;

/// A file, folder or link as it is, store and disk agreed.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) id: FileId,
    pub(crate) path: WsPath,
    pub(crate) state: FileState,
    pub(crate) stat: EntryStat,
    /// A file's bytes or a link's target; empty for a file that is too large to load.
    pub(crate) bytes: Arc<Vec<u8>>,
    /// The store knew the file before this plan.
    pub(crate) known: bool,
    /// The hash of the content on disk.
    observed: Option<ContentHash>,
}

impl Current {
    /// The hash of the content on disk; a folder has none.
    pub(crate) fn content(&self) -> Option<ContentHash> {
        self.observed
    }

    /// The same where its bytes are not needed any more.
    pub(crate) fn without_bytes(self) -> Self {
        Self { bytes: Arc::default(), ..self }
    }

    /// Whether it is a file that is too large for its bytes to be here.
    pub(crate) fn is_not_loaded(&self) -> bool {
        self.stat.is(FileKind::File) && self.bytes.len() as u64 != self.stat.size()
    }
}

/// What the disk says about one entry.
pub(crate) struct Observed {
    pub(crate) kind: FileKind,
    pub(crate) stat: EntryStat,
    pub(crate) content: Option<ContentHash>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) large: bool,
}

/// What becomes of a file that is too large to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Large {
    /// If the plan takes it out of its place, the file itself is kept as the version.
    Keep,
    /// It stays on disk: the store knows the file and not its content.
    Leave,
    /// A copy of it is kept as the version, and the file stays in its place.
    Copy,
}

/// The bytes and words of a file that a plan writes.
pub(crate) struct NewContent<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) file_type: FileType,
    pub(crate) json: bool,
}

/// What a file is going to be: its content, and the staged file that has it.
pub(crate) struct Image {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    pub(crate) staged: Staged,
}

/// Writes a [`Draft`].
pub(crate) struct Planner<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) call: &'a Call,
    pub(crate) draft: Draft,
    pub(crate) effect: Effect,
    /// How small contents are made before they are stored.
    pub(crate) effort: Effort,
    folders: HashMap<WsPath, FileId>,
    revived: HashMap<FileId, WsPath>,
    /// Where entries are on disk that this plan moves.
    moved: HashMap<FileId, WsPath>,
    /// What the store knows and this plan found to be no longer on disk.
    gone: HashSet<FileId>,
    /// Folders that were found to be writable.
    writable: HashSet<WsPath>,
    /// Places of files that this plan has removed, where folders may be made.
    vacated: HashSet<WsPath>,
    /// Large files that are to be versions if this plan takes them out of their places.
    large: Vec<LargeFile>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(workspace: &'a Workspace, call: &'a Call) -> Self {
        let active = Active::enter(workspace.journal.active());
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
            large: Vec::new(),
        }
    }

    /// The plan as a whole: a fault if it would change anything at a reserved path, however it came
    /// there. What somebody else did there is recorded all the same.
    pub(crate) fn propose<O: Operation>(mut self, answer: O::Answer) -> Result<Planned<O::Answer>> {
        self.leave_large_files_in_place();
        let changes = self.draft.changes.iter();
        for path in changes.flat_map(|change| change.from.iter().chain(&change.to)) {
            check_free(path)?;
        }
        let deed = Deed::Step { draft: self.draft, answer };
        Ok(Planned::Change(Box::new(Proposal { effect: self.effect, deed })))
    }

    pub(crate) fn store(&self) -> &'a dyn Store {
        self.workspace.store()
    }

    pub(crate) fn expect(&mut self, path: &WsPath, was: Was) {
        self.draft.expects.push(Expect { path: path.clone(), was });
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

    /// Makes an observed content ready for the store; its hash.
    fn capture(
        &mut self,
        file: FileId,
        path: &WsPath,
        observed: &Observed,
        large: Large,
    ) -> Result<Option<ContentHash>> {
        let Some(hash) = observed.content else { return Ok(None) };
        if observed.large {
            match large {
                Large::Leave => return Ok(None),
                Large::Copy => return self.keep_copy(hash, path, observed).map(Some),
                Large::Keep => {}
            }
            // The file itself becomes the version: its bytes must outlive a crash before its step does.
            self.workspace.disk.flush_entry(path)?;
            let kept = kept_name::of_version(VersionId::new(self.call.world()));
            self.large.push(LargeFile { file, hash, name: kept.name.clone() });
            self.draft.contents.push(Prepared::kept(hash, observed.stat.size(), kept));
        } else {
            let prepared = self.store().prepare(hash, &observed.bytes, None, self.effort)?;
            self.draft.contents.push(prepared);
        }
        Ok(Some(hash))
    }

    /// What is at `path` (without links), with the store's view brought to agree.
    pub(crate) fn current(&mut self, path: &WsPath, large: Large) -> Result<Current> {
        let stat = self.workspace.disk.stat(path)?.ok_or_else(|| not_found(path))?;
        self.current_as(path, &stat, large)
    }

    /// As [`Planner::current`], for what was just seen to look like that.
    pub(crate) fn current_as(
        &mut self,
        path: &WsPath,
        seen: &EntryStat,
        large: Large,
    ) -> Result<Current> {
        let (parent, node) = self.known_at(path)?;
        let observed = self.observe(path, seen, node.as_ref())?;
        self.settle(parent, path, node, observed, large)
    }

    /// As [`Planner::current`], for a file whose bytes were just read.
    pub(crate) fn current_read(
        &mut self,
        path: &WsPath,
        stat: EntryStat,
        bytes: Vec<u8>,
    ) -> Result<Current> {
        let (parent, node) = self.known_at(path)?;
        let expected = node.as_ref().and_then(|node| node.last.content);
        let content = Some(self.workspace.recent.hash(&bytes, expected));
        let observed = Observed { kind: FileKind::File, stat, content, bytes, large: false };
        self.settle(parent, path, node, observed, Large::Keep)
    }

    /// The id by which the store knows what is at a path, a folder's most likely.
    pub(crate) fn known_folder(&self, path: &WsPath) -> Result<Option<FileId>> {
        if path.is_root() {
            return Ok(Some(FileId::ROOT));
        }
        Ok(self.store().lookup(path)?.map(|node| node.id))
    }

    /// The folder above a path, and what the store knows there.
    fn known_at(&mut self, path: &WsPath) -> Result<(FileId, Option<Node>)> {
        let above = path.parent().ok_or_else(|| not_found(path))?;
        let name = path.name().ok_or_else(|| not_found(path))?;
        let parent = self.folder(&above)?;
        let node = self.store().child(parent, &name)?;
        Ok((parent, node))
    }

    fn settle(
        &mut self,
        parent: FileId,
        path: &WsPath,
        node: Option<Node>,
        observed: Observed,
        large: Large,
    ) -> Result<Current> {
        self.expect(path, Was::Seen(observed.stat));
        let known = node.is_some();
        let (id, state) = self.agree(parent, path, node, &observed, large)?;
        if observed.kind == FileKind::Folder {
            self.folders.insert(path.clone(), id);
        }
        let Observed { stat, bytes, content, .. } = observed;
        let (path, bytes) = (path.clone(), Arc::new(bytes));
        Ok(Current { id, path, state, stat, bytes, known, observed: content })
    }

    /// Adopts whatever differs between what the store knows of an entry and what the disk shows.
    pub(crate) fn agree(
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
        if same_content && self.is_spare(path, observed.content)? {
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

    /// Whether all that is kept of a file that is no build output is what is kept of one: it may go.
    fn is_spare(&self, path: &WsPath, content: Option<ContentHash>) -> Result<bool> {
        let has_spares = self.workspace.stage.has_spares();
        let Some(hash) = content.filter(|_| has_spares && !output::is_named_so(path)) else {
            return Ok(false);
        };
        let located = self.store().locate(&hash)?;
        Ok(located.as_ref().is_some_and(output::is_evictable))
    }

    /// Looks at the content of an entry that was seen on disk, and that the store may know.
    fn observe(&self, path: &WsPath, seen: &EntryStat, node: Option<&Node>) -> Result<Observed> {
        match seen.kind {
            EntryKind::Special(what) => Err(special(path, what)),
            EntryKind::Known(FileKind::Folder) => Ok(Observed::folder(*seen)),
            EntryKind::Known(FileKind::Link) => {
                let bytes = self.workspace.disk.read_link(path)?;
                let content = Some(ContentHash::of(&bytes));
                Ok(Observed { kind: FileKind::Link, stat: *seen, content, bytes, large: false })
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
        let large = stat.size() > self.workspace.limits().load_bytes;
        let bytes = if large { Vec::new() } else { read_all(&mut file, stat.size(), path)? };
        let content = if large {
            hash_all(&mut file, path, self.call)?
        } else {
            self.workspace.recent.hash(&bytes, expected)
        };
        Ok(Observed { kind: FileKind::File, stat, content: Some(content), bytes, large })
    }

    /// Plans a new file.
    pub(crate) fn create_file(
        &mut self,
        path: &WsPath,
        new: &NewContent<'_>,
    ) -> Result<(FileId, Option<VersionId>, ContentHash)> {
        check_writable(new.bytes.len() as u64, self.workspace.limits(), path)?;
        self.create_image(path, new.file_type, new.json, |planner, shape| {
            let (bytes, kind) = (new.bytes, FileKind::File);
            let (shape, path) = (*shape, path.clone());
            let wanted = Wanted { bytes, base: None, kind, shape, path, from: None };
            let made = wanted.make(planner.workspace, planner.effort)?;
            Ok(planner.accept(made))
        })
    }

    /// Plans a new file with the image that `make` stages.
    pub(crate) fn create_image(
        &mut self,
        path: &WsPath,
        file_type: FileType,
        json: bool,
        make: impl FnOnce(&mut Self, &StagedAttributes) -> Result<Image>,
    ) -> Result<(FileId, Option<VersionId>, ContentHash)> {
        let above = path.parent().ok_or_else(|| not_found(path))?;
        let name = path.name().ok_or_else(|| not_found(path))?;
        let parent = self.make_folders(&above)?;
        self.expect_free(parent, path)?;
        self.check_writable_above(path)?;
        let Image { hash, size, staged } =
            make(self, &StagedAttributes { mode: None, owner: None, taking: None })?;
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

    /// Plans new bytes for a file that is there.
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

    /// Plans another state for an entry that is there; `None` keeps its bytes.
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
        let made = self.wanted(current, bytes, &after).make(self.workspace, self.effort)?;
        let put = self.put_made(current, after, made)?;
        self.keep_attributes(current)?;
        Ok(put)
    }

    /// What it takes to give an entry those bytes.
    pub(crate) fn wanted<'b>(
        &self,
        current: &'b Current,
        bytes: &'b [u8],
        after: &FileState,
    ) -> Wanted<'b> {
        let base = current.state.content.filter(|_| !current.bytes.is_empty());
        let base = base.map(|hash| Base { hash, bytes: &current.bytes });
        let (kind, shape) = (after.kind, self.shape(current, after));
        Wanted { bytes, base, kind, shape, path: current.path.clone(), from: None }
    }

    pub(crate) fn shape(&self, current: &Current, after: &FileState) -> StagedAttributes {
        let taking = Some(Replaces { file: current.id, step: self.draft.id });
        StagedAttributes { mode: Some(after.mode), owner: Some(current.stat.owner), taking }
    }

    /// Plans another state for a file or link that is there, with what was made for it.
    pub(crate) fn put_made(
        &mut self,
        current: &Current,
        after: FileState,
        made: Made,
    ) -> Result<(Option<VersionId>, ContentHash)> {
        self.put_image(current, after, |planner, _| Ok(planner.accept(made)))
    }

    /// Plans another state for a file or link that is there, with the image that `make` stages.
    pub(crate) fn put_image(
        &mut self,
        current: &Current,
        mut after: FileState,
        make: impl FnOnce(&mut Self, &StagedAttributes) -> Result<Image>,
    ) -> Result<(Option<VersionId>, ContentHash)> {
        self.check_writable_above(&current.path)?;
        let shape = self.shape(current, &after);
        let Image { hash, size, staged } = make(self, &shape)?;
        (after.content, after.size) = (Some(hash), size);
        let has_room = self.draft.displacing.len() < MOST_DISPLACING;
        if has_room && current.bytes.len() as u64 == current.stat.size() {
            self.draft.displacing.insert(current.id, Arc::clone(&current.bytes));
        }
        self.draft.staged.insert(current.id, staged);
        let made = self.change_in_place(current, after, EffectKind::Modify);
        let version = match made {
            Some(version) => Some(version),
            None => self.newest_version(current.id)?,
        };
        Ok((version, hash))
    }

    /// The newest version of a file that this plan leaves as it is.
    fn newest_version(&self, file: FileId) -> Result<Option<VersionId>> {
        let adopted = self.draft.adopted.iter().rev().find(|change| change.file == file);
        if let Some(version) = adopted.and_then(|change| change.version) {
            return Ok(Some(version));
        }
        let node = self.store().node(file)?;
        Ok(node.and_then(|node| node.version))
    }

    /// Plans that a removed entry comes back as it was, under its old id.
    pub(crate) fn revive(&mut self, file: FileId, state: &FileState, path: &WsPath) -> Result<()> {
        let node = self.store().node(file)?;
        if state.kind != FileKind::Folder && node.is_some_and(|node| node.purged) {
            return Err(purged().about(Subject::Path));
        }
        self.expect(path, Was::Absent);
        self.check_writable_above(path)?;
        if let Some(parent) = path.parent() {
            let living = !self.revived.contains_key(&state.parent);
            if living {
                self.folder(&parent)?;
                self.forget_gone(state.parent, path)?;
            }
        }
        if let Some(hash) = state.content {
            let shape = StagedAttributes { mode: Some(state.mode), owner: None, taking: None };
            let staged = image(self.workspace, &hash, state.kind, &shape, path)?;
            let staged = staged.ok_or_else(|| not_kept(self.workspace, &hash, path))?;
            self.draft.staged.insert(file, staged);
        } else if state.kind != FileKind::Folder {
            return Err(never_kept(path));
        }
        self.push_change(file, None, Some(state.clone()), None, Some(path.clone()));
        self.effect.push(EffectKind::Create, path.clone(), state.file_type);
        self.revived.insert(file, path.clone());
        Ok(())
    }

    /// The path of a folder that is there, or that this plan brings back.
    pub(crate) fn revived_or_living(&self, folder: FileId) -> Result<Option<WsPath>> {
        match self.revived.get(&folder) {
            Some(path) => Ok(Some(path.clone())),
            None => self.store().path_of(folder).map_err(Fault::from),
        }
    }

    /// Takes a content that was made for this plan.
    pub(crate) fn accept(&mut self, made: Made) -> Image {
        let Made { hash, size, prepared, staged, kept, written } = made;
        self.draft.contents.extend(prepared);
        self.draft.kept.extend(kept);
        // More than a few are forgotten again before anybody asks.
        if self.draft.written.len() < MOST_WRITTEN {
            self.draft.written.extend(written.map(|bytes| (hash, bytes)));
        }
        Image { hash, size, staged }
    }

    /// Plans that an entry's times are set to now.
    pub(crate) fn touch(&mut self, current: &Current) {
        let now = self.call.world().now().as_millis().saturating_mul(1_000_000);
        let newer = current.stat.signature.mtime.saturating_add(1);
        self.draft.touches.insert(current.id, now.max(newer));
        self.change_in_place(current, current.state.clone(), EffectKind::Touch);
    }

    /// Plans that an entry stays where it is and has another state; the version that this makes, if it brings a
    /// content.
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

    /// Plans that an entry goes to another path and has that state there; the entry as it is afterwards.
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
        self.leaves(&current.path);
        Current { path: to.clone(), state: after, ..current.clone() }
    }

    /// Plans that an entry goes away.
    pub(crate) fn remove(&mut self, current: &Current) {
        let from = Some(current.path.clone());
        self.push_change(current.id, Some(current.state.clone()), None, from, None);
        self.effect.push(EffectKind::Remove, current.path.clone(), current.state.file_type);
    }

    /// Adds a change; the version that it makes, if it brings a content.
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
        let brings = brings_content(before.as_ref(), after.as_ref());
        let version = brings.then(|| VersionId::new(self.call.world()));
        self.draft.changes.push(NewChange { file, before, after, from, to, version });
        version
    }
}

impl Observed {
    fn folder(stat: EntryStat) -> Self {
        Self { kind: FileKind::Folder, stat, content: None, bytes: Vec::new(), large: false }
    }
}

/// Whether a change makes a version: a content comes to be, comes back, or is written again. A move
/// and a touch make none.
fn brings_content(before: Option<&FileState>, after: Option<&FileState>) -> bool {
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

/// A path below a folder, as a fault where it would be too long.
pub(crate) fn join(folder: &WsPath, name: &yard_core::Name) -> Result<WsPath> {
    folder.join(name).map_err(|error| {
        Fault::new(FaultCode::BadPath, format!("{folder}/{name}: {error}")).about(Subject::Path)
    })
}

/// A folder was wanted.
pub(crate) fn not_a_folder(path: &WsPath) -> Fault {
    let message = format!("{path} is a file, not a folder: name a folder, or read it as a file");
    Fault::new(FaultCode::NotFolder, message).about(Subject::Path)
}

/// The content of a removed entry is not there any more.
fn not_kept(workspace: &Workspace, hash: &ContentHash, path: &WsPath) -> Fault {
    match workspace.store().is_purged(hash) {
        Ok(true) => purged().about(Subject::Path),
        _ => never_kept(path),
    }
}

fn never_kept(path: &WsPath) -> Fault {
    let message = format!("the content of {path} was not kept, so it cannot be brought back");
    Fault::new(FaultCode::NotFound, message).about(Subject::Path)
}
