//! What a file that takes another's place has in common with it: whose it is, its access list and its
//! attributes; and what it never has, the bits that make a program run as its owner.

use yard_core::{FileId, FileKind, FileState, Result, WsPath};
use yard_disk::SET_ID;

use super::{Current, Planner};

impl Planner<'_> {
    /// A fault where the caller could not write into a file, or would change whose it is.
    pub(crate) fn check_replaceable(&self, current: &Current) -> Result<()> {
        match current.stat.is(FileKind::File) {
            true => self.workspace.disk.check_replaceable(self.place_of(current), &current.stat),
            false => Ok(()),
        }
    }

    /// Gives the file that takes the place of `current` its access list and users' attributes.
    pub(crate) fn keep_attributes(&self, current: &Current) -> Result<()> {
        let Some(staged) = self.draft.staged.get(&current.id) else { return Ok(()) };
        if !current.stat.is(FileKind::File) || staged.stat.kind.known() != Some(FileKind::File) {
            return Ok(());
        }
        let (from, _) = self.workspace.disk.open_listed(self.place_of(current))?;
        staged.take_attributes(&from, staged.stat.mode, &current.path)
    }

    /// Where an entry is on disk before this plan, which may move it.
    fn place_of<'b>(&'b self, current: &'b Current) -> &'b WsPath {
        self.moved.get(&current.id).unwrap_or(&current.path)
    }

    /// The state that an entry can have after a change of ours: no file that is put in place runs as its
    /// owner or its group. What stays the same file, as in a move, keeps its mode.
    pub(super) fn without_set_id(&self, file: FileId, mut after: FileState) -> FileState {
        if after.kind == FileKind::File && self.draft.staged.contains_key(&file) {
            after.mode &= !SET_ID;
        }
        after
    }
}
