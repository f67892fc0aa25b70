//! Finishing what a crash left unfinished, without taking anybody's work back.
//!
//! The steps that may not be on disk are those beyond the applied mark and, once the machine was started
//! again, all since the last flush. What a lost write left is told from what somebody did **by identity,
//! never by content**. An entry is put right only if it is
//!
//! - a staged file that nobody has written into, with other bytes than it was given (its data was lost), or
//! - the very entry that a step displaced, untouched since (the step's rename was lost), or
//! - missing, and its step is beyond the applied mark.
//!
//! Everything else is somebody's work and stays; it is adopted when it is next touched. It decides nothing
//! by the author of a step: a change without a placement was on disk when it was recorded.

mod known;
mod staying;

use std::cell::RefCell;
use std::collections::HashMap;

use yard_core::{Call, ContentHash, FileId, FileKind, FileState, Result, WsPath};
use yard_store::{AuditEntry, Change, FileIdentity, Mark, Node, Placement, Seq, StepRow};

use crate::applied::{advance, flush_to};
use crate::image::image;
use crate::leftovers;
use crate::projection::{is_half_made, make_folder, retire_displaced};
use crate::workspace::Workspace;
use known::{Boot, Known, Newest, is_folder_as_before};
use staying::{Moved, Staying, carried};
use yard_disk::{EntryStat, Staged, StagedAttributes, read_all};

/// Paths that a report names; the rest is counted.
const NAMED_PATHS: usize = 20;

/// How long a step may take to remove what is in a folder before it removes the folder.
const STEP_MILLIS: i64 = 2_000;

/// Brings the disk up to the journal's head; the head. The caller holds the workspace's lock.
pub(crate) fn settle(workspace: &Workspace, call: &Call) -> Result<Seq> {
    let head = workspace.store().head()?;
    let applied = workspace.locks.applied()?.unwrap_or_default();
    crate::belonging::check_mark(applied.seq, head)?;
    let boot = boot_of(applied, call);
    if boot == Boot::Same && applied.seq == head {
        return Ok(head);
    }
    let recovery = Recovery::load(workspace, call, applied, head)?;
    let report = recovery.run()?;
    leftovers::retire_ours(workspace, &|identity| recovery.known.is_ours(identity));
    if boot == Boot::Another {
        // What was placed again could be lost again.
        flush_to(workspace, head, call)?;
    }
    report.record(workspace, head, call)?;
    advance(workspace, call)?;
    Ok(head)
}

fn boot_of(applied: Mark, call: &Call) -> Boot {
    match applied.boot == call.world().boot_id() {
        true => Boot::Same,
        false => Boot::Another,
    }
}

/// What recovery did, and what it left alone because nobody can tell whose it is.
#[derive(Debug, Default)]
struct Report {
    placed: usize,
    not_found: Vec<WsPath>,
}

impl Report {
    /// Leaves a row in the audit chain where there is something to tell.
    fn record(&self, workspace: &Workspace, head: Seq, call: &Call) -> Result<()> {
        let mut said = Vec::new();
        if self.placed > 0 {
            said.push(format!("{} put back that a crash had taken from the disk", self.placed));
        }
        if !self.not_found.is_empty() {
            let named: Vec<String> =
                self.not_found.iter().take(NAMED_PATHS).map(ToString::to_string).collect();
            let more = match self.not_found.len().saturating_sub(NAMED_PATHS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let words = format!(
                "not found, and left as they are because it cannot be told who removed them: {}{more}",
                named.join(", ")
            );
            leftovers::leave_note(workspace, head, &words);
            said.push(words);
        }
        if said.is_empty() {
            return Ok(());
        }
        let entry = AuditEntry::by_toolyard(call.world().now(), "recover", said.join("; "));
        Ok(workspace.store().append_audit(&entry)?)
    }
}

/// A file that is to be put in its place again.
struct Again {
    file: FileId,
    newest: Newest,
    path: WsPath,
    staged: Staged,
    /// What is there now, if anything is.
    over: Option<FileIdentity>,
}

/// The steps that have to be on disk, and what they know of their files.
///
/// The disk may be anywhere between the first of them and the last, so that none is replayed blindly. Moves
/// and removals happen, in order, where the entry that they name is still there and untouched; then every
/// entry that these steps touched gets the state that the store knows, at its place of today.
struct Recovery<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    boot: Boot,
    /// The steps up to this one were renamed into place for good.
    applied: Seq,
    steps: Vec<(StepRow, Vec<Change>, Vec<Placement>)>,
    known: Known,
    /// Entries as they were before recovery touched anything, by inode: it changes times itself.
    untouched: RefCell<HashMap<u64, FileIdentity>>,
    /// Folders that were made only so that steps can be done again, by inode, and where they are.
    passing: RefCell<HashMap<u64, WsPath>>,
    /// Files that were moved, and where they are now.
    moved: RefCell<HashMap<FileId, Moved>>,
    /// Entries whose lost moves are not done again.
    staying: RefCell<Vec<Staying>>,
}

