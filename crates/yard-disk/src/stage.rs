//! Where changes are made ready and where displaced files go: a folder on the root's own file system,
//! so that putting a file in its place is one rename. It is in the data folder when that is on the same
//! file system, else under the reserved name inside the root.

mod aside;
mod whole;

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, StatxFlags, Uid};
use rustix::io::Errno;
use yard_core::path::RESERVED_NAME;
use yard_core::{
    Call, ContentHash, Fault, FaultCode, FileId, FileKind, Result, StepId, Subject, WsPath,
};
use yard_store::{Retention, Signature};

use crate::apart::open_apart;
use crate::beneath::{Disk, DiskCall};
use crate::content::{hash_all, read_all};
use crate::faults::{is_folder, special, stage_fault, write_fault};
use crate::folders::{names_in, open_folder, rename_new};
use crate::identity::EntryStat;
use crate::kept_name::retention_of;
use crate::stat::{EntryKind, SET_ID, Stat};
use crate::{capabilities, holes};

/// Larger files are hashed in pieces.
const WHOLE: u64 = 1 << 20;

/// How the name of a file ends that takes another's place, or was taken out of its own.
const SWAPPED: &str = ".swap";

/// The staging folder and, in it, the folder of whole files that are kept as versions.
pub struct Stage {
    pub(super) folder: OwnedFd,
    kept: OwnedFd,
    device: (u32, u32),
    prefix: String,
    next: AtomicU64,
    /// Something is kept that may go for room.
    spares: AtomicBool,
    /// Some of it came since somebody looked.
    new_spares: AtomicBool,
    /// Entries that a crash left and that could not be put right.
    aside: OwnedFd,
    /// The data folder is on the root's file system.
    beside_data: bool,
    /// Kept files that were found to be whole, and how they looked.
    whole: Mutex<HashMap<String, Signature>>,
}

/// A file or link that is ready to be put in its place. Dropped before that, it is removed.
pub struct Staged {
    stage: Arc<Stage>,
    name: String,
    /// How it looks.
    pub stat: EntryStat,
    placed: bool,
}

/// What was taken out of its place: looked at, then removed or kept.
pub struct Displaced {
    /// Its name in the staging folder.
    pub name: String,
    /// How it looks.
    pub stat: Stat,
}

impl Displaced {
    /// Whose place it had.
    pub fn file(&self) -> Option<FileId> {
        self.part(1)?.parse().ok()
    }

    /// The step that it was staged for, if its name says so.
    pub fn step(&self) -> Option<StepId> {
        self.part(2)?.parse().ok()
    }

    fn part(&self, index: usize) -> Option<&str> {
        self.name.strip_suffix(SWAPPED)?.split('.').nth(index)
    }
}

/// The file whose place a staged one shall take, and the step that does it.
#[derive(Clone, Copy, Debug)]
pub struct Taking {
    /// The file.
    pub file: FileId,
    /// The step.
    pub step: StepId,
}

/// What a staged file shall be.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its mode; `None` is what a new file gets here.
    pub mode: Option<u32>,
    /// Owner and group of the file that it replaces.
    pub owner: Option<(u32, u32)>,
    /// Whose place it takes, where that is known: it then gets at once the name under which what it
    /// displaces is found again after a crash.
    pub taking: Option<Taking>,
}

