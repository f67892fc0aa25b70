//! The workspace's directory: reads metadata, opens, lists and changes entries.
//!
//! Everything happens beneath one directory handle, the workspace's root. Callers pass only [`WsPath`]s; [`resolve`]
//! resolves links into a path without any, and every later call refuses to follow a link at all, so that a link which
//! is swapped in meanwhile is an error and not an escape. FIFOs, sockets and devices are never opened.

mod resolve;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType as RawType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use yard_core::path::RESERVED_NAME;
use yard_core::{Fault, FaultCode, FileKind, Name, Result, Subject, WsPath};
use yard_store::RootIdentity;

pub use resolve::ResolvedPath;

use crate::faults::{errno_of, is_folder, not_found, read_fault, special, write_fault};
use crate::folders::{DiskResult, read_entries, rename_new};
use crate::stat::{self, EntryKind, EntryStat};

/// How often a call that raced with a rename is repeated before it fails.
const RACES: usize = 64;

/// The kinds of call that reach the disk, for tests that let one of them fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiskCall {
    /// Opening a file or folder.
    Open,
    /// Reading metadata.
    Stat,
    /// Reading bytes.
    Read,
    /// Reading a folder.
    List,
    /// Making a staged file.
    Stage,
    /// Renaming a staged file to its path.
    Place,
    /// Renaming a file from its path to the staging folder.
    Displace,
    /// Moving within the root.
    Move,
    /// Making a folder.
    MakeFolder,
    /// Removing a folder.
    RemoveFolder,
    /// Setting times or modes.
    SetMeta,
    /// Moving the applied mark.
    Mark,
}

/// Is called before every call to the disk, and may make it fail. Only tests have one.
pub trait Probe: Send + Sync {
    /// An error becomes the result of the call.
    fn before(&self, call: DiskCall) -> io::Result<()>;
}

/// How paths are resolved beneath the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// By `openat2`, or component by component where the kernel lacks it.
    Auto,
    /// Always component by component.
    ByComponent,
}

/// One name in a folder, with its kind if the listing has it.
pub struct RawEntry {
    /// The name.
    pub name: Vec<u8>,
    /// Its kind, if the file system lists it.
    pub kind: Option<EntryKind>,
}

/// The workspace's directory.
pub struct Disk {
    pub(crate) root: OwnedFd,
    host_root: Vec<u8>,
    by_component: bool,
    probe: Option<Arc<dyn Probe>>,
}

