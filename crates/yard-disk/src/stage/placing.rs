//! Puts staged files in place, and displaces files. One rename exchanges two files, so that the path is never without
//! a file and a save that happens in between is not lost.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::AtFlags;
use rustix::io::Errno;
use yard_core::{Call, ContentHash, FileId, FileKind, Result, Signature, StepId, WsPath};

use super::{Stage, Staged};
use crate::content::{hash_all, read_all};
use crate::disk::{Disk, DiskCall};
use crate::faults::{is_folder, special, write_fault};
use crate::folders::{exchange, names_in, open_file, rename_new};
use crate::stat::{EntryKind, EntryStat};

/// Larger files are hashed in pieces.
const MAX_LOADED_BYTES: u64 = 1 << 20;

/// The end of the name of a file that replaces another one, or was displaced.
pub(super) const SWAPPED: &str = ".swap";

/// A displaced entry. It is compared with the entry that the plan expected, and then removed or stored.
pub struct Displaced {
    /// Its name in the staging folder.
    pub name: String,
    /// Its metadata.
    pub stat: EntryStat,
}

impl Displaced {
    /// The file that it was.
    pub fn file(&self) -> Option<FileId> {
        self.part(1)?.parse().ok()
    }

    /// The step that displaced it, if its name says so.
    pub fn step(&self) -> Option<StepId> {
        self.part(2)?.parse().ok()
    }

    fn part(&self, index: usize) -> Option<&str> {
        self.name.strip_suffix(SWAPPED)?.split('.').nth(index)
    }
}