impl Stage {
    /// Opens (or makes) the staging folder of a workspace.
    pub fn open(disk: &Disk, state: &Path, unique: u128) -> Result<Self> {
        let told = |errno: Errno| {
            Fault::new(FaultCode::Io, format!("the staging folder cannot be used: {errno}"))
        };
        let data = open_folder(rustix::fs::CWD, state.as_os_str()).map_err(told)?;
        let beside_data = same_mount(&data, &disk.root).map_err(told)?;
        let home = if beside_data {
            data
        } else {
            match open_folder(disk.root.as_fd(), RESERVED_NAME) {
                // Nothing can be changed in such a root, and so nothing is staged for it: it can still
                // be read.
                Err(Errno::ROFS | Errno::ACCESS | Errno::PERM) => data,
                opened => opened.map_err(told)?,
            }
        };
        let folder = open_apart(home.as_fd(), "stage").map_err(told)?;
        let kept = open_folder(home.as_fd(), "kept").map_err(told)?;
        let aside = open_folder(home.as_fd(), "leftovers").map_err(told)?;
        let device = EntryStat::of(&folder).map_err(told)?.device;
        let prefix = format!("{unique:032x}");
        let is_evictable = |name: &String| retention_of(name) == Retention::Evictable;
        let spares = names_in(&kept).unwrap_or_default().iter().any(is_evictable);
        let new_spares = AtomicBool::new(spares);
        let (next, spares) = (AtomicU64::new(0), AtomicBool::new(spares));
        let whole = Mutex::default();
        Ok(Self {
            folder,
            kept,
            device,
            prefix,
            next,
            spares,
            new_spares,
            aside,
            beside_data,
            whole,
        })
    }

    /// Whether the data folder is on the root's file system, so that both make renames durable in one order.
    pub fn is_beside_data(&self) -> bool {
        self.beside_data
    }

    /// Whether a folder is on the stage's own file system.
    pub(super) fn is_beside(&self, folder: &OwnedFd) -> std::result::Result<bool, Errno> {
        Ok(EntryStat::of(folder)?.device == self.device)
    }

