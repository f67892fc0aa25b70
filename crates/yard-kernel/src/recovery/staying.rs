//! What lost moves leave where it is: entries that cannot be moved again, because somebody touched them or
//! took away where they were to go, and files whose way led through a folder that is another one by now.

use yard_core::{ContentHash, FileId, FileState, Result, WsPath};
use yard_store::Change;

use super::Recovery;

/// An entry whose lost move is not done again: a folder that somebody touched, or whatever was to go to a
/// folder that somebody took away. It stays where it is, whole: what later steps did in it is done there.
#[derive(Clone)]
pub(super) struct Staying {
    file: FileId,
    /// Where it is.
    pub(super) on_disk: WsPath,
    /// Where the steps that were looked at until now have it.
    recorded: WsPath,
    content: Option<ContentHash>,
    /// Somebody touched it: it is not moved at all.
    is_touched: bool,
}

/// A file that was moved again.
pub(super) struct Moved {
    pub(super) path: WsPath,
    pub(super) inode: u64,
    pub(super) content: ContentHash,
}

impl Recovery<'_> {
    /// Where an entry is that the steps have at a path: elsewhere, if it stays, or a folder above it.
    pub(super) fn on_disk(&self, path: &WsPath) -> WsPath {
        let staying = self.staying.borrow();
        let above = staying.iter().filter(|entry| path.is_within(&entry.recorded));
        let nearest = above.max_by_key(|entry| entry.recorded.names().count());
        let carried = nearest.and_then(|entry| carried(path, &entry.recorded, &entry.on_disk));
        carried.unwrap_or_else(|| path.clone())
    }

    /// Keeps up with where a step has the entries that stay.
    pub(super) fn follow(&self, change: &Change) {
        let Some(from) = change.from.as_ref().filter(|from| change.to.as_ref() != Some(from))
        else {
            return;
        };
        let mut staying = self.staying.borrow_mut();
        match &change.to {
            None => staying.retain(|entry| !entry.recorded.is_within(from)),
            Some(to) => {
                for entry in staying.iter_mut().filter(|entry| entry.recorded.is_within(from)) {
                    if let Some(path) = carried(&entry.recorded, from, to) {
                        entry.recorded = path;
                    }
                }
            }
        }
    }

    pub(super) fn stay(
        &self,
        file: FileId,
        on_disk: &WsPath,
        recorded: &WsPath,
        state: &FileState,
        is_touched: bool,
    ) {
        let (on_disk, recorded) = (on_disk.clone(), recorded.clone());
        let entry = Staying { file, on_disk, recorded, content: state.content, is_touched };
        self.staying.borrow_mut().push(entry);
    }

    /// Moves the entries that had nowhere to go to where the last of the steps has them, if that can be.
    pub(super) fn move_what_stays(&self) -> Result<()> {
        let files: Vec<FileId> = self.staying.borrow().iter().map(|entry| entry.file).collect();
        for file in files {
            let entry = self.staying.borrow().iter().find(|entry| entry.file == file).cloned();
            let Some(entry) = entry else { continue };
            let (Some(above), Some(name)) = (entry.recorded.parent(), entry.recorded.name()) else {
                continue;
            };
            let Ok(place) = self.on_disk(&above).join(&name) else { continue };
            let is_there = self.workspace.disk.stat(&entry.on_disk)?.is_some();
            if entry.is_touched || !is_there || place.is_within(&entry.on_disk) {
                continue;
            }
            if self.workspace.disk.stat(&place)?.is_none() && self.provide_folder_of(&place)? {
                self.move_entry(file, entry.content, &entry.on_disk, &place)?;
            } else if entry.content.is_some() && self.is_anothers(&entry.on_disk, file)? {
                self.take_away(&entry.on_disk, file, entry.content)?;
                self.staying.borrow_mut().retain(|entry| entry.file != file);
            }
        }
        Ok(())
    }

    /// Takes away the files that were moved and did not come to where the newest step has them: a folder on
    /// their way is another one by now. They come to their places from the history.
    pub(super) fn take_away_strays(&self) -> Result<()> {
        let moved = self.moved.take();
        for (file, Moved { path, inode, content }) in moved {
            let place = self.workspace.store().path_of(file)?;
            let comes_again = match place.map(|place| self.on_disk(&place)) {
                Some(place) if place == path => false,
                Some(place) => self.is_missing(file) && self.provide_folder_of(&place)?,
                None => true,
            };
            let is_there =
                self.workspace.disk.stat(&path)?.is_some_and(|now| now.signature.inode == inode);
            if comes_again && is_there {
                self.take_away(&path, file, Some(content))?;
            }
        }
        Ok(())
    }

    /// Whether another entry has this path by now.
    fn is_anothers(&self, path: &WsPath, file: FileId) -> Result<bool> {
        let now = self.workspace.store().lookup(path)?;
        Ok(now.is_some_and(|now| now.id != file))
    }
}

/// The path of an entry in a folder that went from one place to another.
pub(super) fn carried(path: &WsPath, from: &WsPath, to: &WsPath) -> Option<WsPath> {
    let mut below = path.names().skip(from.names().count());
    below.try_fold(to.clone(), |at, name| at.join(&name)).ok()
}
