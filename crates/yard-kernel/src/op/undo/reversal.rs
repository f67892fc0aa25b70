//! The reversal of changes, which undo, redo and back-to plan.
//!
//! Each file is merged three ways: base is the file after the changes, ours the file now, theirs the file before them.
//! Existence, path and mode are merged as whole values, and the content of texts by lines. If a later step changed the same
//! value or depends on it, that is a conflict. Build output never conflicts: files that changed since, or whose content is
//! no longer stored, stay as they are.

use std::collections::{HashMap, HashSet};

use yard_core::op::UndoConflict;
use yard_core::{
    Call, ContentHash, EffectKind, Fault, FaultCode, FileId, FileKind, FileState, Result, Subject,
    WsPath, merge,
};
use yard_disk::StagedAttributes;
use yard_store::{Change, StepRow};

use crate::contents::build_output::{BuildOutputs, IgnoreFiles};
use crate::contents::stored_content::{purged, stage_stored};
use crate::draft::basis::ExpectedEntry;
use crate::planner::{Current, Large, PlanMark, Planner, join, vacated_path};
use crate::workspace::Workspace;

/// Most conflicts that a preview names.
const MAX_CONFLICTS: usize = 100;

/// What is taken back.
pub(super) enum Target {
    /// What one step did.
    Step(StepRow),
    /// Everything after a step.
    After(StepRow),
}

impl Target {
    /// The step that it names.
    pub(super) fn step(&self) -> &StepRow {
        match self {
            Self::Step(step) | Self::After(step) => step,
        }
    }

    fn is_step(&self) -> bool {
        matches!(self, Self::Step(_))
    }

    /// The beginning of the message of a conflict.
    fn refusal(&self) -> String {
        match self {
            Self::Step(step) => format!("step {} cannot be undone", step.id),
            Self::After(step) => format!("the workspace cannot go back to step {}", step.id),
        }
    }

    /// What helps against a conflict.
    fn remedy(&self) -> &'static str {
        match self {
            Self::Step(_) => "undo the later step first, or edit the file by hand",
            Self::After(_) => "leave the file out, or edit it by hand",
        }
    }

    /// The same call once more.
    fn retry(&self) -> &'static str {
        match self {
            Self::Step(_) => "undo the step",
            Self::After(_) => "go back",
        }
    }
}

/// Why one change cannot be reversed.
enum Obstacle {
    /// Something happened since that is in the way.
    Conflict(Conflict),
    /// Anything else.
    Fault(Fault),
}

/// A conflict for the list of a preview, and as the fault of an undo.
pub(super) struct Conflict {
    pub(super) named: UndoConflict,
    pub(super) fault: Fault,
}

/// The result of planning the reversal of one change.
type Attempted<T> = std::result::Result<T, Obstacle>;

impl Conflict {
    fn obstacle(path: WsPath, why: String, message: String) -> Obstacle {
        let fault = Fault::new(FaultCode::MergeConflict, message).about(Subject::Step);
        Obstacle::Conflict(Self { named: UndoConflict { path, why }, fault })
    }
}

impl From<Fault> for Obstacle {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<yard_store::StoreError> for Obstacle {
    fn from(error: yard_store::StoreError) -> Self {
        Self::Fault(error.into())
    }
}

/// A reversal that is being planned.
pub(super) struct Reversal<'a> {
    pub(super) planner: Planner<'a>,
    target: Target,
    /// Paths of entries that this undo restores or moves.
    paths: HashMap<FileId, WsPath>,
    /// The paths of these entries.
    taken: HashSet<WsPath>,
    /// How many entries this undo removes or moves out of each folder.
    removed: HashMap<WsPath, usize>,
    /// States of folders whose modes this undo sets.
    states: HashMap<FileId, FileState>,
    /// Folders that the step made and that have other entries now: they stay.
    staying: Vec<(Change, WsPath)>,
    /// Build output that stays as it is.
    pub(super) left: Vec<WsPath>,
    /// Why the first of it stays.
    first_obstacle: Option<Obstacle>,
    /// What is in the way of the undo.
    pub(super) conflicts: Vec<Conflict>,
    build_outputs: BuildOutputs<'a>,
}