    /// A fault if entries of that folder could not be changed by this process.
    pub fn check_writable(&self, disk: &Disk, folder: &WsPath) -> Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let told = |errno| write_fault(errno, folder);
        let handle = disk.open_beneath(folder, flags).map_err(told)?;
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::accessat(&handle, ".", access, AtFlags::EACCESS).map_err(told)?;
        if self.is_beside(&handle).map_err(told)? {
            return Ok(());
        }
        let message = format!(
            "{folder} is on another file system than the workspace's root, where changes cannot be made durable"
        );
        Err(Fault::new(FaultCode::Unavailable, message).about(Subject::Path))
    }

    pub(super) fn fresh_name(&self) -> String {
        format!("{}-{}", self.prefix, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The name of a file that takes `file`'s place, or was taken out of it: what a crash leaves under
    /// it is found by [`Stage::leftovers`] and read by [`Displaced::file`] and [`Displaced::step`].
    fn swap_name(&self, file: FileId, step: Option<StepId>) -> String {
        let step = step.map_or_else(String::new, |step| format!(".{step}"));
        format!("{}.{file}{step}{SWAPPED}", self.fresh_name())
    }

    /// Removes what crashed processes left. The caller made sure that no other process is alive.
    pub fn sweep(&self) {
        // What cannot be removed now is in nobody's way, and the next sweep tries again.
        let _ = self.try_sweep();
    }

    fn try_sweep(&self) -> std::result::Result<(), Errno> {
        for name in self.names()? {
            if rustix::fs::unlinkat(&self.folder, &name, AtFlags::empty()) == Err(Errno::ISDIR) {
                rustix::fs::unlinkat(&self.folder, &name, AtFlags::REMOVEDIR)?;
            }
        }
        Ok(())
    }

    /// Writes a file that can be put in its place later.
    pub fn file(
        self: &Arc<Self>,
        disk: &Disk,
        bytes: &[u8],
        shape: &Shape,
        path: &WsPath,
    ) -> Result<Staged> {
        let told = |errno| stage_fault(errno, path);
        disk.probe(DiskCall::Stage).map_err(told)?;
        let name = match shape.taking {
            Some(Taking { file, step }) => self.swap_name(file, Some(step)),
            None => self.fresh_name(),
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.folder, &name, flags, Mode::from_raw_mode(0o666))
            .map_err(told)?;
        let guard = Unfinished { stage: Arc::clone(self), name: Some(name) };
        let mut file = File::from(handle);
        file.write_all(bytes).map_err(|error| told(errno_of(&error)))?;
        let stat = self.dress(&file, shape).map_err(told)?;
        Ok(guard.finish(stat))
    }

    /// Gives a staged file its owner and mode, where it does not have them; how it looks then. No file
    /// that we put in place runs as its owner or its group.
    fn dress(&self, file: &File, shape: &Shape) -> std::result::Result<EntryStat, Errno> {
        let stat = EntryStat::of(file)?;
        let chown = shape.owner.filter(|owner| *owner != stat.owner);
        if let Some((user, group)) = chown {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            match rustix::fs::fchown(file, Some(user), Some(group)) {
                // R5: owner and group stay "where the process may set them".
                Ok(()) | Err(Errno::PERM) => {}
                Err(errno) => return Err(errno),
            }
        }
        let wanted = shape.mode.unwrap_or(stat.mode) & !SET_ID;
        let owner_changed = chown.is_some() && shape.mode.is_some();
        let chmod = (owner_changed || wanted != stat.mode).then_some(wanted);
        if let Some(mode) = chmod {
            rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
        }
        match (chown, chmod) {
            (None, None) => Ok(stat),
            _ => EntryStat::of(file),
        }
    }

    /// Room for bytes that arrive piece by piece.
    pub fn incoming(self: &Arc<Self>, disk: &Disk) -> Result<Incoming> {
        let told = |errno| stage_fault(errno, &WsPath::root());
        disk.probe(DiskCall::Stage).map_err(told)?;
        let name = self.fresh_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // Nobody else reads what has no place yet.
        let handle = rustix::fs::openat(&self.folder, &name, flags, Mode::from_raw_mode(0o600))
            .map_err(told)?;
        let guard = Unfinished { stage: Arc::clone(self), name: Some(name) };
        Ok(Incoming { guard, file: File::from(handle) })
    }

    /// Makes a link that can be put in its place later.
    pub fn link(self: &Arc<Self>, disk: &Disk, target: &[u8], path: &WsPath) -> Result<Staged> {
        let told = |errno| stage_fault(errno, path);
        disk.probe(DiskCall::Stage).map_err(told)?;
        let name = self.fresh_name();
        rustix::fs::symlinkat(target, &self.folder, &name).map_err(told)?;
        let guard = Unfinished { stage: Arc::clone(self), name: Some(name) };
        let stat = EntryStat::at(&self.folder, guard.name().as_bytes()).map_err(told)?;
        Ok(guard.finish(stat))
    }

    pub(super) fn stat(&self, name: &str) -> std::result::Result<Stat, Errno> {
        rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|raw| Stat::of(&raw))
    }

    /// Puts a staged file where nothing is. If something is there after all, the two change places and
    /// what was there is returned.
    pub fn place_new(
        &self,
        disk: &Disk,
        staged: &mut Staged,
        path: &WsPath,
        file: FileId,
    ) -> Result<Option<Displaced>> {
        let told = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Place).map_err(told)?;
        let (parent, name) = disk.parent_of(path).map_err(told)?;
        match rename_new(
            self.folder.as_fd(),
            staged.name.as_bytes(),
            parent.as_fd(),
            name.as_bytes(),
        ) {
            Ok(()) => {
                staged.placed = true;
                Ok(None)
            }
            Err(Errno::EXIST) => self.place_over(disk, staged, path, file).map(Some),
            Err(errno) => Err(told(errno)),
        }
    }

    /// Puts a staged file where another is: the two change places, so that there is no moment without
    /// a file and nobody's save is lost in between.
    ///
    /// The staged file has, or now gets, a name that says whose place it takes: what a crash leaves
    /// under such a name may be somebody's save, and is looked at before it is swept away.
    pub fn place_over(
        &self,
        disk: &Disk,
        staged: &mut Staged,
        path: &WsPath,
        file: FileId,
    ) -> Result<Displaced> {
        let told = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Place).map_err(told)?;
        let (parent, name) = disk.parent_of(path).map_err(told)?;
        let name = name.as_bytes();
        if !staged.name.ends_with(SWAPPED) {
            let swap = self.swap_name(file, None);
            rustix::fs::renameat(&self.folder, &staged.name, &self.folder, &swap).map_err(told)?;
            staged.name = swap;
        }
        let exchange = RenameFlags::EXCHANGE;
        match rustix::fs::renameat_with(&self.folder, &staged.name, &parent, name, exchange) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => {
                return self.place_in_two(staged, parent.as_fd(), name, path, file);
            }
            Err(errno) => return Err(told(errno)),
        }
        let stat = match self.stat(&staged.name) {
            Ok(stat) => stat,
            // Nobody could look at what came out, so it goes back: a failure means that nothing happened.
            Err(errno) => {
                let back =
                    rustix::fs::renameat_with(&self.folder, &staged.name, &parent, name, exchange);
                staged.placed = back.is_err();
                return Err(told(errno));
            }
        };
        if !(stat.is(FileKind::File) || stat.is(FileKind::Link)) {
            // A folder, or something that nobody may open, appeared there meanwhile: back with it.
            rustix::fs::renameat_with(&self.folder, &staged.name, &parent, name, exchange)
                .map_err(told)?;
            return Err(match stat.kind {
                EntryKind::Special(what) => special(path, what),
                EntryKind::Known(_) => is_folder(path),
            });
        }
        staged.placed = true;
        Ok(Displaced { name: staged.name.clone(), stat })
    }

    /// Where the file system cannot exchange: out with the old, in with the new.
    fn place_in_two(
        &self,
        staged: &mut Staged,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: &WsPath,
        file: FileId,
    ) -> Result<Displaced> {
        let told = |errno| write_fault(errno, path);
        let aside = self.swap_name(file, None);
        rustix::fs::renameat(parent, name, &self.folder, &aside).map_err(told)?;
        let placed = rename_new(self.folder.as_fd(), staged.name.as_bytes(), parent, name);
        if let Err(errno) = placed {
            // Back to its place, unless somebody has taken that: then the next rescue keeps it.
            let _ = rename_new(self.folder.as_fd(), aside.as_bytes(), parent, name);
            return Err(told(errno));
        }
        staged.placed = true;
        let stat = self.stat(&aside).map_err(told)?;
        Ok(Displaced { name: aside, stat })
    }

    /// Takes a file or link out of its place.
    pub fn displace(&self, disk: &Disk, path: &WsPath, file: FileId) -> Result<Displaced> {
        let told = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Displace).map_err(told)?;
        let (parent, name) = disk.parent_of(path).map_err(told)?;
        let aside = self.swap_name(file, None);
        rename_new(parent.as_fd(), name.as_bytes(), self.folder.as_fd(), aside.as_bytes())
            .map_err(told)?;
        match self.stat(&aside) {
            Ok(stat) => Ok(Displaced { name: aside, stat }),
            // As in `place_over`: a failure means that nothing happened.
            Err(errno) => {
                let (from, to) = (self.folder.as_fd(), parent.as_fd());
                let _ = rename_new(from, aside.as_bytes(), to, name.as_bytes());
                Err(told(errno))
            }
        }
    }

    /// Files that a crash left under a name that says whose place was being taken.
    pub fn leftovers(&self) -> Vec<Displaced> {
        let names = self.names().unwrap_or_default();
        let swapped = names.into_iter().filter(|name| name.ends_with(SWAPPED));
        swapped
            .filter_map(|name| self.stat(&name).ok().map(|stat| Displaced { name, stat }))
            .collect()
    }

    /// The names of all kept files; none where they cannot be listed.
    pub fn kept_names(&self) -> Vec<String> {
        names_in(&self.kept).unwrap_or_default()
    }

    fn names(&self) -> std::result::Result<Vec<String>, Errno> {
        names_in(&self.folder)
    }

    /// Puts a displaced file back where it was, when the rest of its step failed; whether its place
    /// was still free.
    pub fn put_back(&self, disk: &Disk, displaced: &Displaced, path: &WsPath) -> Result<bool> {
        let told = |errno| write_fault(errno, path);
        let (parent, name) = disk.parent_of(path).map_err(told)?;
        let (from, to) = (self.folder.as_fd(), parent.as_fd());
        match rename_new(from, displaced.name.as_bytes(), to, name.as_bytes()) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(told(errno)),
        }
    }

    /// Lets a displaced file and the one that took its place change places again; whether what comes
    /// out is that one, which is then removed. If it is somebody's save, it stays where it was.
    pub fn swap_back(
        &self,
        disk: &Disk,
        displaced: &Displaced,
        path: &WsPath,
        placed: u64,
    ) -> Result<bool> {
        let told = |errno| write_fault(errno, path);
        let (parent, name) = disk.parent_of(path).map_err(told)?;
        let (from, to) = (displaced.name.as_str(), name.as_bytes());
        let exchange = || {
            let flags = RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(&self.folder, from, &parent, to, flags)
        };
        match exchange() {
            Ok(()) => {}
            // Ours, or a save of the last few microseconds: such a file system cannot tell.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let replaced = rustix::fs::renameat(&self.folder, from, &parent, to);
                return replaced.map(|()| true).map_err(told);
            }
            Err(Errno::NOENT) => return self.put_back(disk, displaced, path),
            Err(errno) => return Err(told(errno)),
        }
        if self.stat(&displaced.name).map_err(told)?.signature.inode == placed {
            self.discard(displaced);
            return Ok(true);
        }
        exchange().map(|()| false).map_err(told)
    }

    /// The bytes of a displaced file or the target of a displaced link.
    pub fn displaced_bytes(&self, displaced: &Displaced, path: &WsPath) -> Result<Vec<u8>> {
        let told = |errno| write_fault(errno, path);
        if displaced.stat.is(FileKind::Link) {
            let target = rustix::fs::readlinkat(&self.folder, &displaced.name, Vec::new());
            return target.map(|target| target.into_bytes()).map_err(told);
        }
        let mut file = self.open_displaced(displaced).map_err(told)?;
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
        let file = self.open_displaced(displaced);
        hash_all(&mut file.map_err(|errno| write_fault(errno, &path))?, &path, call)
    }

    fn open_displaced(&self, displaced: &Displaced) -> std::result::Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&self.folder, &displaced.name, flags, Mode::empty()).map(Into::into)
    }

    /// Removes a displaced file for good; its content is a version in the store.
    pub fn discard(&self, displaced: &Displaced) {
        // A leftover is removed by the next sweep.
        let _ = rustix::fs::unlinkat(&self.folder, &displaced.name, AtFlags::empty());
    }

    /// Keeps a displaced file as the version itself, under `name`; durable when this returns.
    pub fn keep(&self, displaced: &Displaced, name: &str) -> std::result::Result<(), Errno> {
        rustix::fs::renameat(&self.folder, &displaced.name, &self.kept, name)?;
        self.flush_kept()
    }

    /// Whether a kept file is there.
    pub fn has_kept(&self, name: &str) -> bool {
        rustix::fs::statat(&self.kept, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Makes everything that is staged and kept durable.
    pub fn flush(&self) -> Result<()> {
        let flush = || rustix::fs::syncfs(opened(&self.folder)?);
        flush().map_err(|errno| write_fault(errno, &WsPath::root()))
    }

    /// Whether anything is kept that may go for room.
    pub fn has_spares(&self) -> bool {
        self.spares.load(Ordering::Relaxed)
    }

    /// Something is kept now that may go for room.
    pub fn keeps_spares(&self) {
        self.spares.store(true, Ordering::Relaxed);
        self.new_spares.store(true, Ordering::Relaxed);
    }

    /// Whether some of that came since this was last asked.
    pub fn has_new_spares(&self) -> bool {
        self.new_spares.swap(false, Ordering::Relaxed)
    }

    /// The bytes of a kept file that nothing else needs; `None` if it is not there.
    pub fn kept_alone(&self, name: &str) -> Option<u64> {
        let raw = rustix::fs::statat(&self.kept, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let size = u64::try_from(raw.st_size).unwrap_or(0);
        Some(if raw.st_nlink > 1 { 0 } else { size })
    }

    /// Removes kept files for good; that they are gone is durable when this returns.
    pub fn remove_kept(&self, names: &[String]) -> Result<()> {
        let told = |errno| write_fault(errno, &WsPath::root());
        for name in names {
            match rustix::fs::unlinkat(&self.kept, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(told(errno)),
            }
        }
        self.flush_kept().map_err(told)
    }

    /// Makes the names of kept files durable.
    fn flush_kept(&self) -> std::result::Result<(), Errno> {
        rustix::fs::fsync(opened(&self.kept)?)
    }

    /// Removes what was taken out of the places of these files and still lies here.
    pub fn discard_displaced(&self, files: &[FileId]) {
        let theirs = |displaced: &Displaced| displaced.file().is_some_and(|id| files.contains(&id));
        self.leftovers().iter().filter(|left| theirs(left)).for_each(|left| self.discard(left));
    }

    /// Opens a kept file.
    pub fn open_kept(&self, name: &str) -> std::result::Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.kept, name, flags, Mode::empty()).map(File::from)
    }

    /// A file of a layer, staged to be put in its place: the file itself with its times, which its layer
    /// shows too until that is dropped; a copy where the layer is on another file system.
    pub fn adopt(
        self: &Arc<Self>,
        disk: &Disk,
        layer: &Disk,
        shape: &Shape,
        path: &WsPath,
    ) -> Result<Staged> {
        let told = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Stage).map_err(told)?;
        let (source, _) = layer.open_listed(path)?;
        let (parent, own) = layer.parent_of(path).map_err(told)?;
        let name = match shape.taking {
            Some(Taking { file, step }) => self.swap_name(file, Some(step)),
            None => self.fresh_name(),
        };
        let own = own.as_bytes();
        match rustix::fs::linkat(&parent, own, &self.folder, &name, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::XDEV | Errno::MLINK | Errno::PERM) => {
                return self.copy(disk, source, shape, path);
            }
            Err(errno) => return Err(told(errno)),
        }
        let guard = Unfinished { stage: Arc::clone(self), name: Some(name) };
        capabilities::remove(&source).map_err(told)?;
        let stat = self.dress(&source, shape).map_err(told)?;
        Ok(guard.finish(stat))
    }

    /// A copy of a kept file, staged to be put in its place.
    pub fn copy_of_kept(
        self: &Arc<Self>,
        disk: &Disk,
        name: &str,
        shape: &Shape,
        path: &WsPath,
    ) -> Result<Staged> {
        let source = self.open_kept(name).map_err(|errno| write_fault(errno, path))?;
        self.copy(disk, source, shape, path)
    }

    /// A copy of an open file, staged to be put in its place. File systems that can share the blocks.
    pub fn copy(
        self: &Arc<Self>,
        disk: &Disk,
        source: File,
        shape: &Shape,
        path: &WsPath,
    ) -> Result<Staged> {
        let told = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Stage).map_err(told)?;
        let staged = self.fresh_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.folder, &staged, flags, Mode::from_raw_mode(0o666))
            .map_err(told)?;
        let guard = Unfinished { stage: Arc::clone(self), name: Some(staged) };
        let mut file = File::from(handle);
        holes::copy(&source, &mut file).map_err(|error| told(errno_of(&error)))?;
        let stat = self.dress(&file, shape).map_err(told)?;
        Ok(guard.finish(stat))
    }
}

