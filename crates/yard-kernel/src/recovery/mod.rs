//! Recovery: brings the disk up to the recorded steps after a crash, without reverting work of other programs.
//!
//! The steps that may not be on disk are those beyond the applied mark and, after a restart of the machine, all since
//! the last flush. Recovery tells a lost write from the work of another program **by the identity of files, never by
//! their content**. It repairs an entry only if the entry is
//!
//! - a staged file that no program has written into, with other bytes than it was given (its data was lost), or
//! - the very entry that a step displaced, untouched since (the step's rename was lost), or
//! - missing, and its step is beyond the applied mark.
//!
//! Every other entry is the work of another program: it stays, and is adopted when it is next touched. The author of a
//! step decides nothing: a change without a placement was on disk when it was recorded. A step that was rolled back and
//! the step that compensates it left nothing on disk: both are skipped.

mod initial;
pub(crate) mod leftovers;
mod open;
mod recorded;
mod unmoved;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use yard_core::{Call, ContentHash, FileId, FileKind, FileState, Result, StepId, WsPath};
use yard_store::{AuditEntry, Change, FileIdentity, Mark, Node, Placement, Seq, StepRow};

use crate::contents::stored_content::stage_stored;
use crate::projection::applied::{advance_applied_mark, flush_to};
use crate::projection::{compensated_step, is_half_made, make_folder, remove_or_keep_displaced};
use crate::workspace::Workspace;
use crate::workspace::root_identity::check_applied_mark;
use initial::InitialIdentities;
use recorded::{Boot, Newest, RecordedFiles, is_folder_as_before};
use unmoved::{MovedFile, UnmovedEntry, rebased};
use yard_disk::{EntryStat, Staged, StagedAttributes, hash_all};

/// Most paths that a report names; the others are counted.
const MAX_NAMED_PATHS: usize = 20;

/// How long a step may take to empty a folder before it removes the folder.
const STEP_MILLIS: i64 = 2_000;

/// Brings the disk up to the head of the history, and returns the head. The caller holds the workspace's lock.
pub(crate) fn recover(workspace: &Workspace, call: &Call) -> Result<Seq> {
    let head = workspace.store().head()?;
    let applied = workspace.history.locks.applied()?.unwrap_or_default();
    check_applied_mark(applied.seq, head)?;
    let boot = boot_of(applied, call);
    if boot == Boot::Same && applied.seq == head {
        return Ok(head);
    }
    let recovery = Recovery::load(workspace, call, applied, head)?;
    let report = recovery.run()?;
    leftovers::remove_recorded(workspace, &|identity| recovery.recorded.is_recorded(identity));
    if boot == Boot::Another {
        // Repaired files could be lost by the next power loss, too.
        flush_to(workspace, head, call)?;
    }
    report.record(workspace, head, call)?;
    advance_applied_mark(workspace, call)?;
    Ok(head)
}

fn boot_of(applied: Mark, call: &Call) -> Boot {
    if applied.boot == call.world().boot_id() { Boot::Same } else { Boot::Another }
}

/// What recovery restored, and what it did not restore because another program may have removed it.
#[derive(Debug, Default)]
struct Report {
    restored: usize,
    not_restored: Vec<WsPath>,
}

impl Report {
    /// Adds a row to the audit chain, if there is something to report.
    fn record(&self, workspace: &Workspace, head: Seq, call: &Call) -> Result<()> {
        let mut parts = Vec::new();
        if self.restored > 0 {
            parts.push(format!("{} put back that a crash had taken from the disk", self.restored));
        }
        if !self.not_restored.is_empty() {
            let named: Vec<String> =
                self.not_restored.iter().take(MAX_NAMED_PATHS).map(ToString::to_string).collect();
            let more = match self.not_restored.len().saturating_sub(MAX_NAMED_PATHS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let text = format!(
                "not found, and left as they are because it cannot be told who removed them: {}{more}",
                named.join(", ")
            );
            leftovers::leave_note(workspace, head, &text);
            parts.push(text);
        }
        if parts.is_empty() {
            return Ok(());
        }
        let entry = AuditEntry::by_toolyard(call.world().now(), "recover", parts.join("; "));
        Ok(workspace.store().append_audit(&entry)?)
    }
}

/// A file that is staged again and has to be put in its place.
struct Restaged {
    file: FileId,
    newest: Newest,
    path: WsPath,
    staged: Staged,
    /// The entry that it replaces, if there is one.
    replaces: Option<FileIdentity>,
}

/// A step that may not be on disk.
struct LostStep {
    row: StepRow,
    changes: Vec<Change>,
    placements: Vec<Placement>,
}

/// The steps that have to be on disk, and what is recorded of their files.
///
/// The disk may be at any point between the first of them and the last, so that none can be replayed blindly. Moves and
/// removals are repeated in order, where the entry that they name is still there and untouched. Then every entry that
/// these steps touched gets the state that the store has, at its current path.
struct Recovery<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    boot: Boot,
    /// The renames of the steps up to this one were on disk before the crash.
    applied: Seq,
    steps: Vec<LostStep>,
    recorded: RecordedFiles,
    /// Identities of entries before recovery began: recovery itself changes times.
    initial: RefCell<InitialIdentities>,
    /// Folders that were made only so that steps can be repeated: the path of each, by inode.
    temporary: RefCell<HashMap<u64, WsPath>>,
    /// Files that recovery moved, and where they are now.
    moved: RefCell<HashMap<FileId, MovedFile>>,
    /// Entries whose lost moves are not repeated.
    unmoved: RefCell<Vec<UnmovedEntry>>,
}