impl<'a> Reversal<'a> {
    pub(super) fn new(workspace: &'a Workspace, call: &'a Call, target: Target) -> Self {
        let mut planner = Planner::new(workspace, call);
        planner.draft.exclusive = true;
        // The step of a target of the other kind is the one that is gone back to.
        planner.draft.undoes = Some(target.step().id);
        Self {
            planner,
            target,
            paths: HashMap::new(),
            taken: HashSet::new(),
            removed: HashMap::new(),
            states: HashMap::new(),
            staying: Vec::new(),
            left: Vec::new(),
            first_obstacle: None,
            conflicts: Vec::new(),
            build_outputs: BuildOutputs::new(workspace, call, IgnoreFiles::All),
        }
    }

    /// Plans the reversal of these changes, in this order. Unless all conflicts are wanted, it ends at the first one.
    pub(super) fn revert_all(
        &mut self,
        changes: &[Change],
        wants_all_conflicts: bool,
    ) -> Result<()> {
        let most = if wants_all_conflicts { MAX_CONFLICTS } else { 1 };
        for change in changes {
            self.planner.call.check()?;
            self.revert_change(change)?;
            if self.conflicts.len() >= most {
                return Ok(());
            }
        }
        if self.conflicts.is_empty() {
            self.check_has_effect()?;
        }
        self.expect_emptied()
    }

    /// Plans the reversal of one change, or notes why that cannot be done. Build output that cannot be reversed stays.
    fn revert_change(&mut self, change: &Change) -> Result<()> {
        let before = self.planner.mark();
        let Err(obstacle) = self.revert_one(change) else { return Ok(()) };
        let may_stay = match &obstacle {
            Obstacle::Conflict(_) => true,
            Obstacle::Fault(fault) => fault.code() == FaultCode::NotFound,
        };
        if may_stay && self.is_build_output(change)? {
            self.take_back(before);
            self.left.extend(change.to.clone().or_else(|| change.from.clone()));
            self.first_obstacle.get_or_insert(obstacle);
            return Ok(());
        }
        self.take_back(before);
        self.note_obstacle(obstacle)
    }

    /// Notes a conflict; any other obstacle ends the plan.
    fn note_obstacle(&mut self, obstacle: Obstacle) -> Result<()> {
        match obstacle {
            Obstacle::Conflict(conflict) => {
                self.conflicts.push(conflict);
                Ok(())
            }
            Obstacle::Fault(fault) => Err(fault),
        }
    }

    /// Takes back what was planned since a mark.
    fn take_back(&mut self, mark: PlanMark) {
        for planned in self.planner.take_back(mark) {
            if let Some(path) = self.paths.remove(&planned.file) {
                self.taken.remove(&path);
            }
            self.states.remove(&planned.file);
            if let Some(path) = vacated_path(&planned) {
                *self.removed_from(path) -= 1;
            }
        }
    }

    /// How many entries this undo removes or moves out of the folder of a path.
    fn removed_from(&mut self, path: &WsPath) -> &mut usize {
        self.removed.entry(path.parent().unwrap_or_else(WsPath::root)).or_default()
    }

