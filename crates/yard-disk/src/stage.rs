//! The staging folder, in which new files are prepared and to which displaced entries are moved. It is on the root's
//! file system, so that a staged file is put in place by one rename: in the data folder if that is on the same file
//! system, else under the reserved name inside of the root.

mod kept;
mod placing;
mod quarantine;
mod verified;

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, StatxFlags, Uid};
use rustix::io::Errno;
use yard_core::path::RESERVED_NAME;
use yard_core::{Call, Fault, FaultCode, FileId, Result, Signature, StepId, Subject, WsPath};
use yard_store::Retention;

use crate::disk::{Disk, DiskCall};
use crate::faults::{errno_of, stage_fault, write_fault};
use crate::folders::{DiskResult, create_file, names_in, open_existing, open_file, open_folder};
use crate::kept_name::retention_of;
use crate::stat::{EntryStat, SET_ID};
use crate::{capabilities, holes};

pub use kept::NewlyKept;
pub use placing::{Displaced, looks_like};

use placing::SWAPPED;

/// The staging folder and, in it, the folder of whole files that are kept as versions.
pub struct Stage {
    pub(crate) folder: OwnedFd,
    kept: OwnedFd,
    device: (u32, u32),
    prefix: String,
    next: AtomicU64,
    /// There are kept files that may be removed to make space.
    has_evictable: AtomicBool,
    /// Some of them are new since [`Stage::take_new_evictable`] was last called.
    has_new_evictable: AtomicBool,
    quarantine: OwnedFd,
    /// The data folder is on the root's file system.
    beside_data: bool,
    /// Kept files that were verified, with their signatures at that time.
    verified: Mutex<HashMap<String, Signature>>,
}

/// A file or link that is ready to be put in place. If it is dropped before, it is removed.
pub struct Staged {
    entry: StagedEntry,
    /// Its metadata.
    pub stat: EntryStat,
}

/// An entry of the staging folder. Dropping it removes the entry, unless it was put in place.
struct StagedEntry {
    stage: Arc<Stage>,
    name: String,
    placed: bool,
}

/// The file that a staged one is going to replace, and the step that does it.
#[derive(Clone, Copy, Debug)]
pub struct Replaces {
    /// The file.
    pub file: FileId,
    /// The step.
    pub step: StepId,
}

/// The mode, owner and name of a staged file.
#[derive(Clone, Copy, Debug)]
pub struct StagedAttributes {
    /// Its mode; `None` is the usual mode of a new file.
    pub mode: Option<u32>,
    /// Owner and group of the file that it replaces.
    pub owner: Option<(u32, u32)>,
    /// The file that it replaces, where that is known: the staged file then gets the name under which recovery finds
    /// the displaced file after a crash.
    pub taking: Option<Replaces>,
}

impl Stage {
    /// Opens (or makes) the staging folder of a workspace.
    pub fn open(disk: &Disk, state: &Path, unique: u128) -> Result<Self> {
        let to_fault = |errno: Errno| {
            Fault::new(FaultCode::Io, format!("the staging folder cannot be used: {errno}"))
        };
        let data = open_folder(rustix::fs::CWD, state.as_os_str()).map_err(to_fault)?;
        let beside_data = same_mount(&data, &disk.root).map_err(to_fault)?;
        let home = if beside_data {
            data
        } else {
            match open_folder(disk.root.as_fd(), RESERVED_NAME) {
                // Such a root can only be read, so nothing will be staged for it.
                Err(Errno::ROFS | Errno::ACCESS | Errno::PERM) => data,
                opened => opened.map_err(to_fault)?,
            }
        };
        let folder = open_folder(home.as_fd(), "stage").map_err(to_fault)?;
        let kept = open_folder(home.as_fd(), "kept").map_err(to_fault)?;
        let quarantine = open_folder(home.as_fd(), "leftovers").map_err(to_fault)?;
        let device = EntryStat::of(&folder).map_err(to_fault)?.device;
        let prefix = format!("{unique:032x}");
        let is_evictable = |name: &String| retention_of(name) == Retention::Evictable;
        let has_evictable = names_in(&kept).unwrap_or_default().iter().any(is_evictable);
        Ok(Self {
            folder,
            kept,
            device,
            prefix,
            next: AtomicU64::new(0),
            has_evictable: AtomicBool::new(has_evictable),
            has_new_evictable: AtomicBool::new(has_evictable),
            quarantine,
            beside_data,
            verified: Mutex::default(),
        })
    }

    /// Whether the data folder is on the root's file system, so that both make renames durable in one order.
    pub fn is_beside_data(&self) -> bool {
        self.beside_data
    }

