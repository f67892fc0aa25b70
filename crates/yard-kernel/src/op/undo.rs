//! undo: takes one step back, old or new, and keeps everything that came after it.
//!
//! File by file a three-way merge of whole values: base is the file after the step, ours the file now,
//! theirs the file before the step. Existence, place and mode are values; the content of texts is merged
//! by lines. Where a later step changed the same value or depends on it, the undo is refused as a whole
//! and names what is in its way. Build output is in nobody's way: what of it is something else by now, or
//! is not kept any more, stays as it is.

use std::collections::{HashMap, HashSet};

use yard_core::op::{Undo, Undone};
use yard_core::{
    Call, ContentHash, EffectKind, Fault, FaultCode, FileId, FileKind, FileState, Result, Subject,
    WsPath, merge,
};
use yard_disk::StagedAttributes;
use yard_store::{Change, StepRow};

use crate::draft::Was;
use crate::image::{image, purged};
use crate::op::history::{find_step, together};
use crate::output::{Ignoring, Outputs};
use crate::planner::{Current, Large, Planner, join};
use crate::proposal::{Execute, Planned};
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
            places: HashMap::new(),
            removed: HashMap::new(),
            vacated: HashSet::new(),
            states: HashMap::new(),
            staying: Vec::new(),
            left: Vec::new(),
            refused: None,
            outputs: Outputs::new(workspace, call, Ignoring::ByAnybody),
        };
        for change in together(changes).iter().rev() {
            call.check()?;
            undoing.take_back(change)?;
        }
        undoing.must_take_something_back()?;
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
    /// Where entries are that this undo brings back or moves.
    places: HashMap<FileId, WsPath>,
    /// How many entries this undo takes out of a folder, away or elsewhere.
    removed: HashMap<WsPath, usize>,
    /// The places that this undo empties.
    vacated: HashSet<WsPath>,
    /// What folders are whose modes this undo sets.
    states: HashMap<FileId, FileState>,
    /// Folders that the step made and that hold something else by now: they stay.
    staying: Vec<(Change, WsPath)>,
    /// Build output that stays as it is.
    left: Vec<WsPath>,
    /// Why the first of it does.
    refused: Option<Fault>,
    outputs: Outputs<'a>,
}

