//! Owner, access list and extended attributes, which a file that replaces another one keeps; and the set-id bits, which it
//! never has.

use yard_core::{FileId, FileKind, FileState, Result, WsPath};
use yard_disk::SET_ID;

use super::{Current, Planner};

impl Planner<'_> {
    /// A fault if this process could not write into a file, or if replacing the file would change its owner.
    pub(crate) fn check_replaceable(&self, current: &Current) -> Result<()> {
        match current.stat.is(FileKind::File) {
            true => {
                self.workspace.disk.check_replaceable(self.path_on_disk(current), &current.stat)
            }
            false => Ok(()),
        }
    }

    /// Copies the access list and user attributes of `current` to the file that replaces it.
    pub(crate) fn copy_attributes(&self, current: &Current) -> Result<()> {
        let Some(staged) = self.draft.files.staged.get(&current.id) else { return Ok(()) };
        if !current.stat.is(FileKind::File) || staged.stat.kind.known() != Some(FileKind::File) {
            return Ok(());
        }
        let (from, _) = self.workspace.disk.open_listed(self.path_on_disk(current))?;
        staged.take_attributes(&from, staged.stat.mode, &current.path)
    }

    /// The current path of an entry, which this plan may move.
    fn path_on_disk<'b>(&'b self, current: &'b Current) -> &'b WsPath {
        self.known.moved.get(&current.id).unwrap_or(&current.path)
    }

    /// Removes the set-id bits from the state of a staged file. A file that is not replaced, as in a move, keeps its mode.
    pub(super) fn without_set_id(&self, file: FileId, mut after: FileState) -> FileState {
        if after.kind == FileKind::File && self.draft.files.staged.contains_key(&file) {
            after.mode &= !SET_ID;
        }
        after
    }
}