/// Bytes that arrive piece by piece. Dropped before they are finished, they are removed.
pub struct Incoming {
    guard: Unfinished,
    file: File,
}

impl Incoming {
    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let told = |error: std::io::Error| write_fault(errno_of(&error), &WsPath::root());
        self.file.write_all(bytes).map_err(told)
    }

    /// Flushes what arrived.
    pub fn finish(self) -> Result<Staged> {
        let told = |errno| write_fault(errno, &WsPath::root());
        rustix::fs::fsync(&self.file).map_err(told)?;
        let stat = EntryStat::of(&self.file).map_err(told)?;
        Ok(self.guard.finish(stat))
    }
}

impl Staged {
    /// Opens it for reading.
    pub fn open(&self, path: &WsPath) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.stage.folder, &self.name, flags, Mode::empty());
        opened.map(File::from).map_err(|errno| write_fault(errno, path))
    }

    /// Makes its bytes durable.
    pub fn flush(&self, path: &WsPath) -> Result<()> {
        rustix::fs::fsync(self.open(path)?).map_err(|errno| write_fault(errno, path))
    }

    /// Gives a flushed file a second name among the kept ones, durable when this returns.
    pub fn keep_too(&self, name: &str, path: &WsPath) -> Result<NewlyKept> {
        let newly = self.keep_unflushed(name).map_err(|errno| write_fault(errno, path))?;
        self.stage.flush_kept().map_err(|errno| write_fault(errno, path))?;
        Ok(newly)
    }

    /// Gives it a second name among the kept ones, which is durable once the stage is flushed.
    pub fn keep_unflushed(&self, name: &str) -> std::result::Result<NewlyKept, Errno> {
        let Stage { folder, kept, .. } = &*self.stage;
        rustix::fs::linkat(folder, &self.name, kept, name, AtFlags::empty())?;
        Ok(NewlyKept { stage: Arc::clone(&self.stage), name: name.to_owned(), stays: false })
    }
}