    /// Whether a change is only of build output.
    fn is_build_output(&mut self, change: &Change) -> Result<bool> {
        let state = change.after.as_ref().or(change.before.as_ref());
        let is_folder = state.is_some_and(|state| state.kind == FileKind::Folder);
        for path in change.from.iter().chain(&change.to) {
            if !self.build_outputs.contain(path, is_folder)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn revert_one(&mut self, change: &Change) -> Attempted<()> {
        match (&change.before, &change.after) {
            (Some(before), None) => self.bring_back(change, before),
            (None, Some(after)) => self.remove(change, after),
            (Some(before), Some(after)) if before != after => self.revert(change, before, after),
            // A touch cannot be reverted.
            _ => Ok(()),
        }
    }

    /// The entry as it is now; `None` if it is gone.
    fn now(&mut self, file: FileId) -> Result<Option<Current>> {
        let store = self.planner.store();
        let path = match self.paths.get(&file) {
            Some(path) => path.clone(),
            None => match store.path_of(file)? {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        if self.planner.workspace.disk.stat(&path)?.is_none() {
            let node = store.node(file)?;
            if let Some(node) = node {
                self.planner.adopt_gone(&node, &path)?;
            }
            return Ok(None);
        }
        let mut current = self.planner.current(&path, Large::Keep)?;
        if let Some(state) = self.states.get(&file) {
            current.state = state.clone();
        }
        Ok(Some(current).filter(|current| current.id == file))
    }

    fn bring_back(&mut self, change: &Change, state: &FileState) -> Attempted<()> {
        if let Some(current) = self.now(change.file)? {
            if current.state == *state {
                return Ok(());
            }
            return Err(self.conflict(change, &current.path, "it was brought back since"));
        }
        let path = self.path_for(change, state)?;
        // The step may have replaced a file by a folder, or the reverse.
        match self.check_free(change, &path)? {
            true => self.revive_at_vacated(change, state, &path)?,
            false => self.planner.revive(change.file, state, &path)?,
        }
        self.note_path(change.file, path);
        Ok(())
    }

    /// Restores an entry at a path that this undo vacates. The entry that is there now is expected already, because it is
    /// removed.
    fn revive_at_vacated(
        &mut self,
        change: &Change,
        state: &FileState,
        path: &WsPath,
    ) -> Attempted<()> {
        if state.kind != FileKind::Folder {
            let attributes = StagedAttributes { mode: Some(state.mode), owner: None, taking: None };
            let staged = match state.content {
                Some(hash) => {
                    let Planner { workspace, call, .. } = self.planner;
                    stage_stored(workspace, &hash, state.kind, &attributes, path, call)?
                }
                None => None,
            };
            if staged.is_none() {
                self.check_not_purged(state.content)?;
            }
            let staged =
                staged.ok_or_else(|| self.conflict(change, path, "its content was not kept"))?;
            self.planner.draft.files.staged.insert(change.file, staged);
        }
        let (after, to) = (Some(state.clone()), Some(path.clone()));
        self.planner.push_change(change.file, None, after, None, to);
        self.planner.effect.push(EffectKind::Create, path.clone(), state.file_type);
        Ok(())
    }

    fn note_path(&mut self, file: FileId, path: WsPath) {
        self.taken.insert(path.clone());
        self.paths.insert(file, path);
    }

    /// The current path for an entry with that state.
    fn path_for(&self, change: &Change, state: &FileState) -> Attempted<WsPath> {
        let folder = match self.paths.get(&state.parent) {
            Some(path) => Some(path.clone()),
            None => self.planner.store().path_of(state.parent)?,
        };
        let was = change.from.clone().unwrap_or_else(WsPath::root);
        let folder = folder.filter(|folder| self.is_folder(state.parent, folder));
        match folder {
            Some(folder) => Ok(join(&folder, &state.name)?),
            None => Err(self.conflict(change, &was, "the folder that it was in is gone")),
        }
    }

    fn is_folder(&self, id: FileId, path: &WsPath) -> bool {
        let stat = self.planner.workspace.disk.stat(path);
        self.paths.contains_key(&id)
            || stat.is_ok_and(|stat| stat.is_some_and(|stat| stat.is(FileKind::Folder)))
    }

    /// Whether the plan vacates a path, or a folder above it. A conflict if something else is there or comes there.
    fn check_free(&self, change: &Change, path: &WsPath) -> Attempted<bool> {
        if self.taken.contains(path) {
            return Err(self.conflict(change, path, "something else comes back to its place"));
        }
        let is_vacated = self.planner.is_at_vacated(path);
        if is_vacated || self.planner.workspace.disk.stat(path)?.is_none() {
            return Ok(is_vacated);
        }
        Err(self.conflict(change, path, "something else is at its place"))
    }

    fn remove(&mut self, change: &Change, made: &FileState) -> Attempted<()> {
        let path = change.to.clone().unwrap_or_else(WsPath::root);
        let Some(current) = self.now(change.file)? else {
            return match self.planner.is_gone(change.file) {
                // Another program deleted it, which is what this undo would do.
                true => Ok(()),
                false => Err(self.conflict(change, &path, "it was removed since")),
            };
        };
        if current.stat.is(FileKind::Folder) && self.has_other_entries(&current)? {
            self.staying.push((change.clone(), current.path));
            return Ok(());
        }
        let same = |now: &FileState| {
            (now.content, now.mode, now.parent, &now.name)
                == (made.content, made.mode, made.parent, &made.name)
        };
        if !same(&current.state) {
            return Err(self.conflict(
                change,
                &current.path,
                "it was changed or moved since the step made it",
            ));
        }
        if current.stat.is(FileKind::Folder) {
            self.adopt_missing(&current)?;
        }
        self.planner.check_writable_above(&current.path)?;
        self.planner.vacate(&current);
        *self.removed_from(&current.path) += 1;
        Ok(())
    }

    /// Whether a folder has an entry that this undo does not remove from it.
    fn has_other_entries(&self, folder: &Current) -> Result<bool> {
        let inside = self.planner.workspace.disk.list(&folder.path)?.len();
        Ok(inside != self.removed.get(&folder.path).copied().unwrap_or(0))
    }

    /// Notes a conflict if the undo would change nothing because everything that was made has to stay.
    fn check_has_effect(&mut self) -> Result<()> {
        if !self.planner.draft.changes.is_empty() {
            return Ok(());
        }
        let obstacle = match self.staying.first() {
            Some((change, path)) => {
                Some(self.conflict(change, path, "there are other files in the folder now"))
            }
            None => self.first_obstacle.take(),
        };
        obstacle.map_or(Ok(()), |obstacle| self.note_obstacle(obstacle))
    }

    /// Adopts that entries of a folder are no longer on disk: otherwise they would remain as living entries of a removed
    /// folder.
    fn adopt_missing(&mut self, folder: &Current) -> Result<()> {
        for node in self.planner.store().children(folder.id)? {
            let path = join(&folder.path, &node.last.name)?;
            if self.planner.workspace.disk.stat(&path)?.is_none() {
                self.planner.adopt_gone(&node, &path)?;
            }
        }
        Ok(())
    }

    /// Expects that folders which this undo removes have no other entries than those that it removes too.
    fn expect_emptied(&mut self) -> Result<()> {
        let changes = self.planner.draft.changes.iter();
        let folders: Vec<WsPath> = changes
            .filter(|change| change.after.is_none())
            .filter(|change| {
                change.before.as_ref().is_some_and(|state| state.kind == FileKind::Folder)
            })
            .filter_map(|change| change.from.clone())
            .collect();
        for folder in folders {
            let Some(stat) = self.planner.workspace.disk.stat(&folder)? else { continue };
            let names = self.removed.get(&folder).copied().unwrap_or(0);
            let inode = stat.signature.inode;
            self.planner.expect(&folder, ExpectedEntry::FolderHolding { inode, names });
        }
        Ok(())
    }

    fn revert(&mut self, change: &Change, theirs: &FileState, base: &FileState) -> Attempted<()> {
        let path = change.to.clone().unwrap_or_else(WsPath::root);
        let Some(current) = self.now(change.file)? else {
            return Err(match self.planner.is_gone(change.file) {
                true => self.deleted_by_hand(change, &path),
                false => self.conflict(change, &path, "it was removed since"),
            });
        };
        let current = self.revert_place(change, current, theirs, base)?;
        self.revert_content(change, &current, theirs, base)
    }

    /// Moves the entry back, if the step moved it.
    fn revert_place(
        &mut self,
        change: &Change,
        current: Current,
        theirs: &FileState,
        base: &FileState,
    ) -> Attempted<Current> {
        let place = |state: &FileState| (state.parent, state.name.clone());
        if place(base) == place(theirs) || place(&current.state) == place(theirs) {
            return Ok(current);
        }
        if place(&current.state) != place(base) {
            return Err(self.conflict(change, &current.path, "it was moved since"));
        }
        let to = self.path_for(change, theirs)?;
        let is_vacated = self.check_free(change, &to)?;
        if to.is_within(&current.path) {
            return Err(self.conflict(
                change,
                &current.path,
                "the folder that it was in is inside it now",
            ));
        }
        // A folder that this undo restores is not on disk yet.
        if !self.paths.contains_key(&theirs.parent) {
            let parent = to.parent().unwrap_or_else(WsPath::root);
            self.planner.folder(&parent)?;
        }
        // The entry at a vacated path is expected already, because it is removed.
        if !is_vacated {
            self.planner.adopt_missing(theirs.parent, &to)?;
            self.planner.expect(&to, ExpectedEntry::Absent);
        }
        self.planner.check_writable_above(&current.path)?;
        self.planner.check_writable_above(&to)?;
        let mut after = current.state.clone();
        (after.parent, after.name) = place(theirs);
        let moved = self.planner.push_move(&current, after, &to);
        *self.removed_from(&current.path) += 1;
        self.note_path(current.id, to);
        Ok(moved)
    }

    /// Reverts the step's changes of content, mode and type.
    fn revert_content(
        &mut self,
        change: &Change,
        current: &Current,
        theirs: &FileState,
        base: &FileState,
    ) -> Attempted<()> {
        let mut after = current.state.clone();
        if base.mode != theirs.mode && after.mode != theirs.mode {
            if after.mode != base.mode {
                return Err(self.conflict(change, &current.path, "its mode was changed since"));
            }
            after.mode = theirs.mode;
        }
        if after.file_type == base.file_type {
            after.file_type = theirs.file_type;
        }
        if after.json == base.json {
            after.json = theirs.json;
        }
        if let Some(hash) = self.large_before(current, theirs, base)? {
            return Ok(self.planner.rewrite_as_stored(current, hash, theirs.size, after)?);
        }
        let bytes = self.merged(change, current, theirs, base)?;
        if bytes.is_none() && after == current.state {
            return Ok(());
        }
        if after.kind == FileKind::Folder {
            self.states.insert(current.id, after.clone());
        }
        Ok(self.planner.rewrite(current, bytes, after)?)
    }

    /// The content before the step, if the file simply gets it again and it is too large to load.
    fn large_before(
        &self,
        current: &Current,
        theirs: &FileState,
        base: &FileState,
    ) -> Result<Option<ContentHash>> {
        let unchanged = current.content() == base.content && base.content != theirs.content;
        let Some(hash) = theirs.content.filter(|_| unchanged) else { return Ok(None) };
        let located = self.planner.store().locate(&hash)?;
        Ok(located.and_then(|located| located.kept).map(|_| hash))
    }

    /// The content that the entry gets; `None` if its content does not change.
    fn merged(
        &self,
        change: &Change,
        current: &Current,
        theirs: &FileState,
        base: &FileState,
    ) -> Attempted<Option<Vec<u8>>> {
        let ours = current.content();
        if base.content == theirs.content || ours == theirs.content {
            return Ok(None);
        }
        let theirs_bytes = self.content(change, &current.path, theirs.content)?;
        if ours == base.content {
            return Ok(Some(theirs_bytes));
        }
        let conflict = |why: &str| self.conflict(change, &current.path, why);
        if current.state.kind != FileKind::File {
            return Err(conflict("it was changed since"));
        }
        let base_bytes = self.content(change, &current.path, base.content)?;
        let limit = self.planner.workspace.limits().load_bytes;
        let merged = self.planner.call.bounding(limit, |bounds| {
            merge::merge_within(&base_bytes, &current.bytes, &theirs_bytes, bounds)
        });
        match merged? {
            Ok(bytes) => Ok(Some(bytes)),
            Err(collision) => Err(conflict(&format!(
                "the same lines were changed since, at line {}",
                collision.ours_line
            ))),
        }
    }

    fn content(
        &self,
        change: &Change,
        path: &WsPath,
        hash: Option<ContentHash>,
    ) -> Attempted<Vec<u8>> {
        let bytes = match hash {
            Some(hash) => self.planner.store().content(&hash)?,
            None => None,
        };
        if bytes.is_none() {
            self.check_not_purged(hash)?;
        }
        bytes.ok_or_else(|| {
            self.conflict(
                change,
                path,
                "its earlier content is too large to be merged or was not kept",
            )
        })
    }

    /// A fault if a content was purged: unlike a conflict, this cannot be resolved.
    fn check_not_purged(&self, hash: Option<ContentHash>) -> Result<()> {
        let store = self.planner.store();
        match hash.map(|hash| store.is_purged(&hash)).transpose()? {
            Some(true) => Err(purged().about(Subject::Step)),
            _ => Ok(()),
        }
    }

    /// The conflict of a file that another program deleted, so that there is no step that could be undone first.
    fn deleted_by_hand(&self, change: &Change, path: &WsPath) -> Obstacle {
        let now = self.planner.store().path_of(change.file).ok().flatten();
        let path = now.unwrap_or_else(|| path.clone());
        let refusal = self.target.refusal();
        let message = format!(
            "{refusal}: {path} was deleted outside of Toolyard. Nothing was changed; \
             restore it first (the trash lists it), then {}",
            self.target.retry()
        );
        let why = "it was deleted outside of Toolyard; the trash lists it".to_owned();
        Conflict::obstacle(path, why, message)
    }

    /// The conflict about a file, with the later step that caused it.
    fn conflict(&self, change: &Change, path: &WsPath, why: &str) -> Obstacle {
        let since = self.target.step().seq;
        let later = self.planner.store().file_changes(change.file, None, 64).unwrap_or_default();
        let later = later.iter().rfind(|(step, _)| step.seq > since);
        let by = later.filter(|_| self.target.is_step()).map_or_else(String::new, |(step, _)| {
            format!(" (step {}, {} by {} at {})", step.id, step.verb, step.author.word(), step.at)
        });
        let (refusal, remedy) = (self.target.refusal(), self.target.remedy());
        let message = format!("{refusal}: {path}: {why}{by}. Nothing was changed; {remedy}");
        Conflict::obstacle(path.clone(), format!("{why}{by}"), message)
    }
}
