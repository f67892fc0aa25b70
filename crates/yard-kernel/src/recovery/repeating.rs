//! Repeats the moves and removals of steps that may not be on disk, each where the entry that it names is still there and
//! untouched. No bytes are restored here.

use yard_core::{ContentHash, FileId, FileKind, FileState, Result, WsPath};
use yard_disk::EntryStat;
use yard_store::{Change, FileIdentity, Node, Seq, StepRow};

use super::Recovery;
use super::recorded::is_folder_as_before;
use super::unmoved::{MovedFile, rebased};
use crate::projection::remove_or_keep_displaced;

/// How long a step may take to empty a folder before it removes the folder.
const STEP_MILLIS: i64 = 2_000;

impl Recovery<'_> {
    /// Repeats a move of a step, if the entry is still where it was and untouched.
    pub(super) fn repeat_move(
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

    /// Repeats a removal of a step, if the entry is still there and untouched.
    pub(super) fn repeat_removal(
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

    /// Removes a file, whose bytes are in the history.
    pub(super) fn remove_entry(
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

    pub(super) fn move_entry(
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

    fn is_temporary(&self, found: &EntryStat) -> bool {
        self.temporary.borrow().contains_key(&found.signature.inode)
    }

    /// Removes the folders that were made only so that steps can be repeated. One at a path where the store has a folder
    /// becomes that folder.
    pub(super) fn remove_temporary_folders(&self) -> Result<()> {
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
    pub(super) fn is_state_before(
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
}

/// Whether a folder changed after a step began to remove it only because the step removed its entries first.
fn is_emptied_by(step: &StepRow, displaced: &FileIdentity, found: &FileIdentity) -> bool {
    let until = step.at.as_millis().saturating_add(STEP_MILLIS).saturating_mul(1_000_000);
    displaced.is_same_inode(found) && found.ctime <= until
}
