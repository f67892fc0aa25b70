//! Gives every entry that the steps touched the state that the store has: missing files and files with lost bytes are staged
//! again from the history, and lost folders are made. An entry that another program may have changed stays.

use std::collections::HashMap;

use yard_core::{FileId, FileKind, FileState, Result, WsPath};
use yard_disk::{EntryStat, Staged, StagedAttributes};
use yard_store::{FileIdentity, Placement, Seq};

use super::Recovery;
use super::recorded::{Boot, Newest};
use super::report::Report;
use crate::contents::stored_content::stage_stored;
use crate::projection::{is_half_made, remove_or_keep_displaced};
use crate::recovery::leftovers;

/// A file that is staged again and has to be put in its place.
struct Restaged {
    file: FileId,
    newest: Newest,
    path: WsPath,
    staged: Staged,
    /// The entry that it replaces, if there is one.
    replaces: Option<FileIdentity>,
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

impl Recovery<'_> {
    /// Repairs every living entry that these steps touched, folders before their entries.
    pub(super) fn repair_all(&self) -> Result<Report> {
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
            if !self.can_tell_missing() || !newest.is_identified || !self.restore_folder_of(path)? {
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

    /// Makes the folder of a path, if that was lost too. Returns whether it exists then.
    pub(super) fn restore_folder_of(&self, path: &WsPath) -> Result<bool> {
        let Some(above) = path.parent() else { return Ok(true) };
        let disk = &self.workspace.disk;
        if let Some(found) = disk.stat(&above)? {
            return Ok(found.kind.known() == Some(FileKind::Folder));
        }
        let node = self.workspace.store().lookup(&above)?;
        match node {
            Some(node) if self.is_missing(node.id) => {
                if !self.restore_folder_of(&above)? {
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
}