impl Disk {
    /// Opens the directory `root`, which must exist.
    pub fn open(
        root: &Path,
        resolution: Resolution,
        probe: Option<Arc<dyn Probe>>,
    ) -> Result<Self> {
        let to_fault = |error: io::Error| {
            let message = format!("the root {} cannot be opened: {error}", root.display());
            Fault::new(FaultCode::NotFound, message).about(Subject::Path)
        };
        let canonical = root.canonicalize().map_err(to_fault)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&canonical, flags, Mode::empty())
            .map_err(|errno| to_fault(errno.into()))?;
        let by_component = resolution == Resolution::ByComponent || !has_openat2(&handle);
        let host_root = canonical.as_os_str().as_bytes().to_vec();
        Ok(Self { root: handle, host_root, by_component, probe })
    }

    /// Whether a folder of the host is inside of the root.
    pub fn holds(&self, folder: &Path) -> Result<bool> {
        let folder = folder.canonicalize().map_err(|error| {
            let message = format!("the folder {} cannot be used: {error}", folder.display());
            Fault::new(FaultCode::BadArgument, message)
        })?;
        Ok(folder.starts_with(Path::new(std::ffi::OsStr::from_bytes(&self.host_root))))
    }

    /// Another handle of the root, for a box.
    pub fn root_handle(&self) -> Result<OwnedFd> {
        self.root.try_clone().map_err(|error| {
            Fault::new(FaultCode::Io, format!("the root cannot be handed to a command: {error}"))
        })
    }

    /// Fails unless the folder that was opened is still the one at the root's path. If it was moved or replaced,
    /// answers would be about files that are not there.
    pub fn check_in_place(&self) -> Result<()> {
        let path = Path::new(std::ffi::OsStr::from_bytes(&self.host_root));
        let at_path = rustix::fs::lstat(path).map(|stat| (stat.st_dev, stat.st_ino));
        let opened = rustix::fs::fstat(&self.root).map(|stat| (stat.st_dev, stat.st_ino));
        match (at_path, opened) {
            (Ok(at_path), Ok(opened)) if at_path == opened => Ok(()),
            _ => Err(Fault::new(
                FaultCode::Unavailable,
                "the workspace's folder was moved or replaced while it was open, so nothing is done in \
                 it. Put the folder back in its place, or restart this program to work on what is there now",
            )),
        }
    }

    /// The canonical path of the root on this machine.
    pub fn host_root(&self) -> &[u8] {
        &self.host_root
    }

    pub(crate) fn probe(&self, call: DiskCall) -> DiskResult {
        match &self.probe {
            Some(probe) => probe.before(call).map_err(|error| errno_of(&error)),
            None => Ok(()),
        }
    }

    /// Metadata of the entry at a path without links, if there is one.
    pub fn stat(&self, path: &WsPath) -> Result<Option<EntryStat>> {
        self.probe(DiskCall::Stat).map_err(|errno| read_fault(errno, path))?;
        match self.open_beneath(path, OFlags::PATH | OFlags::NOFOLLOW) {
            Ok(handle) => self.stat_handle(&handle, path).map(Some),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(read_fault(errno, path)),
        }
    }

    /// The identity of the root folder.
    pub fn root_identity(&self) -> Result<RootIdentity> {
        stat::root_identity(&self.root).map_err(|errno| read_fault(errno, &WsPath::root()))
    }

    /// Reads metadata of many entries, folder by folder: the handle of a folder is opened once.
    pub fn stats(&self) -> Stats<'_> {
        Stats { disk: self, folder: None }
    }

    fn stat_handle(&self, handle: &OwnedFd, path: &WsPath) -> Result<EntryStat> {
        EntryStat::of(handle).map_err(|errno| read_fault(errno, path))
    }

    /// Opens the regular file at a path, following links; also returns the path without links.
    pub fn open_wherever(&self, path: &WsPath) -> Result<(WsPath, File, EntryStat)> {
        match self.look(path) {
            Ok(stat) if !stat.is(FileKind::Link) => {
                self.open_seen(path, &stat).map(|(file, stat)| (path.clone(), file, stat))
            }
            Ok(_) | Err(Errno::LOOP | Errno::XDEV) => match self.locate(path, true)? {
                ResolvedPath::Present { path, .. } => {
                    self.open_file(&path).map(|(file, stat)| (path, file, stat))
                }
                ResolvedPath::Missing { .. } | ResolvedPath::Blocked { .. } => Err(not_found(path)),
            },
            Err(Errno::NOTDIR) => Err(not_found(path)),
            Err(errno) => Err(read_fault(errno, path)),
        }
    }

    /// Opens a regular file for reading, at a path without links.
    pub fn open_file(&self, path: &WsPath) -> Result<(File, EntryStat)> {
        let stat = self.look(path).map_err(|errno| read_fault(errno, path))?;
        self.open_seen(path, &stat)
    }

    /// Metadata of an entry, from a handle that cannot read it.
    fn look(&self, path: &WsPath) -> DiskResult<EntryStat> {
        self.probe(DiskCall::Open)?;
        let handle = self.open_beneath(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        EntryStat::of(&handle)
    }

    /// Whether the root has an entry of that name, even if no [`WsPath`] can name it.
    pub fn has_in_root(&self, name: &str) -> bool {
        rustix::fs::statat(&self.root, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Opens a file whose metadata was just read. An entry that is no regular file is not opened; if another entry
    /// took its place meanwhile, opening does not block, and its metadata is read again.
    pub fn open_seen(&self, path: &WsPath, seen: &EntryStat) -> Result<(File, EntryStat)> {
        match seen.kind {
            EntryKind::Known(FileKind::File) => {}
            EntryKind::Known(FileKind::Folder) => return Err(is_folder(path)),
            EntryKind::Known(FileKind::Link) => return Err(read_fault(Errno::LOOP, path)),
            EntryKind::Special(what) => return Err(special(path, what)),
        }
        let opened = self.open_listed(path)?;
        self.probe(DiskCall::Read).map_err(|errno| read_fault(errno, path))?;
        Ok(opened)
    }

    /// Opens a file that a walk just listed as a regular one. If another entry took its place meanwhile, opening does
    /// not block and nothing is read.
    pub fn open_listed(&self, path: &WsPath) -> Result<(File, EntryStat)> {
        let to_fault = |errno| read_fault(errno, path);
        self.probe(DiskCall::Open).map_err(to_fault)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::NONBLOCK;
        let handle = self.open_beneath(path, flags).map_err(to_fault)?;
        let stat = self.stat_handle(&handle, path)?;
        match stat.kind {
            EntryKind::Known(FileKind::File) => Ok((File::from(handle), stat)),
            EntryKind::Special(what) => Err(special(path, what)),
            EntryKind::Known(_) => Err(is_folder(path)),
        }
    }

    /// The present metadata of an open file.
    pub fn look_again(&self, file: &File, path: &WsPath) -> Result<EntryStat> {
        EntryStat::of(file).map_err(|errno| read_fault(errno, path))
    }

    /// The target of a link, as it is written.
    pub fn read_link(&self, path: &WsPath) -> Result<Vec<u8>> {
        let handle = self
            .open_beneath(path, OFlags::PATH | OFlags::NOFOLLOW)
            .map_err(|errno| read_fault(errno, path))?;
        let target = rustix::fs::readlinkat(&handle, "", Vec::new());
        target.map(|target| target.into_bytes()).map_err(|errno| read_fault(errno, path))
    }

    /// The names in a folder, in no order, without the reserved one.
    pub fn list(&self, path: &WsPath) -> Result<Vec<RawEntry>> {
        let to_fault = |errno| read_fault(errno, path);
        self.probe(DiskCall::List).map_err(to_fault)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let entries = self.open_beneath(path, flags).and_then(read_entries).map_err(to_fault)?;
        let is_shown = |name: &[u8]| !path.is_root() || name != RESERVED_NAME.as_bytes();
        let entries = entries.into_iter().filter(|(name, _)| is_shown(name));
        let entry = |(name, raw): (Vec<u8>, RawType)| {
            let kind = (raw != RawType::Unknown).then(|| EntryKind::of(raw));
            RawEntry { name, kind }
        };
        Ok(entries.map(entry).collect())
    }

    /// A handle of the folder above a path, and the name in it, for calls that change an entry.
    pub(crate) fn parent_of(&self, path: &WsPath) -> DiskResult<(OwnedFd, Name)> {
        let (Some(parent), Some(name)) = (path.parent(), path.name()) else {
            return Err(Errno::BUSY);
        };
        let handle =
            self.open_beneath(&parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW)?;
        Ok((handle, name))
    }

    /// Makes one folder.
    pub fn make_folder(&self, path: &WsPath, mode: u32) -> Result<()> {
        let to_fault = |errno| write_fault(errno, path);
        self.probe(DiskCall::MakeFolder).map_err(to_fault)?;
        let (parent, name) = self.parent_of(path).map_err(to_fault)?;
        rustix::fs::mkdirat(&parent, name.as_bytes(), Mode::from_raw_mode(mode)).map_err(to_fault)
    }

    /// Removes one empty folder.
    pub fn remove_folder(&self, path: &WsPath) -> Result<()> {
        let to_fault = |errno| write_fault(errno, path);
        self.probe(DiskCall::RemoveFolder).map_err(to_fault)?;
        let (parent, name) = self.parent_of(path).map_err(to_fault)?;
        rustix::fs::unlinkat(&parent, name.as_bytes(), AtFlags::REMOVEDIR).map_err(to_fault)
    }

    /// Moves an entry within the root, and never replaces another one.
    pub fn rename(&self, from: &WsPath, to: &WsPath) -> Result<()> {
        let to_fault = |errno| write_fault(errno, to);
        self.probe(DiskCall::Move).map_err(to_fault)?;
        let (from_parent, from_name) = self.parent_of(from).map_err(|e| write_fault(e, from))?;
        let (to_parent, to_name) = self.parent_of(to).map_err(to_fault)?;
        rename_new(&from_parent, from_name.as_bytes(), &to_parent, to_name.as_bytes())
            .map_err(to_fault)
    }

    /// Sets a file's times to now, and its modification time to `mtime` where the system allows that.
    pub fn touch(&self, path: &WsPath, mtime: Option<i64>) -> Result<()> {
        let to_fault = |errno| write_fault(errno, path);
        self.probe(DiskCall::SetMeta).map_err(to_fault)?;
        let (parent, name) = self.parent_of(path).map_err(to_fault)?;
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let chosen = mtime.map_or(now, |nanos| rustix::fs::Timespec {
            tv_sec: nanos.div_euclid(1_000_000_000),
            tv_nsec: nanos.rem_euclid(1_000_000_000),
        });
        let set = |time| {
            let times = rustix::fs::Timestamps { last_access: now, last_modification: time };
            rustix::fs::utimensat(&parent, name.as_bytes(), &times, AtFlags::SYMLINK_NOFOLLOW)
        };
        // A user who may write into a file, but does not own it, may set its times to now only.
        match set(chosen) {
            Err(Errno::PERM | Errno::ACCESS) => set(now).map_err(to_fault),
            result => result.map_err(to_fault),
        }
    }

    /// Sets a folder's mode bits.
    pub fn set_folder_mode(&self, path: &WsPath, mode: u32) -> Result<()> {
        let to_fault = |errno| write_fault(errno, path);
        self.probe(DiskCall::SetMeta).map_err(to_fault)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let handle = self.open_beneath(path, flags).map_err(to_fault)?;
        rustix::fs::fchmod(&handle, Mode::from_raw_mode(mode)).map_err(to_fault)
    }

    /// Flushes one file or folder, at a path without links. A link is flushed with its folder.
    pub fn flush_entry(&self, path: &WsPath) -> Result<()> {
        let to_fault = |errno| write_fault(errno, path);
        let Some(stat) = self.stat(path)? else { return Err(not_found(path)) };
        let flags = match stat.kind {
            EntryKind::Known(FileKind::File) => OFlags::RDONLY | OFlags::NONBLOCK,
            EntryKind::Known(FileKind::Folder) => OFlags::RDONLY | OFlags::DIRECTORY,
            EntryKind::Known(FileKind::Link) | EntryKind::Special(_) => return Ok(()),
        };
        let handle = self.open_beneath(path, flags | OFlags::NOFOLLOW).map_err(to_fault)?;
        rustix::fs::fsync(&handle).map_err(to_fault)
    }

    /// Flushes everything that was written below the root.
    pub fn flush(&self) -> Result<()> {
        let to_fault = |errno| write_fault(errno, &WsPath::root());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let handle = self.open_beneath(&WsPath::root(), flags).map_err(to_fault)?;
        rustix::fs::syncfs(&handle).map_err(to_fault)
    }

    /// Opens the entry at a path without links; a link anywhere in it is `ELOOP`.
    pub(crate) fn open_beneath(&self, path: &WsPath, flags: OFlags) -> DiskResult<OwnedFd> {
        if self.by_component {
            return resolve::open_by_component(self.root.as_fd(), path, flags);
        }
        let relative = if path.is_root() { b".".as_slice() } else { path.relative() };
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        for _ in 0..RACES {
            match rustix::fs::openat2(&self.root, relative, flags, Mode::empty(), resolve) {
                // EAGAIN: a rename below the root happened during the lookup. EXDEV: an entry that is exchanged into
                // the staging folder during the lookup seems to be outside; no link was followed.
                Err(Errno::AGAIN | Errno::INTR | Errno::XDEV) => {}
                done => return done,
            }
        }
        Err(Errno::AGAIN)
    }
}

/// Reads metadata of many entries; entries of the same folder in a row cost one system call each.
pub struct Stats<'a> {
    disk: &'a Disk,
    folder: Option<(WsPath, OwnedFd)>,
}

impl Stats<'_> {
    /// As [`Disk::stat`].
    pub fn stat(&mut self, path: &WsPath) -> Result<Option<EntryStat>> {
        let (Some(parent), Some(name)) = (path.parent(), path.name()) else {
            return self.disk.stat(path);
        };
        self.disk.probe(DiskCall::Stat).map_err(|errno| read_fault(errno, path))?;
        if self.folder.as_ref().is_none_or(|(folder, _)| *folder != parent) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            match self.disk.open_beneath(&parent, flags) {
                Ok(handle) => self.folder = Some((parent, handle)),
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(errno) => return Err(read_fault(errno, path)),
            }
        }
        let Some((_, handle)) = &self.folder else { return Ok(None) };
        match EntryStat::at(handle, name.as_bytes()) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(read_fault(errno, path)),
        }
    }
}

fn has_openat2(root: &OwnedFd) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(root, ".", flags, Mode::empty(), ResolveFlags::BENEATH).is_ok()
}