/// A kept file whose step is not recorded yet. Dropped before it is known to stay, it is removed.
pub struct NewlyKept {
    stage: Arc<Stage>,
    name: String,
    stays: bool,
}

impl NewlyKept {
    /// Its step is about to be recorded, or may be already.
    pub fn stays(&mut self) {
        self.stays = true;
    }

    /// Its step was not recorded.
    pub fn goes(&mut self) {
        self.stays = false;
    }
}

impl Drop for NewlyKept {
    fn drop(&mut self) {
        if !self.stays {
            let _ = rustix::fs::unlinkat(&self.stage.kept, &self.name, AtFlags::empty());
        }
    }
}

/// A handle that can be flushed, of a folder that is held by its path alone.
fn opened(folder: &OwnedFd) -> std::result::Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(folder, ".", flags, Mode::empty())
}

fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

/// A staged file that is still being made: removed unless it is finished.
struct Unfinished {
    stage: Arc<Stage>,
    name: Option<String>,
}

impl Unfinished {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn finish(mut self, stat: EntryStat) -> Staged {
        let name = self.name.take().unwrap_or_default();
        Staged { stage: Arc::clone(&self.stage), name, stat, placed: false }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(&self.stage.folder, name, AtFlags::empty());
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.placed {
            let _ = rustix::fs::unlinkat(&self.stage.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Whether a rename between the two can work: the same mount, not only the same device.
fn same_mount(a: &OwnedFd, b: &OwnedFd) -> std::result::Result<bool, Errno> {
    let look = |handle| rustix::fs::statx(handle, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
    let (a, b) = (look(a)?, look(b)?);
    let place =
        |stat: &rustix::fs::Statx| (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_mnt_id);
    Ok(place(&a) == place(&b))
}

/// Whether what was displaced is what the plan expected, as far as metadata can tell: a rename changes
/// the change time, so that one is left out.
pub fn looks_like(expected: &Signature, found: &Signature) -> bool {
    (expected.size, expected.mtime, expected.inode) == (found.size, found.mtime, found.inode)
}
