//! Caches of packages: the files that commands of a workspace added, for the commands after them. Each command writes
//! to layers of its own; when it is over, their files are moved here if there is room, and dropped if not. The person's
//! caches are lower layers and never changed.
//!
//! Agents made the files of a cache, so they are moved as they are, and no link is followed.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType as RawType, FlockOperation, Mode, OFlags, XattrFlags};
use rustix::io::Errno;
use yard_core::Result;

use crate::folders::{DiskResult, entries_in, open_file, open_folder, open_in_data, unusable};
use crate::opened::{MAX_DEPTH, Opened, size_of};
use crate::removal_queue::RemovalQueue;
use crate::runs::{OPAQUE, RunFolder, is_opaque};

/// The folder of all caches, in the data folder.
const FOLDER: &str = "caches";
/// The file with the size of all caches: the last count, and what was added since.
const SIZE: &str = "size";
/// The file that is locked while the caches are changed.
const LOCK: &str = "lock";

/// The package caches of one workspace.
pub struct PackageCaches {
    folder: OwnedFd,
    path: PathBuf,
    dropped: RemovalQueue,
}

/// The folders of one cache, for one run.
pub struct CacheFolders {
    /// The folder with what earlier commands added.
    pub added: PathBuf,
    /// The folder for what this command adds. It and `work` are in the folder of the run.
    pub upper: PathBuf,
    /// The scratch folder of the overlay.
    pub work: PathBuf,
}

/// The files that a run added to a cache.
pub struct CacheAddition<'a> {
    /// The folder with what earlier commands added.
    pub added: &'a Path,
    /// The folder with what the run added.
    pub upper: &'a Path,
    /// There is another layer below both: what was removed stays hidden.
    pub hides: bool,
}

/// Whether the files that a command added to the caches are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheUpdate {
    /// They are stored, if there were any.
    Kept,
    /// They are not, because the caches are full.
    NoRoom,
}

impl PackageCaches {
    /// Opens (or makes) the folder of the caches.
    pub fn open(state: &Path, dropped: &RemovalQueue) -> Result<Self> {
        let folder = open_in_data(state, FOLDER)?;
        Ok(Self { folder, path: state.join(FOLDER), dropped: dropped.clone() })
    }

    /// Makes the folders of the cache `name` for a run.
    pub fn folders(&self, run: &RunFolder, name: &str) -> Result<CacheFolders> {
        open_folder(self.folder.as_fd(), name).map_err(unusable)?;
        let make = |folder: String| {
            let made = rustix::fs::mkdirat(run.handle(), &folder, Mode::RWXU);
            made.map(|()| run.path().join(folder)).map_err(unusable)
        };
        Ok(CacheFolders {
            added: self.path.join(name),
            upper: make(format!("{FOLDER}-{name}"))?,
            work: make(format!("{FOLDER}-{name}-work"))?,
        })
    }

    /// Stores the files that a run added, if all caches together then have at most `most` bytes.
    pub fn keep(&self, additions: &[CacheAddition<'_>], most: u64) -> Result<CacheUpdate> {
        self.keep_all(additions, most).map_err(unusable)
    }

    fn keep_all(&self, additions: &[CacheAddition<'_>], most: u64) -> DiskResult<CacheUpdate> {
        let mut changed = Vec::new();
        for addition in additions {
            let upper = open_folder(rustix::fs::CWD, addition.upper.as_os_str())?;
            if !entries_in(&upper)?.is_empty() {
                changed.push((addition, upper));
            }
        }
        if changed.is_empty() {
            return Ok(CacheUpdate::Kept);
        }
        let _lock = self.lock()?;
        let mut size = match self.noted_size() {
            Some(size) => size,
            None => size_of(&self.folder)?,
        };
        let mut added = 0;
        for (_, upper) in &changed {
            // What is nested deeper would not be counted.
            self.dropped.prune(upper, MAX_DEPTH)?;
            added += size_of(upper)?;
        }
        if size + added > most {
            // A replaced file was counted twice.
            size = size_of(&self.folder)?;
            self.note_size(size)?;
        }
        if size + added > most {
            return Ok(CacheUpdate::NoRoom);
        }
        // Recorded before anything is moved, so that after a crash the caches are never larger than recorded.
        self.note_size(size + added)?;
        for (addition, upper) in changed {
            let name = addition.added.file_name().ok_or(Errno::INVAL)?;
            let under = open_folder(self.folder.as_fd(), name)?;
            let merge = Merge { caches: self, hides: addition.hides };
            merge.folder(&upper, &under)?;
        }
        Ok(CacheUpdate::Kept)
    }

    fn lock(&self) -> DiskResult<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let lock = rustix::fs::openat(&self.folder, LOCK, flags, Mode::RUSR | Mode::WUSR)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        Ok(lock)
    }

    fn noted_size(&self) -> Option<u64> {
        let file = open_file(&self.folder, SIZE).ok()?;
        let mut text = String::new();
        file.take(32).read_to_string(&mut text).ok()?;
        text.parse().ok()
    }

    fn note_size(&self, size: u64) -> DiskResult {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, SIZE, flags, Mode::RUSR | Mode::WUSR)?;
        File::from(file).write_all(size.to_string().as_bytes()).map_err(|_| Errno::IO)
    }
}