impl Undoing<'_> {
    fn take_back(&mut self, change: &Change) -> Result<()> {
        let planned = (self.planner.draft.changes.len(), self.planner.effect.paths.len());
        let Err(fault) = self.take_back_one(change) else { return Ok(()) };
        let in_the_way = matches!(fault.code(), FaultCode::MergeConflict | FaultCode::NotFound);
        if !in_the_way || !self.is_output(change)? {
            return Err(fault);
        }
        self.planner.draft.changes.truncate(planned.0);
        self.planner.effect.paths.truncate(planned.1);
        self.left.extend(change.to.clone().or_else(|| change.from.clone()));
        self.refused.get_or_insert(fault);
        Ok(())
    }

    /// Whether a change is one of build output, and of nothing else.
    fn is_output(&mut self, change: &Change) -> Result<bool> {
        let state = change.after.as_ref().or(change.before.as_ref());
        let is_folder = state.is_some_and(|state| state.kind == FileKind::Folder);
        for path in change.from.iter().chain(&change.to) {
            if !self.outputs.holds(path, is_folder)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take_back_one(&mut self, change: &Change) -> Result<()> {
        match (&change.before, &change.after) {
            (Some(before), None) => self.bring_back(change, before),
            (None, Some(after)) => self.remove(change, after),
            (Some(before), Some(after)) if before != after => self.revert(change, before, after),
            // A touch leaves nothing to take back.
            _ => Ok(()),
        }
    }

    /// The entry as it is now; `None` if it is gone.
    fn now(&mut self, file: FileId) -> Result<Option<Current>> {
        let store = self.planner.store();
        let path = match self.places.get(&file) {
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
        let path = self.place_of(change, state)?;
        if self.is_vacated(&path) {
            self.revive_instead(change, state, &path)?;
        } else {
            self.must_be_free(change, &path)?;
            self.planner.revive(change.file, state, &path)?;
        }
        self.places.insert(change.file, path);
        Ok(())
    }

    /// Whether what is at `path` now goes in this undo: the step put a folder in a file's place, or
    /// the reverse.
    fn is_vacated(&self, path: &WsPath) -> bool {
        !self.vacated.is_empty()
            && (self.vacated.contains(path)
                || path.ancestors().iter().any(|above| self.vacated.contains(above)))
    }

    /// Brings an entry back to a place that this undo empties first. What is there is expected and
    /// checked already, as something that goes.
    fn revive_instead(&mut self, change: &Change, state: &FileState, path: &WsPath) -> Result<()> {
        if state.kind != FileKind::Folder {
            let shape = StagedAttributes { mode: Some(state.mode), owner: None, taking: None };
            let staged = match state.content {
                Some(hash) => image(self.planner.workspace, &hash, state.kind, &shape, path)?,
                None => None,
            };
            if staged.is_none() {
                self.must_not_be_purged(state.content)?;
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

    /// Where a state puts its entry now.
    fn place_of(&self, change: &Change, state: &FileState) -> Result<WsPath> {
        let folder = match self.places.get(&state.parent) {
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
        let found = self.planner.workspace.disk.stat(path);
        self.places.contains_key(&id)
            || found.is_ok_and(|stat| stat.is_some_and(|stat| stat.is(FileKind::Folder)))
    }

    fn must_be_free(&self, change: &Change, path: &WsPath) -> Result<()> {
        if self.planner.workspace.disk.stat(path)?.is_none() {
            return Ok(());
        }
        Err(self.conflict(change, path, "something else is at its place"))
    }

    fn remove(&mut self, change: &Change, made: &FileState) -> Result<()> {
        let shown = change.to.clone().unwrap_or_else(WsPath::root);
        let Some(current) = self.now(change.file)? else {
            return match self.planner.is_gone(change.file) {
                // Somebody deleted it by hand, and that is all that this undo would do.
                true => Ok(()),
                false => Err(self.conflict(change, &shown, "it was removed since")),
            };
        };
        if current.stat.is(FileKind::Folder) && self.holds_others(&current)? {
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
            self.forget_missing(&current)?;
        }
        if let Some(folder) = current.path.parent() {
            *self.removed.entry(folder).or_default() += 1;
        }
        self.planner.check_writable_above(&current.path)?;
        self.planner.vacate(&current);
        self.vacated.insert(current.path);
        Ok(())
    }

    /// Whether a folder holds anything that this undo does not take out of it.
    fn holds_others(&self, folder: &Current) -> Result<bool> {
        let inside = self.planner.workspace.disk.list(&folder.path)?.len();
        Ok(inside != self.removed.get(&folder.path).copied().unwrap_or(0))
    }

    /// A fault where all that the step did was to make folders that have to stay.
    fn must_take_something_back(&mut self) -> Result<()> {
        if !self.planner.draft.changes.is_empty() {
            return Ok(());
        }
        if let Some((change, path)) = self.staying.first() {
            return Err(self.conflict(change, path, "there are other files in the folder now"));
        }
        self.refused.take().map_or(Ok(()), Err)
    }

    /// Adopts that entries which the store knows in a folder are no longer on disk: they would stay
    /// behind as living entries of a folder that is gone.
    fn forget_missing(&mut self, folder: &Current) -> Result<()> {
        for node in self.planner.store().children(folder.id)? {
            let path = join(&folder.path, &node.last.name)?;
            if self.planner.workspace.disk.stat(&path)?.is_none() {
                self.planner.adopt_gone(&node, &path)?;
            }
        }
        Ok(())
    }

    /// Folders that this undo removes hold nothing but what it removes too.
    fn expect_emptied(&mut self) -> Result<()> {
        let folders: Vec<WsPath> = { self.planner.draft.changes.iter() }
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
            self.planner.expect(&folder, Was::Holding { inode, names });
        }
        Ok(())
    }

    fn revert(&mut self, change: &Change, theirs: &FileState, base: &FileState) -> Result<()> {
        let shown = change.to.clone().unwrap_or_else(WsPath::root);
        let Some(current) = self.now(change.file)? else {
            return Err(match self.planner.is_gone(change.file) {
                true => self.deleted_by_hand(change, &shown),
                false => self.conflict(change, &shown, "it was removed since"),
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
        let to = self.place_of(change, theirs)?;
        let vacated = self.is_vacated(&to);
        if !vacated {
            self.must_be_free(change, &to)?;
        }
        if to.is_within(&current.path) {
            return Err(self.conflict(
                change,
                &current.path,
                "the folder that it was in is inside it now",
            ));
        }
        // A folder that this undo brings back is not there yet.
        if !self.places.contains_key(&theirs.parent) {
            let parent = to.parent().unwrap_or_else(WsPath::root);
            self.planner.folder(&parent)?;
        }
        // What is at a vacated place is expected already, as something that goes.
        if !vacated {
            self.planner.forget_gone(theirs.parent, &to)?;
            self.planner.expect(&to, Was::Absent);
        }
        self.planner.check_writable_above(&current.path)?;
        self.planner.check_writable_above(&to)?;
        let mut after = current.state.clone();
        (after.parent, after.name) = place(theirs);
        let moved = self.planner.push_move(&current, after, &to);
        if let Some(folder) = current.path.parent() {
            *self.removed.entry(folder).or_default() += 1;
        }
        self.places.insert(current.id, to);
        self.vacated.insert(current.path);
        Ok(moved)
    }

    /// Takes back what the step did to content, mode and type.
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

    /// The content before the step, if the file shall simply have it again and it is too large to load.
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

    /// The content that the entry shall have; `None` if it stays.
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
        let collided = |why: &str| self.conflict(change, &current.path, why);
        if current.state.kind != FileKind::File {
            return Err(collided("it was changed since"));
        }
        let base_bytes = self.content(change, &current.path, base.content)?;
        let limit = self.planner.workspace.limits().load_bytes;
        let merged = self.planner.call.bounding(limit, |bounds| {
            merge::merge_within(&base_bytes, &current.bytes, &theirs_bytes, bounds)
        });
        match merged? {
            Ok(bytes) => Ok(Some(bytes)),
            Err(collision) => {
                Err(collided(&format!("the same lines were changed since: {collision}")))
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
            self.must_not_be_purged(hash)?;
        }
        bytes.ok_or_else(|| {
            self.conflict(
                change,
                path,
                "its earlier content is too large to be merged or was not kept",
            )
        })
    }

    /// A purged content is no conflict that anybody could resolve.
    fn must_not_be_purged(&self, hash: Option<ContentHash>) -> Result<()> {
        let store = self.planner.store();
        match hash.map(|hash| store.is_purged(&hash)).transpose()? {
            Some(true) => Err(purged().about(Subject::Step)),
            _ => Ok(()),
        }
    }

    /// The fault for a file that somebody deleted without a step that could be undone first.
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

    /// The fault that names what is in the way, and the later step that put it there.
    fn conflict(&self, change: &Change, path: &WsPath, why: &str) -> Fault {
        let later = self.planner.store().file_changes(change.file, None, 64).unwrap_or_default();
        let later = { later.iter() }.rfind(|(step, _)| step.seq > self.step.seq);
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