impl<'a> Recovery<'a> {
    fn load(workspace: &'a Workspace, call: &'a Call, applied: Mark, head: Seq) -> Result<Self> {
        let store = workspace.store();
        let boot = boot_of(applied, call);
        let from = match boot {
            Boot::Same => applied.seq,
            Boot::Another => store.flushed_mark()?.seq,
        };
        let notes = match boot {
            Boot::Same => Vec::new(),
            Boot::Another => store.recovery_notes()?,
        };
        let mut recovery = Self {
            workspace,
            call,
            boot,
            applied: applied.seq,
            steps: Vec::new(),
            recorded: RecordedFiles::default(),
            initial: RefCell::new(InitialIdentities::noted(&notes)),
            temporary: RefCell::default(),
            moved: RefCell::default(),
            unmoved: RefCell::default(),
        };
        let count = usize::try_from(head.saturating_sub(from)).unwrap_or(usize::MAX);
        let rows = store.steps(None, None, count)?;
        let compensated: HashSet<StepId> = rows.iter().filter_map(compensated_step).collect();
        for row in rows.into_iter().rev() {
            call.check()?;
            let seq = row.seq;
            let placements = store.placements(seq)?;
            if compensated_step(&row).is_some() || compensated.contains(&row.id) {
                recovery.recorded.add_rolled_back(&placements);
                continue;
            }
            let changes = store.changes(seq)?;
            for (index, change) in (0..).zip(&changes) {
                recovery.recorded.add(seq, index, change, &placements);
                for path in change.from.iter().chain(&change.to) {
                    recovery.note_initial(path);
                }
            }
            recovery.steps.push(LostStep { row, changes, placements });
        }
        Ok(recovery)
    }

    fn run(&self) -> Result<Report> {
        for LostStep { row, changes, placements } in &self.steps {
            for placement in placements {
                self.call.check()?;
                let Some(displaced) = &placement.displaced else { continue };
                let index = usize::try_from(placement.change).unwrap_or(usize::MAX);
                let Some(change) = changes.get(index) else { continue };
                match (&change.before, &change.after, &change.from, &change.to) {
                    (Some(before), None, Some(from), _) => {
                        self.remove(row, change, before, from, displaced)?;
                    }
                    (Some(before), Some(_), Some(from), Some(to)) if from != to => {
                        self.rename(row, change, before, from, to, displaced)?;
                    }
                    _ => {}
                }
            }
            changes.iter().for_each(|change| self.follow(change));
        }
        self.move_unmoved()?;
        self.find_moved_earlier()?;
        self.remove_strays()?;
        self.remove_temporary_folders()?;
        self.repair_all()
    }

