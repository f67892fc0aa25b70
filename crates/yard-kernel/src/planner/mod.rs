//! Writes a [`Draft`]. Nothing is changed but the staging folder.
//!
//! Before a plan uses an entry on disk, it adopts what other programs changed there: the difference to the store is
//! recorded as a step of author `external` right before the planned one (`adoption.rs`). `writing.rs` plans new bytes,
//! `folders.rs` the folders above them, and `large.rs` and `unloaded.rs` contents that are not in memory.

mod adoption;
mod attributes;
mod folders;
mod large;
mod unloaded;
mod writing;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use yard_core::op::Operation;
use yard_core::{
    Call, ContentHash, Effect, EffectKind, Fault, FaultCode, FileId, FileKind, FileState, FileType,
    Result, StepId, Subject, VersionId, WsPath,
};
use yard_disk::{EntryStat, Staged};
use yard_store::{Effort, NewChange, Store};

use crate::draft::basis::{Expectation, ExpectedEntry};
use crate::draft::{Draft, PlanningGuard};
use crate::proposal::{CommitWork, Planned, Proposal};
use crate::virtual_files::check_not_reserved;
use crate::workspace::Workspace;

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

/// What a plan found out and decided about entries so far.
#[derive(Default)]
struct KnownEntries {
    /// Folders that exist or that the plan makes.
    folders: HashMap<WsPath, FileId>,
    /// Removed entries that the plan restores.
    revived: HashMap<FileId, WsPath>,
    /// The paths at which the entries that the plan moves still are.
    moved: HashMap<FileId, WsPath>,
    /// Entries of the store that the plan found to be no longer on disk.
    gone: HashSet<FileId>,
    /// Folders that are known to be writable.
    writable: HashSet<WsPath>,
    /// Paths that the plan vacates, so that other entries may be made there.
    vacated: HashSet<WsPath>,
}

/// Writes a [`Draft`].
pub(crate) struct Planner<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) call: &'a Call,
    pub(crate) draft: Draft,
    pub(crate) effect: Effect,
    /// How much time is spent on compressing contents.
    pub(crate) effort: Effort,
    known: KnownEntries,
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
            known: KnownEntries::default(),
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
        self.draft.basis.expectations.push(Expectation { path: path.clone(), entry });
    }

    /// The id of the entry that the store has at a path.
    pub(crate) fn id_at(&self, path: &WsPath) -> Result<Option<FileId>> {
        if path.is_root() {
            return Ok(Some(FileId::ROOT));
        }
        Ok(self.store().lookup(path)?.map(|node| node.id))
    }

    /// Plans that an entry's times are set to now.
    pub(crate) fn touch(&mut self, current: &Current) {
        let now = self.call.world().now().as_millis().saturating_mul(1_000_000);
        let newer = current.stat.signature.mtime.saturating_add(1);
        self.draft.files.touches.insert(current.id, now.max(newer));
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
            self.draft.files.staged.remove(&change.file);
            self.draft.files.displacing.remove(&change.file);
            self.known.moved.remove(&change.file);
            self.known.revived.remove(&change.file);
            if let Some(path) = vacated_path(change) {
                self.known.vacated.remove(path);
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
            self.known.moved.entry(file).or_insert_with(|| from.clone());
        }
        let version = makes_version(before.as_ref(), after.as_ref());
        let version = version.then(|| VersionId::new(self.call.world()));
        self.draft.changes.push(NewChange { file, before, after, from, to, version });
        version
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
