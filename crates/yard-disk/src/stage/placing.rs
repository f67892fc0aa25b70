//! Puts staged files in their places, and takes files out of theirs. Two files change places in one
//! rename, so that there is no moment without a file and a save that comes in between is not lost.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::AtFlags;
use rustix::io::Errno;
use yard_core::{Call, ContentHash, FileId, FileKind, Result, StepId, WsPath};
use yard_store::Signature;

use super::{Stage, Staged};
use crate::beneath::{Disk, DiskCall};
use crate::content::{hash_all, read_all};
use crate::faults::{is_folder, special, write_fault};
use crate::folders::{exchange, open_file, rename_new};
use crate::stat::{EntryKind, EntryStat};

/// Larger files are hashed in pieces.
const WHOLE: u64 = 1 << 20;

/// How the name of a file ends that takes another's place, or was taken out of its own.
pub(super) const SWAPPED: &str = ".swap";

/// An entry that was taken out of its place. It is compared with what was expected there, and then
/// removed or kept.
pub struct Displaced {
    /// Its name in the staging folder.
    pub name: String,
    /// How it looks.
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
    /// Puts a staged file at a path that is expected to be free. If it is not, the two entries change places
    /// and the other one is returned.
    pub fn place_new(
        &self,
        disk: &Disk,
        staged: &mut Staged,
        path: &WsPath,
        file: FileId,
    ) -> Result<Option<Displaced>> {
        let fault = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Place).map_err(fault)?;
        let (parent, name) = disk.parent_of(path).map_err(fault)?;
        match rename_new(&self.folder, &staged.name, &parent, name.as_bytes()) {
            Ok(()) => {
                staged.placed = true;
                Ok(None)
            }
            Err(Errno::EXIST) => self.place_over(disk, staged, path, file).map(Some),
            Err(errno) => Err(fault(errno)),
        }
    }

    /// Puts a staged file in the place of another.
    ///
    /// The staged file has, or now gets, a name that says which file it replaces: an entry that a crash
    /// leaves under such a name may be a person's save, and recovery looks at it before it is removed.
    pub fn place_over(
        &self,
        disk: &Disk,
        staged: &mut Staged,
        path: &WsPath,
        file: FileId,
    ) -> Result<Displaced> {
        let fault = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Place).map_err(fault)?;
        let (parent, name) = disk.parent_of(path).map_err(fault)?;
        let name = name.as_bytes();
        if !staged.name.ends_with(SWAPPED) {
            let swap = self.swap_name(file, None);
            rustix::fs::renameat(&self.folder, &staged.name, &self.folder, &swap).map_err(fault)?;
            staged.name = swap;
        }
        match exchange(&self.folder, &staged.name, &parent, name) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => {
                return self.place_in_two(staged, parent.as_fd(), name, path, file);
            }
            Err(errno) => return Err(fault(errno)),
        }
        let stat = match self.stat(&staged.name) {
            Ok(stat) => stat,
            // Without its stat the displaced entry cannot be compared, so it goes back: a failure means that
            // nothing happened.
            Err(errno) => {
                let back = exchange(&self.folder, &staged.name, &parent, name);
                staged.placed = back.is_err();
                return Err(fault(errno));
            }
        };
        if !(stat.is(FileKind::File) || stat.is(FileKind::Link)) {
            // A folder or a special file appeared there meanwhile: it goes back.
            exchange(&self.folder, &staged.name, &parent, name).map_err(fault)?;
            return Err(match stat.kind {
                EntryKind::Special(what) => special(path, what),
                EntryKind::Known(_) => is_folder(path),
            });
        }
        staged.placed = true;
        Ok(Displaced { name: staged.name.clone(), stat })
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
        let fault = |errno| write_fault(errno, path);
        let aside = self.swap_name(file, None);
        rustix::fs::renameat(parent, name, &self.folder, &aside).map_err(fault)?;
        let placed = rename_new(&self.folder, &staged.name, parent, name);
        if let Err(errno) = placed {
            // It goes back, unless its place was taken meanwhile: then the next recovery keeps it.
            let _ = rename_new(&self.folder, &aside, parent, name);
            return Err(fault(errno));
        }
        staged.placed = true;
        let stat = self.stat(&aside).map_err(fault)?;
        Ok(Displaced { name: aside, stat })
    }

    /// Takes a file or link out of its place.
    pub fn displace(&self, disk: &Disk, path: &WsPath, file: FileId) -> Result<Displaced> {
        let fault = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Displace).map_err(fault)?;
        let (parent, name) = disk.parent_of(path).map_err(fault)?;
        let aside = self.swap_name(file, None);
        rename_new(&parent, name.as_bytes(), &self.folder, &aside).map_err(fault)?;
        match self.stat(&aside) {
            Ok(stat) => Ok(Displaced { name: aside, stat }),
            // As in `place_over`: a failure means that nothing happened.
            Err(errno) => {
                let _ = rename_new(&self.folder, &aside, &parent, name.as_bytes());
                Err(fault(errno))
            }
        }
    }

    /// Entries that a crash left under a name that says which file was being replaced.
    pub fn leftovers(&self) -> Vec<Displaced> {
        let names = self.names().unwrap_or_default();
        let swapped = names.into_iter().filter(|name| name.ends_with(SWAPPED));
        swapped
            .filter_map(|name| self.stat(&name).ok().map(|stat| Displaced { name, stat }))
            .collect()
    }

    /// Puts a displaced file back in its place, when the rest of its step failed; whether that was still
    /// free.
    pub fn put_back(&self, disk: &Disk, displaced: &Displaced, path: &WsPath) -> Result<bool> {
        let fault = |errno| write_fault(errno, path);
        let (parent, name) = disk.parent_of(path).map_err(fault)?;
        match rename_new(&self.folder, &displaced.name, &parent, name.as_bytes()) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(fault(errno)),
        }
    }

    /// Lets a displaced file and the one that replaced it change places again; whether that one, which is
    /// then removed, was still there. If it is another file by now, such as a person's save, that stays.
    pub fn swap_back(
        &self,
        disk: &Disk,
        displaced: &Displaced,
        path: &WsPath,
        placed: u64,
    ) -> Result<bool> {
        let fault = |errno| write_fault(errno, path);
        let (parent, name) = disk.parent_of(path).map_err(fault)?;
        let (from, to) = (displaced.name.as_str(), name.as_bytes());
        let swap = || exchange(&self.folder, from, &parent, to);
        match swap() {
            Ok(()) => {}
            // Without an exchange, our file cannot be told from a save of the last few microseconds.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let replaced = rustix::fs::renameat(&self.folder, from, &parent, to);
                return replaced.map(|()| true).map_err(fault);
            }
            Err(Errno::NOENT) => return self.put_back(disk, displaced, path),
            Err(errno) => return Err(fault(errno)),
        }
        if self.stat(&displaced.name).map_err(fault)?.signature.inode == placed {
            self.discard(displaced);
            return Ok(true);
        }
        swap().map(|()| false).map_err(fault)
    }

    /// The bytes of a displaced file or the target of a displaced link.
    pub fn displaced_bytes(&self, displaced: &Displaced, path: &WsPath) -> Result<Vec<u8>> {
        let fault = |errno| write_fault(errno, path);
        if displaced.stat.is(FileKind::Link) {
            let target = rustix::fs::readlinkat(&self.folder, &displaced.name, Vec::new());
            return target.map(|target| target.into_bytes()).map_err(fault);
        }
        let mut file = open_file(&self.folder, &displaced.name).map_err(fault)?;
        read_all(&mut file, displaced.stat.size(), path)
    }

    /// Its hash, however large it is.
    pub fn displaced_hash(&self, displaced: &Displaced, call: &Call) -> Result<ContentHash> {
        let path = WsPath::root();
        if displaced.stat.is(FileKind::Link) {
            return self.displaced_bytes(displaced, &path).map(|target| ContentHash::of(&target));
        }
        if displaced.stat.size() <= WHOLE {
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

    /// Removes displaced entries of these files that are still here.
    pub fn discard_displaced(&self, files: &[FileId]) {
        let theirs = |displaced: &Displaced| displaced.file().is_some_and(|id| files.contains(&id));
        self.leftovers().iter().filter(|left| theirs(left)).for_each(|left| self.discard(left));
    }
}

/// Whether what was displaced is what the plan expected, as far as metadata can tell: a rename changes
/// the change time, so that one is left out.
pub fn looks_like(expected: &Signature, found: &Signature) -> bool {
    (expected.size, expected.mtime, expected.inode) == (found.size, found.mtime, found.inode)
}