    /// Repeats a move of a step, if the entry is still where it was and untouched.
    fn rename(
        &self,
        step: &StepRow,
        change: &Change,
        before: &FileState,
        from: &WsPath,
        to: &WsPath,
        displaced: &FileIdentity,
    ) -> Result<()> {
        let disk = &self.workspace.disk;
        let recorded = to;
        let (from, to) = (&self.on_disk(from), &self.on_disk(to));
        let Some(found) = self.look(from)? else { return Ok(()) };
        let Some(identity) = found.identity else { return Ok(()) };
        if found.kind.known() != Some(before.kind) || from == to {
            return Ok(());
        }
        let is_it = match before.kind {
            FileKind::Folder => {
                self.is_temporary(&found) || is_folder_as_before(displaced, &identity, self.boot)
            }
            _ => self.is_state_before(change.file, from, &found, step.seq)?,
        };
        // Its target may be inside of it, if that is a folder that is not moved.
        if !is_it || to.is_within(from) {
            if before.kind == FileKind::Folder && displaced.is_same_inode(&identity) {
                self.note_unmoved(change.file, from, recorded, before, true);
            }
            return Ok(());
        }
        let place = self.workspace.store().path_of(change.file)?;
        let is_file = before.kind != FileKind::Folder;
        if is_file && place.is_none() {
            // A later step removed it.
            return self.remove_entry(from, change.file, before.content);
        }
        let above = change.after.as_ref().map(|after| after.parent);
        let has_folder = self.make_folders_above(to, above, step.seq)?;
        let is_replaced =
            self.can_tell_missing() && self.recorded.is_replaced_after(change.file, step.seq);
        if is_file && has_folder && is_replaced {
            // The newest bytes are restored from the history.
            return self.remove_entry(from, change.file, before.content);
        }
        let is_free = disk.stat(to)?.is_none();
        if is_free && has_folder {
            return self.move_entry(change.file, before.content, from, to);
        }
        if !is_free && before.content.is_some() && self.is_missing(change.file) {
            // Another entry is there. This file is removed, and restored at its current path from the history.
            return self.remove_entry(from, change.file, before.content);
        }
        // The target folder is missing: a later step may have made it.
        self.note_unmoved(change.file, from, recorded, before, false);
        Ok(())
    }

    /// Removes a file, whose bytes are in the history.
    fn remove_entry(
        &self,
        path: &WsPath,
        file: FileId,
        content: Option<ContentHash>,
    ) -> Result<()> {
        self.note_before_changing([path])?;
        let displaced = self.workspace.stage.displace(&self.workspace.disk, path, file)?;
        remove_or_keep_displaced(self.workspace, &displaced, content);
        Ok(())
    }

    fn move_entry(
        &self,
        file: FileId,
        content: Option<ContentHash>,
        from: &WsPath,
        to: &WsPath,
    ) -> Result<()> {
        self.note_before_changing([from, to])?;
        self.workspace.disk.rename(from, to)?;
        let mut temporary = self.temporary.borrow_mut();
        let mut unmoved = self.unmoved.borrow_mut();
        let mut moved = self.moved.borrow_mut();
        let paths =
            temporary.values_mut().chain(unmoved.iter_mut().map(|entry| &mut entry.on_disk));
        let paths = paths.chain(moved.values_mut().map(|moved| &mut moved.path));
        for path in paths.filter(|path| path.is_within(from)) {
            if let Some(moved) = rebased(path, from, to) {
                *path = moved;
            }
        }
        if let (Some(content), Some(found)) = (content, self.workspace.disk.stat(to)?) {
            moved.insert(
                file,
                MovedFile { path: to.clone(), inode: found.signature.inode, content },
            );
        }
        Ok(())
    }

    /// Makes the lost folders above the target of a move, and returns whether the target's folder exists then. Later
    /// steps may move or remove these folders, and are repeated too. `folder` is the folder that the entry was in after
    /// the step. A folder that existed before the lost steps and is missing now was removed by another program.
    fn make_folders_above(&self, to: &WsPath, folder: Option<FileId>, step: Seq) -> Result<bool> {
        let Some(above) = to.parent() else { return Ok(true) };
        let (disk, store) = (&self.workspace.disk, self.workspace.store());
        if let Some(found) = disk.stat(&above)? {
            let is_folder = found.kind.known() == Some(FileKind::Folder);
            if is_folder && self.is_about_to_be_noted(&above) && disk.list(&above)?.is_empty() {
                self.note_temporary(&above)?;
            }
            return Ok(is_folder);
        }
        let Some(folder) = folder else { return Ok(false) };
        let lost_after = if self.can_tell_missing() { self.applied } else { 0 };
        if !self.recorded.is_made_between(folder, lost_after, step) {
            return Ok(false);
        }
        let outer = match self.recorded.parent_at(folder, step) {
            Some(outer) => Some(outer),
            None => store.node(folder)?.map(|node| node.last.parent),
        };
        if !self.make_folders_above(&above, outer, step)? {
            return Ok(false);
        }
        self.note_before_making(&above)?;
        self.make_folder(&above, self.workspace.folder_mode)?;
        self.note_temporary(&above)?;
        Ok(true)
    }