impl<'a> Recovery<'a> {
    fn load(workspace: &'a Workspace, call: &'a Call, applied: Mark, head: Seq) -> Result<Self> {
        let store = workspace.store();
        let boot = boot_of(applied, call);
        let from = match boot {
            Boot::Same => applied.seq,
            Boot::Another => store.projected()?.seq,
        };
        let (steps, known) = (Vec::new(), Known::default());
        let (untouched, passing, moved, staying) = Default::default();
        let applied = applied.seq;
        let mut recovery = Self {
            workspace,
            call,
            boot,
            applied,
            steps,
            known,
            untouched,
            passing,
            moved,
            staying,
        };
        let count = usize::try_from(head.saturating_sub(from)).unwrap_or(usize::MAX);
        for row in store.steps(None, None, count)?.into_iter().rev() {
            call.check()?;
            let seq = row.seq;
            let changes = store.changes(seq)?;
            let placements = store.placements(seq)?;
            for (index, change) in (0..).zip(&changes) {
                recovery.known.add(seq, index, change, &placements);
                for path in change.from.iter().chain(&change.to) {
                    recovery.remember(path);
                }
            }
            recovery.steps.push((row, changes, placements));
        }
        Ok(recovery)
    }

    /// Notes how an entry and its folder look before anything is changed.
    fn remember(&self, path: &WsPath) {
        for path in [Some(path.clone()), path.parent()].into_iter().flatten() {
            // What cannot be looked at now is looked at, and reported, when it is needed.
            let _ = self.look(&path);
        }
    }

    /// What is at a path, with the times that it had before recovery began.
    fn look(&self, path: &WsPath) -> Result<Option<EntryStat>> {
        let Some(mut stat) = self.workspace.disk.stat(path)? else { return Ok(None) };
        if let Some(identity) = stat.identity {
            let mut untouched = self.untouched.borrow_mut();
            stat.identity = Some(*untouched.entry(stat.signature.inode).or_insert(identity));
        }
        Ok(Some(stat))
    }

