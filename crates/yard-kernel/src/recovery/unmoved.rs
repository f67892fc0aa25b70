//! Lost moves that recovery cannot simply repeat: of entries that another program touched, of entries whose target
//! folder another program removed, and of files whose path led through a folder that was replaced since.

use yard_core::{ContentHash, FileId, FileState, Result, WsPath};
use yard_store::Change;

use super::Recovery;

/// An entry whose lost move is not repeated: a folder that another program touched, or an entry whose target folder
/// another program removed. It stays where it is, and changes of later steps below it are repeated there.
#[derive(Clone)]
pub(super) struct UnmovedEntry {
    file: FileId,
    /// Its path on disk.
    pub(super) on_disk: WsPath,
    /// Its path after the steps that were repeated so far.
    recorded: WsPath,
    content: Option<ContentHash>,
    /// Another program touched it, so that it is never moved.
    is_touched: bool,
}

/// A file that recovery moved.
pub(super) struct MovedFile {
    pub(super) path: WsPath,
    pub(super) inode: u64,
    pub(super) content: ContentHash,
}

impl Recovery<'_> {
    /// The path on disk of an entry that the steps have at a path: another one, if the entry or a folder above it was not
    /// moved.
    pub(super) fn on_disk(&self, path: &WsPath) -> WsPath {
        let unmoved = self.unmoved.borrow();
        let above = unmoved.iter().filter(|entry| path.is_within(&entry.recorded));
        let nearest = above.max_by_key(|entry| entry.recorded.names().count());
        let on_disk = nearest.and_then(|entry| rebased(path, &entry.recorded, &entry.on_disk));
        on_disk.unwrap_or_else(|| path.clone())
    }

    /// Updates the recorded paths of unmoved entries after a change of a step.
    pub(super) fn follow(&self, change: &Change) {
        let Some(from) = change.from.as_ref().filter(|from| change.to.as_ref() != Some(from))
        else {
            return;
        };
        let mut unmoved = self.unmoved.borrow_mut();
        match &change.to {
            None => unmoved.retain(|entry| !entry.recorded.is_within(from)),
            Some(to) => {
                for entry in unmoved.iter_mut().filter(|entry| entry.recorded.is_within(from)) {
                    if let Some(path) = rebased(&entry.recorded, from, to) {
                        entry.recorded = path;
                    }
                }
            }
        }
    }

    pub(super) fn note_unmoved(
        &self,
        file: FileId,
        on_disk: &WsPath,
        recorded: &WsPath,
        state: &FileState,
        is_touched: bool,
    ) {
        let (on_disk, recorded) = (on_disk.clone(), recorded.clone());
        let entry = UnmovedEntry { file, on_disk, recorded, content: state.content, is_touched };
        self.unmoved.borrow_mut().push(entry);
    }

    /// Moves the entries whose target folder was missing to where the last of the steps has them, if that is possible.
    pub(super) fn move_unmoved(&self) -> Result<()> {
        let files: Vec<FileId> = self.unmoved.borrow().iter().map(|entry| entry.file).collect();
        for file in files {
            let entry = self.unmoved.borrow().iter().find(|entry| entry.file == file).cloned();
            let Some(entry) = entry else { continue };
            let (Some(above), Some(name)) = (entry.recorded.parent(), entry.recorded.name()) else {
                continue;
            };
            let Ok(place) = self.on_disk(&above).join(&name) else { continue };
            let is_there = self.workspace.disk.stat(&entry.on_disk)?.is_some();
            if entry.is_touched || !is_there || place.is_within(&entry.on_disk) {
                continue;
            }
            if self.workspace.disk.stat(&place)?.is_none() && self.restore_folder_of(&place)? {
                self.move_entry(file, entry.content, &entry.on_disk, &place)?;
            } else if entry.content.is_some() && self.belongs_to_another(&entry.on_disk, file)? {
                self.remove_entry(&entry.on_disk, file, entry.content)?;
                self.unmoved.borrow_mut().retain(|entry| entry.file != file);
            }
        }
        Ok(())
    }

    /// Removes files that recovery moved and that are not where the newest step has them, because a folder on their way was
    /// replaced. They are restored at their paths from the history.
    pub(super) fn remove_strays(&self) -> Result<()> {
        let moved = self.moved.take();
        for (file, MovedFile { path, inode, content }) in moved {
            let place = self.workspace.store().path_of(file)?;
            let is_restored = match place.map(|place| self.on_disk(&place)) {
                Some(place) if place == path => false,
                Some(place) => self.is_missing(file) && self.restore_folder_of(&place)?,
                None => true,
            };
            let is_there =
                self.workspace.disk.stat(&path)?.is_some_and(|now| now.signature.inode == inode);
            if is_restored && is_there {
                self.remove_entry(&path, file, Some(content))?;
            }
        }
        Ok(())
    }

    /// Whether the store has another entry at this path.
    fn belongs_to_another(&self, path: &WsPath, file: FileId) -> Result<bool> {
        let now = self.workspace.store().lookup(path)?;
        Ok(now.is_some_and(|now| now.id != file))
    }
}

/// The path of an entry after a folder above it was moved.
pub(super) fn rebased(path: &WsPath, from: &WsPath, to: &WsPath) -> Option<WsPath> {
    let mut below = path.names().skip(from.names().count());
    below.try_fold(to.clone(), |at, name| at.join(&name)).ok()
}