    /// Whether a folder is on the stage's own file system.
    pub(crate) fn is_beside(&self, folder: &OwnedFd) -> DiskResult<bool> {
        Ok(EntryStat::of(folder)?.device == self.device)
    }

    /// Fails if this process cannot change entries of that folder.
    pub fn check_writable(&self, disk: &Disk, folder: &WsPath) -> Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let to_fault = |errno| write_fault(errno, folder);
        let handle = disk.open_beneath(folder, flags).map_err(to_fault)?;
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::accessat(&handle, ".", access, AtFlags::EACCESS).map_err(to_fault)?;
        if self.is_beside(&handle).map_err(to_fault)? {
            return Ok(());
        }
        let message = format!(
            "{folder} is on another file system than the workspace's root, where changes cannot be made durable"
        );
        Err(Fault::new(FaultCode::Unavailable, message).about(Subject::Path))
    }

    pub(crate) fn fresh_name(&self) -> String {
        format!("{}-{}", self.prefix, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The name of a staged file that replaces `file`, and then of the displaced file: after a crash
    /// [`Stage::crash_remains`] finds it, and [`Displaced::file`] and [`Displaced::step`] parse it.
    fn swap_name(&self, file: FileId, step: Option<StepId>) -> String {
        let step = step.map_or_else(String::new, |step| format!(".{step}"));
        format!("{}.{file}{step}{SWAPPED}", self.fresh_name())
    }

    /// The name of a staged file.
    fn name_for(&self, shape: &StagedAttributes) -> String {
        match shape.taking {
            Some(Replaces { file, step }) => self.swap_name(file, Some(step)),
            None => self.fresh_name(),
        }
    }

    /// Makes an empty staged file.
    fn begin(self: &Arc<Self>, name: String, mode: u32) -> DiskResult<(StagedEntry, File)> {
        let file = create_file(&self.folder, &name, mode)?;
        Ok((self.entry(name), file))
    }

    /// The entry of that name, to be removed unless it is put in place.
    fn entry(self: &Arc<Self>, name: String) -> StagedEntry {
        StagedEntry { stage: Arc::clone(self), name, placed: false }
    }

    /// Removes files that crashed processes left. The caller makes sure that no other process uses the folder.
    pub fn sweep(&self) {
        // A file that cannot be removed now is harmless, and the next sweep tries again.
        let _ = self.try_sweep();
    }

    fn try_sweep(&self) -> DiskResult {
        for name in names_in(&self.folder)? {
            if rustix::fs::unlinkat(&self.folder, &name, AtFlags::empty()) == Err(Errno::ISDIR) {
                rustix::fs::unlinkat(&self.folder, &name, AtFlags::REMOVEDIR)?;
            }
        }
        Ok(())
    }

    /// Stages a file with these bytes.
    pub fn file(
        self: &Arc<Self>,
        disk: &Disk,
        bytes: &[u8],
        shape: &StagedAttributes,
        path: &WsPath,
    ) -> Result<Staged> {
        let to_fault = |errno| stage_fault(errno, path);
        disk.probe(DiskCall::Stage).map_err(to_fault)?;
        let (entry, mut file) = self.begin(self.name_for(shape), 0o666).map_err(to_fault)?;
        file.write_all(bytes).map_err(|error| to_fault(errno_of(&error)))?;
        let stat = self.set_owner_and_mode(&file, shape).map_err(to_fault)?;
        Ok(Staged { entry, stat })
    }

    /// Gives a staged file its owner and mode, where it does not have them, and returns its new stat. Set-id
    /// bits are removed: no file that is put in place runs as its owner or its group.
    fn set_owner_and_mode(&self, file: &File, shape: &StagedAttributes) -> DiskResult<EntryStat> {
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

    /// Begins a staged file whose bytes arrive in pieces.
    pub fn incoming(self: &Arc<Self>, disk: &Disk) -> Result<Incoming> {
        let to_fault = |errno| stage_fault(errno, &WsPath::root());
        disk.probe(DiskCall::Stage).map_err(to_fault)?;
        // No other user may read a file before it is put in place.
        let (entry, file) = self.begin(self.fresh_name(), 0o600).map_err(to_fault)?;
        Ok(Incoming { entry, file })
    }

    /// Stages a link.
    pub fn link(self: &Arc<Self>, disk: &Disk, target: &[u8], path: &WsPath) -> Result<Staged> {
        let to_fault = |errno| stage_fault(errno, path);
        disk.probe(DiskCall::Stage).map_err(to_fault)?;
        let name = self.fresh_name();
        rustix::fs::symlinkat(target, &self.folder, &name).map_err(to_fault)?;
        let entry = self.entry(name);
        let stat = self.stat(&entry.name).map_err(to_fault)?;
        Ok(Staged { entry, stat })
    }

    pub(crate) fn stat(&self, name: &str) -> DiskResult<EntryStat> {
        EntryStat::at(&self.folder, name)
    }

    /// Makes all staged and kept files durable.
    pub fn flush(&self) -> Result<()> {
        let flush = || rustix::fs::syncfs(open_existing(&self.folder, ".")?);
        flush().map_err(|errno| write_fault(errno, &WsPath::root()))
    }

    /// Stages a file of an overlay layer: the file itself with its times, which stays in the layer, too; a copy if the
    /// layer is on another file system.
    pub fn adopt(
        self: &Arc<Self>,
        disk: &Disk,
        layer: &Disk,
        shape: &StagedAttributes,
        path: &WsPath,
        call: &Call,
    ) -> Result<Staged> {
        let to_fault = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Stage).map_err(to_fault)?;
        let (source, _) = layer.open_listed(path)?;
        let (parent, own) = layer.parent_of(path).map_err(to_fault)?;
        let name = self.name_for(shape);
        let own = own.as_bytes();
        match rustix::fs::linkat(&parent, own, &self.folder, &name, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::XDEV | Errno::MLINK | Errno::PERM) => {
                return self.copy(disk, source, shape, path, call);
            }
            Err(errno) => return Err(to_fault(errno)),
        }
        let entry = self.entry(name);
        capabilities::remove(&source).map_err(to_fault)?;
        let stat = self.set_owner_and_mode(&source, shape).map_err(to_fault)?;
        Ok(Staged { entry, stat })
    }

    /// Stages a copy of an open file. File systems that can share the blocks.
    pub fn copy(
        self: &Arc<Self>,
        disk: &Disk,
        source: File,
        shape: &StagedAttributes,
        path: &WsPath,
        call: &Call,
    ) -> Result<Staged> {
        let to_fault = |errno| write_fault(errno, path);
        disk.probe(DiskCall::Stage).map_err(to_fault)?;
        let (entry, mut file) = self.begin(self.fresh_name(), 0o666).map_err(to_fault)?;
        holes::copy(&source, &mut file, call).map_err(|error| {
            let ended = |error: std::io::Error| error.downcast::<Fault>();
            match error.raw_os_error() {
                Some(_) => to_fault(errno_of(&error)),
                None => ended(error).unwrap_or_else(|error| to_fault(errno_of(&error))),
            }
        })?;
        let stat = self.set_owner_and_mode(&file, shape).map_err(to_fault)?;
        Ok(Staged { entry, stat })
    }
}

