//! Identities of entries before recovery began. Recovery renames entries and so changes times by which it tells a lost
//! write from the work of another program. They are noted in the store before an entry is changed: a recovery that is
//! cut off is done again with the identities that the first one found.

use std::collections::{HashMap, HashSet};

use yard_core::{ContentHash, FileId, FileKind, Result, WsPath};
use yard_disk::EntryStat;
use yard_store::{FileIdentity, RecoveryNote};

use super::recorded::Boot;
use super::unmoved::MovedFile;
use super::{Recovery, Seq};

/// The identities, by inode.
#[derive(Debug, Default)]
pub(super) struct InitialIdentities {
    found: HashMap<u64, FileIdentity>,
    /// Inodes whose identities are in the store.
    noted: HashSet<u64>,
    /// Inodes that a recovery that was cut off has noted.
    earlier: HashSet<u64>,
    /// Folders that it made only so that steps could be repeated.
    temporary: HashSet<u64>,
    /// Such a folder that it was about to make, and may have made, when it was cut off.
    about_to_make: Option<FileIdentity>,
}

/// No entry has this inode.
const NO_INODE: u64 = 0;

/// Stands for a folder that is about to be made, whose identity is not known yet.
fn placeholder(path: &WsPath) -> FileIdentity {
    let hash = ContentHash::of(path.to_string().as_bytes());
    let birth = hash.as_bytes().iter().take(8).fold(0, |all, byte| (all << 8) | i64::from(*byte));
    FileIdentity { inode: NO_INODE, birth, mtime: 0, ctime: 0 }
}

impl InitialIdentities {
    /// The identities that a recovery that was cut off has noted.
    pub(super) fn noted(notes: &[RecoveryNote]) -> Self {
        let inodes = || notes.iter().map(|note| note.found.inode);
        let temporary = || notes.iter().filter(|note| note.is_temporary).map(|note| note.found);
        Self {
            found: notes.iter().map(|note| (note.found.inode, note.found)).collect(),
            noted: inodes().collect(),
            earlier: inodes().collect(),
            temporary: temporary().map(|found| found.inode).collect(),
            about_to_make: temporary().next_back().filter(|found| found.inode == NO_INODE),
        }
    }

    /// The identity of an entry before recovery began. An inode that another program made or wrote into since has none
    /// before. The entries of a folder may have changed, because recovery changes them.
    fn of(&mut self, found: FileIdentity, is_folder: bool) -> FileIdentity {
        let inode = found.inode;
        let known = self.found.get(&inode).filter(|known| match is_folder {
            true => known.is_same_inode(&found),
            false => known.is_unwritten(&found),
        });
        if let Some(known) = known {
            return *known;
        }
        self.found.insert(inode, found);
        for inodes in [&mut self.noted, &mut self.earlier, &mut self.temporary] {
            inodes.remove(&inode);
        }
        found
    }

    /// The identities that are not in the store yet, which count as noted from now on.
    fn take_unnoted(&mut self) -> Vec<RecoveryNote> {
        let Self { found, noted, .. } = self;
        let unnoted = found.values().filter(|found| noted.insert(found.inode));
        unnoted.map(|found| RecoveryNote { found: *found, is_temporary: false }).collect()
    }
}

impl Recovery<'_> {
    /// The entry at a path, with the times that it had before recovery began.
    pub(super) fn look(&self, path: &WsPath) -> Result<Option<EntryStat>> {
        let Some(mut stat) = self.workspace.disk.stat(path)? else { return Ok(None) };
        if let Some(identity) = stat.identity {
            let mut initial = self.initial.borrow_mut();
            stat.identity = Some(initial.of(identity, stat.is(FileKind::Folder)));
            if initial.temporary.contains(&identity.inode) {
                self.temporary.borrow_mut().insert(identity.inode, path.clone());
            }
        }
        Ok(Some(stat))
    }

    /// Looks at an entry and its folder before anything is changed.
    pub(super) fn note_initial(&self, path: &WsPath) {
        for path in [Some(path.clone()), path.parent()].into_iter().flatten() {
            // A fault here comes again, and is reported then, when the entry is needed.
            let _ = self.look(&path);
        }
    }

    /// Notes entries and their folders in the store. This comes before every change of them.
    pub(super) fn note_before_changing<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p WsPath>,
    ) -> Result<()> {
        paths.into_iter().for_each(|path| self.note_initial(path));
        if self.boot == Boot::Same {
            // No time decides anything then.
            return Ok(());
        }
        let notes = self.initial.borrow_mut().take_unnoted();
        Ok(self.workspace.store().add_recovery_notes(&notes)?)
    }

    /// Notes that a folder is about to be made only so that steps can be repeated.
    pub(super) fn note_before_making(&self, path: &WsPath) -> Result<()> {
        if self.boot == Boot::Same {
            return Ok(());
        }
        let note = RecoveryNote { found: placeholder(path), is_temporary: true };
        Ok(self.workspace.store().add_recovery_notes(&[note])?)
    }

    /// Whether a recovery was cut off between making a temporary folder at this path and noting it.
    pub(super) fn is_about_to_be_noted(&self, path: &WsPath) -> bool {
        self.initial.borrow().about_to_make == Some(placeholder(path))
    }

    /// Notes a folder that was made only so that steps can be repeated.
    pub(super) fn note_temporary(&self, path: &WsPath) -> Result<()> {
        let Some(made) = self.workspace.disk.stat(path)? else { return Ok(()) };
        self.temporary.borrow_mut().insert(made.signature.inode, path.clone());
        let Some(found) = made.identity.filter(|_| self.boot == Boot::Another) else {
            return Ok(());
        };
        let mut initial = self.initial.borrow_mut();
        initial.found.insert(found.inode, found);
        initial.noted.insert(found.inode);
        let note = RecoveryNote { found, is_temporary: true };
        Ok(self.workspace.store().add_recovery_notes(&[note])?)
    }

    /// Finds the files that a recovery that was cut off has moved.
    pub(super) fn find_moved_earlier(&self) -> Result<()> {
        if self.initial.borrow().earlier.is_empty() {
            return Ok(());
        }
        let changes = self.steps.iter().flat_map(|step| &step.changes);
        for path in changes.flat_map(|change| change.from.iter().chain(&change.to)) {
            self.call.check()?;
            let Some(found) = self.look(path)? else { continue };
            let inode = found.signature.inode;
            if !self.initial.borrow().earlier.contains(&inode) {
                continue;
            }
            let Some(file) = self.file_in_lost_state(path, &found)? else { continue };
            let Some(content) = self.content_on_disk(path, &found)? else { continue };
            let moved = MovedFile { path: path.clone(), inode, content };
            self.moved.borrow_mut().entry(file).or_insert(moved);
        }
        Ok(())
    }

    /// The file that an entry is, if it is in a state that lost writes left.
    fn file_in_lost_state(&self, path: &WsPath, found: &EntryStat) -> Result<Option<FileId>> {
        let Some(identity) = found.identity else { return Ok(None) };
        for file in self.recorded.files_of(&identity) {
            if self.is_state_before(file, path, found, Seq::MAX)? {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}
