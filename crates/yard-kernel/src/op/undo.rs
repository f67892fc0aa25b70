//! undo: reverts one step, old or new, without reverting later steps.
//!
//! Each file is merged three ways: base is the file after the step, ours the file now, theirs the file before the step.
//! Existence, path and mode are merged as whole values, and the content of texts by lines. If a later step changed the same
//! value or depends on it, the undo is refused as a whole, and the fault names the conflict. Build output never conflicts:
//! files that changed since, or whose content is no longer stored, stay as they are.

use std::collections::HashMap;

use yard_core::op::{Undo, Undone};
use yard_core::{
    Call, ContentHash, EffectKind, Fault, FaultCode, FileId, FileKind, FileState, Result, Subject,
    WsPath, merge,
};
use yard_disk::StagedAttributes;
use yard_store::{Change, StepRow};

use crate::build_output::{BuildOutputs, IgnoreFiles};
use crate::draft::ExpectedEntry;
use crate::op::history::{find_step, merge_changes};
use crate::planner::{Current, Large, Planner, join, vacated_path};
use crate::proposal::{Execute, Planned};
use crate::stored_content::{purged, stage_stored};
use crate::workspace::Workspace;

impl Execute for Undo {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Undone>> {
        let step = find_step(workspace, self.step)?;
        let changes = workspace.store().changes(step.seq)?;
        let mut planner = Planner::new(workspace, call);
        planner.draft.exclusive = true;
        planner.draft.undoes = Some(step.id);
        let mut undoing = Undoing {
            planner,
            step,
            paths: HashMap::new(),
            removed: HashMap::new(),
            states: HashMap::new(),
            staying: Vec::new(),
            left: Vec::new(),
            first_conflict: None,
            build_outputs: BuildOutputs::new(workspace, call, IgnoreFiles::All),
        };
        for change in merge_changes(changes).iter().rev() {
            call.check()?;
            undoing.revert_change(change)?;
        }
        undoing.check_has_effect()?;
        undoing.expect_emptied()?;
        let Undoing { planner, step, left, .. } = undoing;
        let paths = planner.effect.paths.iter().map(|effect| effect.path.clone()).collect();
        let answer = Undone { step: planner.draft.id, undoes: step.id, paths, left };
        planner.propose::<Self>(answer)
    }
}

struct Undoing<'a> {
    planner: Planner<'a>,
    step: StepRow,
    /// Paths of entries that this undo restores or moves.
    paths: HashMap<FileId, WsPath>,
    /// How many entries this undo removes or moves out of each folder.
    removed: HashMap<WsPath, usize>,
    /// States of folders whose modes this undo sets.
    states: HashMap<FileId, FileState>,
    /// Folders that the step made and that have other entries now: they stay.
    staying: Vec<(Change, WsPath)>,
    /// Build output that stays as it is.
    left: Vec<WsPath>,
    /// Why the first of it stays.
    first_conflict: Option<Fault>,
    build_outputs: BuildOutputs<'a>,
}