    fn make_folder(&self, path: &WsPath, mode: u32) -> Result<()> {
        self.note_before_changing([path])?;
        make_folder(self.workspace, path, mode)
    }

    fn remove_folder(&self, path: &WsPath) -> Result<()> {
        self.note_before_changing([path])?;
        self.workspace.disk.remove_folder(path)
    }

    fn set_folder_mode(&self, path: &WsPath, mode: u32) -> Result<()> {
        self.note_before_changing([path])?;
        self.workspace.disk.set_folder_mode(path, mode)
    }

    fn is_temporary(&self, found: &EntryStat) -> bool {
        self.temporary.borrow().contains_key(&found.signature.inode)
    }

    /// Removes the folders that were made only so that steps can be repeated. One at a path where the store has a folder
    /// becomes that folder.
    fn remove_temporary_folders(&self) -> Result<()> {
        let (disk, store) = (&self.workspace.disk, self.workspace.store());
        let mut paths: Vec<WsPath> = self.temporary.borrow().values().cloned().collect();
        paths.sort_unstable();
        for path in paths.iter().rev() {
            if !disk.stat(path)?.is_some_and(|found| self.is_temporary(&found)) {
                continue;
            }
            match store.lookup(path)? {
                Some(node) => self.set_folder_mode(path, node.last.mode)?,
                None if disk.list(path)?.is_empty() => self.remove_folder(path)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Repeats a removal of a step, if the entry is still there and untouched.
    fn remove(
        &self,
        step: &StepRow,
        change: &Change,
        before: &FileState,
        path: &WsPath,
        displaced: &FileIdentity,
    ) -> Result<()> {
        let disk = &self.workspace.disk;
        let at = &self.on_disk(path);
        let Some(found) = self.look(at)? else { return Ok(()) };
        let Some(identity) = found.identity else { return Ok(()) };
        // An entry that a later step staged at this path replaces whatever is there, so that nothing is to be done. But an
        // entry that was moved there needs the path free, and a large file is itself the version from which the later
        // step may have copied.
        let is_version =
            before.size > self.workspace.limits().load_bytes && self.can_tell_missing();
        let successor = self.workspace.store().lookup(path)?;
        // Replacing works only between two folders, or between two entries that are none.
        let is_folder = found.kind.known() == Some(FileKind::Folder);
        let replaces = |node: Node| (node.last.kind == FileKind::Folder) == is_folder;
        if successor.is_some_and(replaces) && !self.recorded.is_moved_to(path) && !is_version {
            return Ok(());
        }
        if before.kind == FileKind::Folder {
            let is_it = self.is_temporary(&found)
                || is_folder_as_before(displaced, &identity, self.boot)
                || is_emptied_by(step, displaced, &identity);
            if is_it && disk.list(at)?.is_empty() {
                self.remove_folder(at)?;
            }
            return Ok(());
        }
        if found.kind.known() == Some(FileKind::Folder)
            || !self.is_unremoved(change.file, path, at, &found, step.seq)?
        {
            return Ok(());
        }
        self.remove_entry(at, change.file, before.content)
    }

    /// Whether an entry at the path of a file is left there by lost writes of the steps up to `until`: it is that file in
    /// an earlier state, or a file that they removed from there before. `at` is its path on disk.
    fn is_unremoved(
        &self,
        file: FileId,
        path: &WsPath,
        at: &WsPath,
        found: &EntryStat,
        until: Seq,
    ) -> Result<bool> {
        let Some(identity) = found.identity else { return Ok(false) };
        if self.recorded.is_removed_from(path, &identity, self.boot, until) {
            return Ok(true);
        }
        self.is_state_before(file, at, found, until)
    }

    /// Whether an entry is a file in the state that lost writes of the steps up to `until` left: as one of them found it,
    /// or as they staged it and without its bytes.
    fn is_state_before(
        &self,
        file: FileId,
        path: &WsPath,
        found: &EntryStat,
        until: Seq,
    ) -> Result<bool> {
        let Some(identity) = found.identity else { return Ok(false) };
        if self.recorded.is_past(file, &identity, self.boot, until) {
            return Ok(true);
        }
        self.has_lost_bytes(file, path, found, until)
    }

    /// Whether an entry is a staged file that no program has written into, with other bytes than it was given.
    fn has_lost_bytes(
        &self,
        file: FileId,
        path: &WsPath,
        found: &EntryStat,
        until: Seq,
    ) -> Result<bool> {
        let Some(identity) = found.identity.filter(|_| self.boot == Boot::Another) else {
            return Ok(false);
        };
        let staged_as: Vec<_> = self.recorded.contents_of(file, &identity, until).collect();
        if staged_as.is_empty() {
            return Ok(false);
        }
        let content = self.content_on_disk(path, found)?;
        Ok(staged_as.iter().all(|staged| *staged != content))
    }

    /// Repairs every living entry that these steps touched, folders before their entries.
    fn repair_all(&self) -> Result<Report> {
        let store = self.workspace.store();
        let mut living = Vec::new();
        for (file, newest) in self.recorded.files() {
            let state = store.node(file)?.and_then(|node| node.state);
            let path = store.path_of(file)?;
            if let (Some(state), Some(path)) = (state, path) {
                living.push((self.on_disk(&path), file, state, newest));
            }
        }
        living.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut report = Report::default();
        let mut restaged = Vec::new();
        for (path, file, state, newest) in &living {
            self.call.check()?;
            if !newest.places {
                continue;
            }
            match self.repair(*file, state, path, *newest)? {
                Repair::Done => {}
                Repair::Impossible => report.not_restored.push(path.clone()),
                Repair::Restage(file) => restaged.push(*file),
            }
        }
        report.restored = restaged.len();
        self.place_all(restaged)?;
        Ok(report)
    }

    /// Repairs the entry at a path, or stages a file that repairs it.
    fn repair(
        &self,
        file: FileId,
        state: &FileState,
        path: &WsPath,
        newest: Newest,
    ) -> Result<Repair> {
        let Some(found) = self.look(path)? else {
            if newest.seq <= self.applied {
                // The entry was on disk before the crash, so another program removed it.
                return Ok(Repair::Done);
            }
            if !self.can_tell_missing() || !newest.is_identified || !self.has_folder_for(path)? {
                return Ok(Repair::Impossible);
            }
            if state.kind == FileKind::Folder {
                self.make_folder(path, state.mode)?;
                return Ok(Repair::Done);
            }
            return self.restage(file, state, path, newest, None);
        };
        if state.kind == FileKind::Folder {
            let displaced = found.identity;
            let displaced =
                displaced.is_some_and(|found| self.recorded.is_displaced(file, &found, self.boot));
            let half_made = self.boot == Boot::Same
                && newest.seq > self.applied
                && is_half_made(self.workspace, state.mode, found.mode);
            let lacks = found.kind.known() == Some(FileKind::Folder)
                && found.mode != state.mode
                && newest.lacks_mode(displaced, half_made);
            if lacks {
                self.set_folder_mode(path, state.mode)?;
            }
            return Ok(Repair::Done);
        }
        let is_leaf = matches!(found.kind.known(), Some(FileKind::File | FileKind::Link));
        match is_leaf && self.is_outdated(file, state, path, &found)? {
            true => self.restage(file, state, path, newest, Some(&found)),
            false => Ok(Repair::Done),
        }
    }

    /// Whether an entry is not what the newest step made it, because a write was lost.
    fn is_outdated(
        &self,
        file: FileId,
        state: &FileState,
        path: &WsPath,
        found: &EntryStat,
    ) -> Result<bool> {
        let Some(identity) = found.identity else { return Ok(false) };
        let (recorded, boot, any) = (&self.recorded, self.boot, Seq::MAX);
        if recorded.is_displaced(file, &identity, boot)
            || recorded.is_removed_from(path, &identity, boot, any)
        {
            let is_newest =
                recorded.contents_of(file, &identity, any).any(|content| content == state.content);
            return Ok(boot == Boot::Another || !is_newest);
        }
        if boot == Boot::Another && recorded.is_past(file, &identity, boot, any) {
            // Recovery has moved the file, or only its times were lost.
            let is_other = self.content_on_disk(path, found)? != state.content;
            return Ok(is_other || found.mode != state.mode);
        }
        if recorded.is_moved_from(path, file, &identity, boot) {
            return Ok(true);
        }
        self.has_lost_bytes(file, path, found, any)
    }

    /// Whether it is certain that a missing entry of a step beyond the applied mark was lost and not removed by another
    /// program: on a journalling file system that also holds the mark, or if the machine kept running.
    fn can_tell_missing(&self) -> bool {
        self.boot == Boot::Same || self.workspace.stage.is_beside_data()
    }

    /// Whether a living entry that is missing on disk was lost, and not removed by another program.
    fn is_missing(&self, file: FileId) -> bool {
        self.can_tell_missing()
            && self
                .recorded
                .newest(file)
                .is_some_and(|newest| newest.places && newest.seq > self.applied)
    }

    /// Whether the folder of a path exists, after making it if it was lost too.
    fn has_folder_for(&self, path: &WsPath) -> Result<bool> {
        let Some(above) = path.parent() else { return Ok(true) };
        let disk = &self.workspace.disk;
        if let Some(found) = disk.stat(&above)? {
            return Ok(found.kind.known() == Some(FileKind::Folder));
        }
        let node = self.workspace.store().lookup(&above)?;
        match node {
            Some(node) if self.is_missing(node.id) => {
                if !self.has_folder_for(&above)? {
                    return Ok(false);
                }
                self.make_folder(&above, node.last.mode).map(|()| true)
            }
            // Another program removed it, with everything in it.
            _ => Ok(false),
        }
    }

    fn restage(
        &self,
        file: FileId,
        state: &FileState,
        path: &WsPath,
        newest: Newest,
        replaces: Option<&EntryStat>,
    ) -> Result<Repair> {
        let Some(hash) = state.content else { return Ok(Repair::Done) };
        let owner = replaces.map(|stat| stat.owner);
        let attributes = StagedAttributes { mode: Some(state.mode), owner, taking: None };
        let staged = stage_stored(self.workspace, &hash, state.kind, &attributes, path, self.call)?;
        let Some(staged) = staged else { return Ok(Repair::Impossible) };
        let replaces = replaces.and_then(|stat| stat.identity);
        let path = path.clone();
        Ok(Repair::Restage(Box::new(Restaged { file, newest, path, staged, replaces })))
    }

    /// Puts files in their places. Their identities are recorded before that, so that recovery after a second crash
    /// finds them.
    fn place_all(&self, restaged: Vec<Restaged>) -> Result<()> {
        let mut by_step: HashMap<Seq, Vec<Placement>> = HashMap::new();
        for Restaged { newest, staged, .. } in &restaged {
            let (change, placed) = (newest.change, staged.stat.identity);
            let placement = Placement { change, placed, displaced: None };
            by_step.entry(newest.seq).or_default().push(placement);
        }
        for (seq, placements) in &by_step {
            self.workspace.store().add_placements(*seq, placements)?;
        }
        self.note_before_changing(restaged.iter().map(|restaged| &restaged.path))?;
        restaged.into_iter().try_for_each(|file| self.place(file))
    }

    fn place(&self, mut restaged: Restaged) -> Result<()> {
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let Restaged { file, path, staged, replaces, .. } = &mut restaged;
        let displaced = match replaces {
            None => stage.place_new(disk, staged, path, *file)?,
            Some(_) => Some(stage.place_over(disk, staged, path, *file)?),
        };
        let Some(displaced) = displaced else { return Ok(()) };
        let is_expected = replaces.is_some_and(|replaces| {
            let signature = &displaced.stat.signature;
            (replaces.inode, replaces.mtime) == (signature.inode, signature.mtime)
        });
        match is_expected {
            true => remove_or_keep_displaced(self.workspace, &displaced, None),
            // Another program saved the file since recovery looked at it.
            false => leftovers::record_save(self.workspace, self.call, *file, &displaced, path)?,
        }
        Ok(())
    }

    fn content_on_disk(&self, path: &WsPath, found: &EntryStat) -> Result<Option<ContentHash>> {
        let disk = &self.workspace.disk;
        match found.kind.known() {
            Some(FileKind::Link) => {
                disk.read_link(path).map(|target| Some(ContentHash::of(&target)))
            }
            Some(FileKind::File) => {
                let (mut file, _) = disk.open_file(path)?;
                hash_all(&mut file, path, self.call).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Whether a folder changed after a step began to remove it only because the step removed its entries first.
fn is_emptied_by(step: &StepRow, displaced: &FileIdentity, found: &FileIdentity) -> bool {
    let until = step.at.as_millis().saturating_add(STEP_MILLIS).saturating_mul(1_000_000);
    displaced.is_same_inode(found) && found.ctime <= until
}

/// The result of repairing one entry.
enum Repair {
    /// The entry is right, or belongs to another program.
    Done,
    /// The entry is missing, and cannot be restored.
    Impossible,
    /// This file has to be put in its place.
    Restage(Box<Restaged>),
}