impl Stage {
    /// Puts a staged file at a path that is expected to be free. If it is not, the two entries are exchanged, and the
    /// displaced one is returned.
    pub fn place_new(
        &self,
        disk: &Disk,
        staged: &mut Staged,
        path: &WsPath,
        file: FileId,
    ) -> Result<Option<Displaced>> {
        let to_fault = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Place).map_err(to_fault)?;
        let (parent, name) = disk.parent_of(path).map_err(to_fault)?;
        match rename_new(&self.folder, &staged.entry.name, &parent, name.as_bytes()) {
            Ok(()) => {
                staged.entry.placed = true;
                Ok(None)
            }
            Err(Errno::EXIST) => self.place_over(disk, staged, path, file).map(Some),
            Err(errno) => Err(to_fault(errno)),
        }
    }

    /// Replaces a file by a staged one.
    ///
    /// The staged file has, or now gets, a name that says which file it replaces: after a crash, an entry under such a
    /// name may be a person's save, and recovery checks it before it is removed.
    pub fn place_over(
        &self,
        disk: &Disk,
        staged: &mut Staged,
        path: &WsPath,
        file: FileId,
    ) -> Result<Displaced> {
        let to_fault = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Place).map_err(to_fault)?;
        let (parent, name) = disk.parent_of(path).map_err(to_fault)?;
        let name = name.as_bytes();
        if !staged.entry.name.ends_with(SWAPPED) {
            let swap = self.swap_name(file, None);
            rustix::fs::renameat(&self.folder, &staged.entry.name, &self.folder, &swap)
                .map_err(to_fault)?;
            staged.entry.name = swap;
        }
        match exchange(&self.folder, &staged.entry.name, &parent, name) {
            // From here on the staged name is that of the other entry, which must not be removed with the staged file.
            Ok(()) => staged.entry.placed = true,
            Err(Errno::INVAL | Errno::NOSYS) => {
                return self.place_in_two(staged, parent.as_fd(), name, path, file);
            }
            Err(errno) => return Err(to_fault(errno)),
        }
        let stat = match self.stat(&staged.entry.name) {
            Ok(stat) => stat,
            // Without metadata the displaced entry cannot be compared, so the exchange is reverted: after a failure
            // nothing has changed.
            Err(errno) => {
                let back = exchange(&self.folder, &staged.entry.name, &parent, name);
                staged.entry.placed = back.is_err();
                return Err(to_fault(errno));
            }
        };
        if !(stat.is(FileKind::File) || stat.is(FileKind::Link)) {
            // A folder or a special file appeared there meanwhile: the exchange is reverted.
            exchange(&self.folder, &staged.entry.name, &parent, name).map_err(to_fault)?;
            staged.entry.placed = false;
            return Err(match stat.kind {
                EntryKind::Special(what) => special(path, what),
                EntryKind::Known(_) => is_folder(path),
            });
        }
        Ok(Displaced { name: staged.entry.name.clone(), stat })
    }

    /// The same with two renames, for a file system that cannot exchange entries.
    fn place_in_two(
        &self,
        staged: &mut Staged,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: &WsPath,
        file: FileId,
    ) -> Result<Displaced> {
        let to_fault = |errno| write_fault(errno, path);
        let swap = self.swap_name(file, None);
        rustix::fs::renameat(parent, name, &self.folder, &swap).map_err(to_fault)?;
        let placed = rename_new(&self.folder, &staged.entry.name, parent, name);
        if let Err(errno) = placed {
            // The file goes back, unless another one is at its path by now: then the next recovery stores it.
            let _ = rename_new(&self.folder, &swap, parent, name);
            return Err(to_fault(errno));
        }
        staged.entry.placed = true;
        let stat = self.stat(&swap).map_err(to_fault)?;
        Ok(Displaced { name: swap, stat })
    }

    /// Moves a file or link from its path to the staging folder.
    pub fn displace(&self, disk: &Disk, path: &WsPath, file: FileId) -> Result<Displaced> {
        let to_fault = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Displace).map_err(to_fault)?;
        let (parent, name) = disk.parent_of(path).map_err(to_fault)?;
        let swap = self.swap_name(file, None);
        rename_new(&parent, name.as_bytes(), &self.folder, &swap).map_err(to_fault)?;
        match self.stat(&swap) {
            Ok(stat) => Ok(Displaced { name: swap, stat }),
            // As in `place_over`: after a failure nothing has changed.
            Err(errno) => {
                let _ = rename_new(&self.folder, &swap, &parent, name.as_bytes());
                Err(to_fault(errno))
            }
        }
    }

    /// Entries that a crash left under a name that says which file was being replaced.
    pub fn crash_remains(&self) -> Vec<Displaced> {
        let names = names_in(&self.folder).unwrap_or_default();
        let swapped = names.into_iter().filter(|name| name.ends_with(SWAPPED));
        swapped
            .filter_map(|name| self.stat(&name).ok().map(|stat| Displaced { name, stat }))
            .collect()
    }

    /// Moves a displaced file back to its path, after the rest of its step failed; returns whether the path was still
    /// free.
    pub fn put_back(&self, disk: &Disk, displaced: &Displaced, path: &WsPath) -> Result<bool> {
        let to_fault = |errno| write_fault(errno, path);
        let (parent, name) = disk.parent_of(path).map_err(to_fault)?;
        match rename_new(&self.folder, &displaced.name, &parent, name.as_bytes()) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(to_fault(errno)),
        }
    }

    /// Exchanges a displaced file again with the one that replaced it, and removes that one; returns whether it was
    /// still there. If another file is at the path by now, such as a person's save, that file stays.
    pub fn swap_back(
        &self,
        disk: &Disk,
        displaced: &Displaced,
        path: &WsPath,
        placed: u64,
    ) -> Result<bool> {
        let to_fault = |errno| write_fault(errno, path);
        let (parent, name) = disk.parent_of(path).map_err(to_fault)?;
        let (from, to) = (displaced.name.as_str(), name.as_bytes());
        let swap = || exchange(&self.folder, from, &parent, to);
        match swap() {
            Ok(()) => {}
            // Without an exchange, a save of the last few microseconds cannot be detected.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let replaced = rustix::fs::renameat(&self.folder, from, &parent, to);
                return replaced.map(|()| true).map_err(to_fault);
            }
            Err(Errno::NOENT) => return self.put_back(disk, displaced, path),
            Err(errno) => return Err(to_fault(errno)),
        }
        if self.stat(&displaced.name).map_err(to_fault)?.signature.inode == placed {
            self.discard(displaced);
            return Ok(true);
        }
        swap().map(|()| false).map_err(to_fault)
    }

    /// The bytes of a displaced file or the target of a displaced link.
    pub fn displaced_bytes(&self, displaced: &Displaced, path: &WsPath) -> Result<Vec<u8>> {
        let to_fault = |errno| write_fault(errno, path);
        if displaced.stat.is(FileKind::Link) {
            let target = rustix::fs::readlinkat(&self.folder, &displaced.name, Vec::new());
            return target.map(|target| target.into_bytes()).map_err(to_fault);
        }
        let mut file = open_file(&self.folder, &displaced.name).map_err(to_fault)?;
        read_all(&mut file, displaced.stat.size(), path)
    }

    /// The hash of a displaced entry of any size.
    pub fn displaced_hash(&self, displaced: &Displaced, call: &Call) -> Result<ContentHash> {
        let path = WsPath::root();
        if displaced.stat.is(FileKind::Link) {
            return self.displaced_bytes(displaced, &path).map(|target| ContentHash::of(&target));
        }
        if displaced.stat.size() <= MAX_LOADED_BYTES {
            return self.displaced_bytes(displaced, &path).map(|bytes| ContentHash::of(&bytes));
        }
        let file = open_file(&self.folder, &displaced.name);
        hash_all(&mut file.map_err(|errno| write_fault(errno, &path))?, &path, call)
    }

    /// Removes a displaced file for good; its content is a version in the store.
    pub fn discard(&self, displaced: &Displaced) {
        // A leftover is removed by the next sweep.
        let _ = rustix::fs::unlinkat(&self.folder, &displaced.name, AtFlags::empty());
    }

    /// Removes the displaced entries of these files that are still in the staging folder.
    pub fn discard_displaced(&self, files: &[FileId]) {
        let theirs = |displaced: &Displaced| displaced.file().is_some_and(|id| files.contains(&id));
        self.crash_remains().iter().filter(|left| theirs(left)).for_each(|left| self.discard(left));
    }
}

/// Whether a displaced entry is the one that the plan expected, by its metadata without the change time, which a rename
/// changes.
pub fn looks_like(expected: &Signature, found: &Signature) -> bool {
    (expected.size, expected.mtime, expected.inode) == (found.size, found.mtime, found.inode)
}