/// A staged file whose bytes arrive in pieces. If it is dropped before it is finished, it is removed.
pub struct Incoming {
    entry: StagedEntry,
    file: File,
}

impl Incoming {
    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let to_fault = |error: std::io::Error| write_fault(errno_of(&error), &WsPath::root());
        self.file.write_all(bytes).map_err(to_fault)
    }

    /// Flushes the file.
    pub fn finish(self) -> Result<Staged> {
        let to_fault = |errno| write_fault(errno, &WsPath::root());
        rustix::fs::fsync(&self.file).map_err(to_fault)?;
        let stat = EntryStat::of(&self.file).map_err(to_fault)?;
        Ok(Staged { entry: self.entry, stat })
    }
}

impl Staged {
    /// Opens it for reading.
    pub fn open(&self, path: &WsPath) -> Result<File> {
        let StagedEntry { stage, name, .. } = &self.entry;
        open_file(&stage.folder, name).map_err(|errno| write_fault(errno, path))
    }

    /// Makes its bytes durable.
    pub fn flush(&self, path: &WsPath) -> Result<()> {
        rustix::fs::fsync(self.open(path)?).map_err(|errno| write_fault(errno, path))
    }
}

impl Drop for StagedEntry {
    fn drop(&mut self) {
        if !self.placed {
            let _ = rustix::fs::unlinkat(&self.stage.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Whether a rename between the two folders can work: they must be on the same mount, not only on the same device.
fn same_mount(a: &OwnedFd, b: &OwnedFd) -> DiskResult<bool> {
    let look = |handle| rustix::fs::statx(handle, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
    let (a, b) = (look(a)?, look(b)?);
    let place =
        |stat: &rustix::fs::Statx| (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_mnt_id);
    Ok(place(&a) == place(&b))
}