impl Undoing<'_> {
    /// Plans the reversal of one change. If that conflicts and the change is one of build output, the file stays.
    fn revert_change(&mut self, change: &Change) -> Result<()> {
        let before = self.planner.mark();
        let Err(fault) = self.revert_one(change) else { return Ok(()) };
        let is_conflict = matches!(fault.code(), FaultCode::MergeConflict | FaultCode::NotFound);
        if !is_conflict || !self.is_build_output(change)? {
            return Err(fault);
        }
        for planned in self.planner.take_back(before) {
            self.paths.remove(&planned.file);
            self.states.remove(&planned.file);
            if let Some(path) = vacated_path(&planned) {
                *self.removed_from(path) -= 1;
            }
        }
        self.left.extend(change.to.clone().or_else(|| change.from.clone()));
        self.first_conflict.get_or_insert(fault);
        Ok(())
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

    fn revert_one(&mut self, change: &Change) -> Result<()> {
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

    fn bring_back(&mut self, change: &Change, state: &FileState) -> Result<()> {
        if let Some(current) = self.now(change.file)? {
            if current.state == *state {
                return Ok(());
            }
            return Err(self.conflict(change, &current.path, "it was brought back since"));
        }
        let path = self.path_for(change, state)?;
        // The step may have replaced a file by a folder, or the reverse.
        if self.planner.is_at_vacated(&path) {
            self.revive_at_vacated(change, state, &path)?;
        } else {
            self.check_free(change, &path)?;
            self.planner.revive(change.file, state, &path)?;
        }
        self.paths.insert(change.file, path);
        Ok(())
    }

    /// Restores an entry at a path that this undo vacates. The entry that is there now is expected already, because it is
    /// removed.
    fn revive_at_vacated(
        &mut self,
        change: &Change,
        state: &FileState,
        path: &WsPath,
    ) -> Result<()> {
        if state.kind != FileKind::Folder {
            let attributes = StagedAttributes { mode: Some(state.mode), owner: None, taking: None };
            let staged = match state.content {
                Some(hash) => {
                    stage_stored(self.planner.workspace, &hash, state.kind, &attributes, path)?
                }
                None => None,
            };
            if staged.is_none() {
                self.check_not_purged(state.content)?;
            }
            let staged =
                staged.ok_or_else(|| self.conflict(change, path, "its content was not kept"))?;
            self.planner.draft.staged.insert(change.file, staged);
        }
        let (after, to) = (Some(state.clone()), Some(path.clone()));
        self.planner.push_change(change.file, None, after, None, to);
        self.planner.effect.push(EffectKind::Create, path.clone(), state.file_type);
        Ok(())
    }

    /// The current path for an entry with that state.
    fn path_for(&self, change: &Change, state: &FileState) -> Result<WsPath> {
        let folder = match self.paths.get(&state.parent) {
            Some(path) => Some(path.clone()),
            None => self.planner.store().path_of(state.parent)?,
        };
        let was = change.from.clone().unwrap_or_else(WsPath::root);
        let folder = folder.filter(|folder| self.is_folder(state.parent, folder));
        match folder {
            Some(folder) => join(&folder, &state.name),
            None => Err(self.conflict(change, &was, "the folder that it was in is gone")),
        }
    }

    fn is_folder(&self, id: FileId, path: &WsPath) -> bool {
        let stat = self.planner.workspace.disk.stat(path);
        self.paths.contains_key(&id)
            || stat.is_ok_and(|stat| stat.is_some_and(|stat| stat.is(FileKind::Folder)))
    }

    fn check_free(&self, change: &Change, path: &WsPath) -> Result<()> {
        if self.planner.workspace.disk.stat(path)?.is_none() {
            return Ok(());
        }
        Err(self.conflict(change, path, "something else is at its place"))
    }

    fn remove(&mut self, change: &Change, made: &FileState) -> Result<()> {
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

    /// A fault if the undo would change nothing, because everything that the step made has to stay.
    fn check_has_effect(&mut self) -> Result<()> {
        if !self.planner.draft.changes.is_empty() {
            return Ok(());
        }
        if let Some((change, path)) = self.staying.first() {
            return Err(self.conflict(change, path, "there are other files in the folder now"));
        }
        self.first_conflict.take().map_or(Ok(()), Err)
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

    fn revert(&mut self, change: &Change, theirs: &FileState, base: &FileState) -> Result<()> {
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
    ) -> Result<Current> {
        let place = |state: &FileState| (state.parent, state.name.clone());
        if place(base) == place(theirs) || place(&current.state) == place(theirs) {
            return Ok(current);
        }
        if place(&current.state) != place(base) {
            return Err(self.conflict(change, &current.path, "it was moved since"));
        }
        let to = self.path_for(change, theirs)?;
        let is_vacated = self.planner.is_at_vacated(&to);
        if !is_vacated {
            self.check_free(change, &to)?;
        }
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
        self.paths.insert(current.id, to);
        Ok(moved)
    }

    /// Reverts the step's changes of content, mode and type.
    fn revert_content(
        &mut self,
        change: &Change,
        current: &Current,
        theirs: &FileState,
        base: &FileState,
    ) -> Result<()> {
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
            return self.planner.rewrite_as_stored(current, hash, theirs.size, after);
        }
        let bytes = self.merged(change, current, theirs, base)?;
        if bytes.is_none() && after == current.state {
            return Ok(());
        }
        if after.kind == FileKind::Folder {
            self.states.insert(current.id, after.clone());
        }
        self.planner.rewrite(current, bytes, after)
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
    ) -> Result<Option<Vec<u8>>> {
        let ours = current.content();
        if base.content == theirs.content || ours == theirs.content {
            return Ok(None);
        }
        let theirs_bytes = self.content(change, &current.path, theirs.content)?;
        if ours == base.content {
            return Ok(Some(theirs_bytes));
        }
        let to_fault = |why: &str| self.conflict(change, &current.path, why);
        if current.state.kind != FileKind::File {
            return Err(to_fault("it was changed since"));
        }
        let base_bytes = self.content(change, &current.path, base.content)?;
        let limit = self.planner.workspace.limits().load_bytes;
        let merged = self.planner.call.bounding(limit, |bounds| {
            merge::merge_within(&base_bytes, &current.bytes, &theirs_bytes, bounds)
        });
        match merged? {
            Ok(bytes) => Ok(Some(bytes)),
            Err(collision) => {
                Err(to_fault(&format!("the same lines were changed since: {collision}")))
            }
        }
    }

    fn content(
        &self,
        change: &Change,
        path: &WsPath,
        hash: Option<ContentHash>,
    ) -> Result<Vec<u8>> {
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

    /// The fault for a file that another program deleted, so that there is no step that could be undone first.
    fn deleted_by_hand(&self, change: &Change, path: &WsPath) -> Fault {
        let now = self.planner.store().path_of(change.file).ok().flatten();
        let message = format!(
            "step {} cannot be undone: {} was deleted outside of Toolyard. Nothing was changed; \
             restore it first (the trash lists it), then undo the step",
            self.step.id,
            now.as_ref().unwrap_or(path)
        );
        Fault::new(FaultCode::MergeConflict, message).about(Subject::Step)
    }

    /// The fault that names a conflict, and the later step that caused it.
    fn conflict(&self, change: &Change, path: &WsPath, why: &str) -> Fault {
        let later = self.planner.store().file_changes(change.file, None, 64).unwrap_or_default();
        let later = later.iter().rfind(|(step, _)| step.seq > self.step.seq);
        let by = later.map_or_else(String::new, |(step, _)| {
            format!(" (step {}, {} by {} at {})", step.id, step.verb, step.author.word(), step.at)
        });
        let message = format!(
            "step {} cannot be undone: {path}: {why}{by}. Nothing was changed; undo the later step first, or edit the file by hand",
            self.step.id
        );
        Fault::new(FaultCode::MergeConflict, message).about(Subject::Step)
    }
}