    fn run(&self) -> Result<Report> {
        for (row, changes, placements) in &self.steps {
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
        self.move_what_stays()?;
        self.take_away_strays()?;
        self.end_passing()?;
        self.provide_all()
    }

    /// Moves what a step moved, if it is still where it was and nobody has touched it.
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
                self.is_passing(&found) || is_folder_as_before(displaced, &identity, self.boot)
            }
            _ => self.is_left_of(change.file, from, &found, step.seq)?,
        };
        // Where it was to go may be a folder that stays within this one.
        if !is_it || to.is_within(from) {
            if before.kind == FileKind::Folder && displaced.is_same_inode(&identity) {
                self.stay(change.file, from, recorded, before, true);
            }
            return Ok(());
        }
        let place = self.workspace.store().path_of(change.file)?;
        let is_file = before.kind != FileKind::Folder;
        if is_file && place.is_none() {
            // A later step removed it.
            return self.take_away(from, change.file, before.content);
        }
        let above = change.after.as_ref().map(|after| after.parent);
        let has_way = self.make_way(to, above, step.seq)?;
        let is_replaced =
            self.can_tell_missing() && self.known.is_replaced_after(change.file, step.seq);
        if is_file && has_way && is_replaced {
            // The newest bytes come from the history.
            return self.take_away(from, change.file, before.content);
        }
        let is_free = disk.stat(to)?.is_none();
        if is_free && has_way {
            return self.move_entry(change.file, before.content, from, to);
        }
        if !is_free && before.content.is_some() && self.is_missing(change.file) {
            // Something else is there. It goes, and comes to its place of today from the history.
            return self.take_away(from, change.file, before.content);
        }
        // There is no such folder: it may have a place when all steps are looked at.
        self.stay(change.file, from, recorded, before, false);
        Ok(())
    }

    /// Takes a file from its place. Its bytes are in the history.
    fn take_away(&self, path: &WsPath, file: FileId, content: Option<ContentHash>) -> Result<()> {
        let displaced = self.workspace.stage.displace(&self.workspace.disk, path, file)?;
        retire_displaced(self.workspace, &displaced, content);
        Ok(())
    }

    fn move_entry(
        &self,
        file: FileId,
        content: Option<ContentHash>,
        from: &WsPath,
        to: &WsPath,
    ) -> Result<()> {
        self.workspace.disk.rename(from, to)?;
        let mut passing = self.passing.borrow_mut();
        let mut staying = self.staying.borrow_mut();
        let mut moved = self.moved.borrow_mut();
        let paths = passing.values_mut().chain(staying.iter_mut().map(|entry| &mut entry.on_disk));
        let paths = paths.chain(moved.values_mut().map(|moved| &mut moved.path));
        for path in paths.filter(|path| path.is_within(from)) {
            if let Some(moved) = carried(path, from, to) {
                *path = moved;
            }
        }
        if let (Some(content), Some(found)) = (content, self.workspace.disk.stat(to)?) {
            moved.insert(file, Moved { path: to.clone(), inode: found.signature.inode, content });
        }
        Ok(())
    }

    /// Makes the folders above an entry's next place that were lost: later steps may move or remove them, and
    /// will be done again. `folder` is the one that the entry was in after the step. One that was there
    /// before the lost steps and is not there now was removed by somebody.
    fn make_way(&self, to: &WsPath, folder: Option<FileId>, step: Seq) -> Result<bool> {
        let Some(above) = to.parent() else { return Ok(true) };
        let (disk, store) = (&self.workspace.disk, self.workspace.store());
        if let Some(found) = disk.stat(&above)? {
            return Ok(found.kind.known() == Some(FileKind::Folder));
        }
        let Some(folder) = folder else { return Ok(false) };
        let lost_after = if self.can_tell_missing() { self.applied } else { 0 };
        if !self.known.is_made_between(folder, lost_after, step) {
            return Ok(false);
        }
        let outer = match self.known.parent_at(folder, step) {
            Some(outer) => Some(outer),
            None => store.node(folder)?.map(|node| node.last.parent),
        };
        if !self.make_way(&above, outer, step)? {
            return Ok(false);
        }
        make_folder(self.workspace, &above, self.workspace.folder_mode)?;
        if let Some(made) = disk.stat(&above)? {
            self.passing.borrow_mut().insert(made.signature.inode, above);
        }
        Ok(true)
    }

    fn is_passing(&self, found: &EntryStat) -> bool {
        self.passing.borrow().contains_key(&found.signature.inode)
    }

    /// Removes the folders that were made only for the time of doing steps again. One that has come to where
    /// a folder is to be is that folder.
    fn end_passing(&self) -> Result<()> {
        let (disk, store) = (&self.workspace.disk, self.workspace.store());
        let mut paths: Vec<WsPath> = self.passing.borrow().values().cloned().collect();
        paths.sort_unstable();
        for path in paths.iter().rev() {
            if !disk.stat(path)?.is_some_and(|found| self.is_passing(&found)) {
                continue;
            }
            match store.lookup(path)? {
                Some(node) => disk.set_folder_mode(path, node.last.mode)?,
                None if disk.list(path)?.is_empty() => disk.remove_folder(path)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Removes what a step removed, if it is still there and nobody has touched it.
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
        // Where a later step staged another entry, that one takes the place of whatever is there. One that
        // was moved there needs its place free; and a large file is the version itself, from which the later
        // step may have its copy.
        let is_version =
            before.size > self.workspace.limits().load_bytes && self.can_tell_missing();
        let heir = self.workspace.store().lookup(path)?;
        // A folder never takes a file's place by itself, nor a file a folder's.
        let is_folder = found.kind.known() == Some(FileKind::Folder);
        let takes_place = |heir: Node| (heir.last.kind == FileKind::Folder) == is_folder;
        if heir.is_some_and(takes_place) && !self.known.is_moved_to(path) && !is_version {
            return Ok(());
        }
        if before.kind == FileKind::Folder {
            let is_it = self.is_passing(&found)
                || is_folder_as_before(displaced, &identity, self.boot)
                || is_emptied_by(step, displaced, &identity);
            if is_it && disk.list(at)?.is_empty() {
                disk.remove_folder(at)?;
            }
            return Ok(());
        }
        if found.kind.known() == Some(FileKind::Folder)
            || !self.is_lost(change.file, path, at, &found, step.seq)?
        {
            return Ok(());
        }
        self.take_away(at, change.file, before.content)
    }

    /// Whether an entry is what lost writes of the steps up to `until` left at the path of a file: of that
    /// file, or of one that they removed from there before. `at` is where it is on disk.
    fn is_lost(
        &self,
        file: FileId,
        path: &WsPath,
        at: &WsPath,
        found: &EntryStat,
        until: Seq,
    ) -> Result<bool> {
        let Some(identity) = found.identity else { return Ok(false) };
        if self.known.is_removed_from(path, &identity, self.boot, until) {
            return Ok(true);
        }
        self.is_left_of(file, at, found, until)
    }

    /// Whether an entry is what lost writes of the steps up to `until` left of a file itself: it is as one of
    /// them found it, or as they staged it and without its bytes.
    fn is_left_of(
        &self,
        file: FileId,
        path: &WsPath,
        found: &EntryStat,
        until: Seq,
    ) -> Result<bool> {
        let Some(identity) = found.identity else { return Ok(false) };
        if self.known.is_past(file, &identity, self.boot, until) {
            return Ok(true);
        }
        self.has_lost_bytes(file, path, found, until)
    }

    /// Whether an entry is a staged file that nobody has written into, and holds other bytes than it was
    /// given.
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
        let staged_as: Vec<_> = self.known.contents_of(file, &identity, until).collect();
        if staged_as.is_empty() {
            return Ok(false);
        }
        let content = self.content_on_disk(path, found)?;
        Ok(staged_as.iter().all(|staged| *staged != content))
    }

    /// Gives every living entry that these steps touched its state, folders before what is in them.
    fn provide_all(&self) -> Result<Report> {
        let store = self.workspace.store();
        let mut living = Vec::new();
        for (file, newest) in self.known.files() {
            let state = store.node(file)?.and_then(|node| node.state);
            let path = store.path_of(file)?;
            if let (Some(state), Some(path)) = (state, path) {
                living.push((self.on_disk(&path), file, state, newest));
            }
        }
        living.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut report = Report::default();
        let mut again = Vec::new();
        for (path, file, state, newest) in &living {
            self.call.check()?;
            if !newest.places {
                continue;
            }
            match self.provide(*file, state, path, *newest)? {
                Provided::Nothing => {}
                Provided::NotFound => report.not_found.push(path.clone()),
                Provided::Again(found) => again.push(*found),
            }
        }
        report.placed = again.len();
        self.place_again(again)?;
        Ok(report)
    }

    /// What has to be done so that a path holds what the steps put there.
    fn provide(
        &self,
        file: FileId,
        state: &FileState,
        path: &WsPath,
        newest: Newest,
    ) -> Result<Provided> {
        let disk = &self.workspace.disk;
        let Some(found) = self.look(path)? else {
            if newest.seq <= self.applied {
                // It was there, so somebody removed it.
                return Ok(Provided::Nothing);
            }
            if !self.can_tell_missing() || !newest.is_identified || !self.provide_folder_of(path)? {
                return Ok(Provided::NotFound);
            }
            if state.kind == FileKind::Folder {
                make_folder(self.workspace, path, state.mode)?;
                return Ok(Provided::Nothing);
            }
            return self.stage_again(file, state, path, newest, None);
        };
        if state.kind == FileKind::Folder {
            let displaced = found.identity;
            let displaced =
                displaced.is_some_and(|found| self.known.is_displaced(file, &found, self.boot));
            let half_made = self.boot == Boot::Same
                && newest.seq > self.applied
                && is_half_made(self.workspace, state.mode, found.mode);
            let lacks = found.kind.known() == Some(FileKind::Folder)
                && found.mode != state.mode
                && newest.lacks_mode(displaced, half_made);
            if lacks {
                disk.set_folder_mode(path, state.mode)?;
            }
            return Ok(Provided::Nothing);
        }
        let is_leaf = matches!(found.kind.known(), Some(FileKind::File | FileKind::Link));
        match is_leaf && self.is_outdated(file, state, path, &found)? {
            true => self.stage_again(file, state, path, newest, Some(&found)),
            false => Ok(Provided::Nothing),
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
        let (known, boot, any) = (&self.known, self.boot, Seq::MAX);
        if known.is_displaced(file, &identity, boot)
            || known.is_removed_from(path, &identity, boot, any)
        {
            let is_newest =
                known.contents_of(file, &identity, any).any(|content| content == state.content);
            return Ok(boot == Boot::Another || !is_newest);
        }
        if boot == Boot::Another && known.is_past(file, &identity, boot, any) {
            // Recovery has moved it, or only its times were lost.
            let is_other = self.content_on_disk(path, found)? != state.content;
            return Ok(is_other || found.mode != state.mode);
        }
        if known.is_moved_from(path, file, &identity, boot) {
            return Ok(true);
        }
        self.has_lost_bytes(file, path, found, any)
    }

    /// Whether a missing entry of a step beyond the applied mark was never put there, or lost: on a
    /// journalling file system that holds the mark too, or while the machine kept running.
    fn can_tell_missing(&self) -> bool {
        self.boot == Boot::Same || self.workspace.stage.is_beside_data()
    }

    /// Whether a living entry that is not there was never put there, or lost: nobody removed it.
    fn is_missing(&self, file: FileId) -> bool {
        self.can_tell_missing()
            && self
                .known
                .newest(file)
                .is_some_and(|newest| newest.places && newest.seq > self.applied)
    }

    /// Whether the folder of a path is there, made if it was lost too.
    fn provide_folder_of(&self, path: &WsPath) -> Result<bool> {
        let Some(above) = path.parent() else { return Ok(true) };
        let disk = &self.workspace.disk;
        if let Some(found) = disk.stat(&above)? {
            return Ok(found.kind.known() == Some(FileKind::Folder));
        }
        let node = self.workspace.store().lookup(&above)?;
        match node {
            Some(node) if self.is_missing(node.id) => {
                if !self.provide_folder_of(&above)? {
                    return Ok(false);
                }
                make_folder(self.workspace, &above, node.last.mode).map(|()| true)
            }
            // Somebody removed it, with whatever was in it.
            _ => Ok(false),
        }
    }

    fn stage_again(
        &self,
        file: FileId,
        state: &FileState,
        path: &WsPath,
        newest: Newest,
        over: Option<&EntryStat>,
    ) -> Result<Provided> {
        let Some(hash) = state.content else { return Ok(Provided::Nothing) };
        let owner = over.map(|stat| stat.owner);
        let shape = StagedAttributes { mode: Some(state.mode), owner, taking: None };
        let staged = image(self.workspace, &hash, state.kind, &shape, path)?;
        let Some(staged) = staged else { return Ok(Provided::NotFound) };
        let over = over.and_then(|stat| stat.identity);
        let path = path.clone();
        Ok(Provided::Again(Box::new(Again { file, newest, path, staged, over })))
    }

    /// Puts files in their places. The new staged files become known before they are placed, so that a
    /// second crash finds what it may have lost.
    fn place_again(&self, again: Vec<Again>) -> Result<()> {
        let mut by_step: HashMap<Seq, Vec<Placement>> = HashMap::new();
        for Again { newest, staged, .. } in &again {
            let (change, placed) = (newest.change, staged.stat.identity);
            let placement = Placement { change, placed, displaced: None };
            by_step.entry(newest.seq).or_default().push(placement);
        }
        for (seq, placements) in &by_step {
            self.workspace.store().add_placements(*seq, placements)?;
        }
        again.into_iter().try_for_each(|again| self.place(again))
    }

    fn place(&self, mut again: Again) -> Result<()> {
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let Again { file, path, staged, over, .. } = &mut again;
        let displaced = match over {
            None => stage.place_new(disk, staged, path, *file)?,
            Some(_) => Some(stage.place_over(disk, staged, path, *file)?),
        };
        let Some(displaced) = displaced else { return Ok(()) };
        let is_expected = over.is_some_and(|over| {
            let signature = &displaced.stat.signature;
            (over.inode, over.mtime) == (signature.inode, signature.mtime)
        });
        match is_expected {
            true => retire_displaced(self.workspace, &displaced, None),
            // Somebody saved between the look and now.
            false => leftovers::keep_save(self.workspace, self.call, *file, &displaced, path)?,
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
                let (mut file, stat) = disk.open_file(path)?;
                if stat.size() > self.workspace.limits().load_bytes {
                    return yard_disk::hash_all(&mut file, path, self.call).map(Some);
                }
                read_all(&mut file, stat.size(), path).map(|bytes| Some(ContentHash::of(&bytes)))
            }
            _ => Ok(None),
        }
    }
}

/// Whether a folder is newer than when a step began to remove it only because the step removed what was in
/// it first.
fn is_emptied_by(step: &StepRow, displaced: &FileIdentity, found: &FileIdentity) -> bool {
    let until = step.at.as_millis().saturating_add(STEP_MILLIS).saturating_mul(1_000_000);
    displaced.is_same_inode(found) && found.ctime <= until
}

/// What has to be done for one entry.
enum Provided {
    Nothing,
    NotFound,
    Again(Box<Again>),
}