/// Merges a layer into the one below it, so that what an overlay shows stays the same.
struct Merge<'a> {
    caches: &'a PackageCaches,
    /// There is another layer below both: what was removed stays hidden.
    hides: bool,
}

impl Merge<'_> {
    fn folder(&self, upper: &OwnedFd, under: &OwnedFd) -> DiskResult {
        for (name, kind) in entries_in(upper)? {
            match (kind, kind_at(under, &name)?) {
                (RawType::Directory, Some(RawType::Directory)) => {
                    let (from, to) = (Opened::at(upper, &name)?, Opened::at(under, &name)?);
                    if is_opaque(&from.folder)? {
                        self.replace(upper, under, &name)?;
                    } else {
                        self.folder(&from.folder, &to.folder)?;
                    }
                }
                (RawType::CharacterDevice, below) if !self.hides => {
                    if below.is_some() {
                        self.remove(under, &name)?;
                    }
                }
                _ => self.replace(upper, under, &name)?,
            }
        }
        Ok(())
    }

    /// Moves an entry of the upper layer to the stored cache, replacing any entry there.
    fn replace(&self, upper: &OwnedFd, under: &OwnedFd, name: &[u8]) -> DiskResult {
        let (from, to) = (kind_at(upper, name)?, kind_at(under, name)?);
        // A rename replaces neither a folder by another entry nor another entry by a folder.
        if to.is_some() && [from, to].contains(&Some(RawType::Directory)) {
            self.remove(under, name)?;
        }
        // The replaced entry hid the entries of the person's cache, and these must stay hidden.
        if self.hides && from == Some(RawType::Directory) && to.is_some() {
            let opened = Opened::at(upper, name)?;
            rustix::fs::fsetxattr(&opened.folder, OPAQUE, b"y", XattrFlags::empty())?;
        }
        match rustix::fs::renameat(upper, name, under, name) {
            // A folder without write permission cannot be moved to another folder.
            Err(Errno::ACCESS | Errno::PERM) => {
                let _open = Opened::at(upper, name)?;
                rustix::fs::renameat(upper, name, under, name)
            }
            moved => moved,
        }
    }

    fn remove(&self, under: &OwnedFd, name: &[u8]) -> DiskResult {
        let kind = kind_at(under, name)?.ok_or(Errno::NOENT)?;
        self.caches.dropped.take_entry(under, name, kind)
    }
}

fn kind_at(folder: &OwnedFd, name: &[u8]) -> DiskResult<Option<RawType>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(RawType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::runs::Runs;

    #[test]
    fn what_is_nested_too_deep_is_dropped_from_new_folders_too() {
        let state = tempfile::tempdir().unwrap();
        let runs = Runs::open(state.path()).unwrap();
        let caches = PackageCaches::open(state.path(), runs.dropped()).unwrap();
        let (upper, added) = (state.path().join("upper"), state.path().join("caches/own"));
        let at = |folder: &Path, levels: usize| folder.join(vec!["d"; levels].join("/"));
        fs::create_dir_all(&added).unwrap();
        fs::create_dir_all(at(&upper, MAX_DEPTH + 20)).unwrap();
        fs::write(at(&upper, MAX_DEPTH - 1).join("kept"), "x").unwrap();
        fs::write(at(&upper, MAX_DEPTH + 20).join("dropped"), vec![1; 1 << 20]).unwrap();
        let addition = || [CacheAddition { added: &added, upper: &upper, hides: false }];
        // It would not fit with what is dropped.
        assert_eq!(caches.keep(&addition(), 1 << 20), Ok(CacheUpdate::Kept));
        assert!(at(&added, MAX_DEPTH - 1).join("kept").is_file());
        assert!(at(&added, MAX_DEPTH).is_dir());
        assert!(!at(&added, MAX_DEPTH + 1).exists());
        runs.settle();
    }
}
