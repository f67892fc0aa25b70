//! The folders of runs in the data folder. Each has the overlay layer that the command wrote to, and its output. An
//! agent made the layer, so no link in it is followed.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use rustix::fs::{AtFlags, FileType as RawType, Mode, OFlags};
use rustix::io::Errno;
use yard_core::{Call, FileKind, Result, RunId, StepId, Timestamp, WsPath};
use yard_store::Seq;

use crate::disk::{Disk, Resolution};
use crate::faults::read_fault;
use crate::folders::{
    DiskResult, create_file, names_in, open_existing, open_file, open_folder, set_mode, unusable,
    unusable_io,
};
use crate::removal_queue::RemovalQueue;
use crate::stat::{EntryKind, EntryStat};

const UPPER: &str = "upper";
const WORK: &str = "work";
/// The folder in the place of `/tmp`, for a command without a private one.
const SCRATCH: &str = "scratch";
/// The file with the id of the step that lands the run.
const LANDS_AS: &str = "lands-as";
/// The file that is written once, when a run begins.
const BEGAN: &str = "began";
/// The attribute of a folder that hides the lower layer's entries.
pub(crate) const OPAQUE: &str = "user.overlay.opaque";

/// The runs of one workspace.
pub struct Runs {
    folder: OwnedFd,
    path: PathBuf,
    dropped: RemovalQueue,
}

/// The folder of one run.
pub struct RunFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl Runs {
    /// Opens (or makes) the folder of the runs.
    pub fn open(state: &Path) -> Result<Self> {
        let data = open_folder(rustix::fs::CWD, state.as_os_str()).map_err(unusable)?;
        let folder = open_folder(data.as_fd(), "runs").map_err(unusable)?;
        let dropped = RemovalQueue::open(&data).map_err(unusable)?;
        Ok(Self { folder, path: state.join("runs"), dropped })
    }

    /// Makes the folder of a new run. Its layer has the root's mode, because the box shows both as one folder.
    pub fn begin(&self, run: RunId, disk: &Disk) -> Result<RunFolder> {
        let name = run.to_string();
        let made = || {
            rustix::fs::mkdirat(&self.folder, &name, Mode::RWXU)?;
            let folder = open_existing(&self.folder, &name)?;
            for inside in [UPPER, WORK] {
                rustix::fs::mkdirat(&folder, inside, Mode::RWXU)?;
            }
            let root = rustix::fs::fstat(&disk.root)?;
            let mode = Mode::from_raw_mode(root.st_mode & 0o7777);
            rustix::fs::chmodat(&folder, UPPER, mode, AtFlags::empty())?;
            Ok(folder)
        };
        let folder = made().map_err(unusable)?;
        Ok(RunFolder { folder, path: self.path.join(name) })
    }

    /// The folder of a run, if it exists.
    pub fn find(&self, run: RunId) -> Result<Option<RunFolder>> {
        let name = run.to_string();
        match open_existing(&self.folder, &name) {
            Ok(folder) => Ok(Some(RunFolder { folder, path: self.path.join(name) })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(unusable(errno)),
        }
    }

    /// The runs that have a folder, oldest first.
    pub fn all(&self) -> Result<Vec<RunId>> {
        let names = names_in(&self.folder).map_err(unusable)?;
        let mut runs: Vec<RunId> = names.iter().filter_map(|name| name.parse().ok()).collect();
        runs.sort_unstable();
        Ok(runs)
    }

    /// Removes a run's folder. It cannot be found any more at once, and leaves the disk a moment later.
    pub fn remove(&self, run: RunId) {
        self.dropped.take(&self.folder, &run.to_string());
    }

    /// The queue that removes folders in the background.
    pub fn dropped(&self) -> &RemovalQueue {
        &self.dropped
    }

    /// Waits until all removed runs have left the disk, as long as the call may take.
    pub fn settle_within(&self, call: &Call) -> Result<()> {
        self.dropped.settle_within(call)
    }

    /// Waits until all removed runs have left the disk.
    pub fn settle(&self) {
        self.dropped.settle();
    }
}

impl RunFolder {
    /// The upper layer of the overlay, with the command's changes.
    pub fn upper(&self) -> PathBuf {
        self.path.join(UPPER)
    }

    /// The scratch folder of that overlay.
    pub fn work(&self) -> PathBuf {
        self.path.join(WORK)
    }

    /// Makes another scratch folder, to mount the layer over the workspace once more.
    pub fn another_work(&self) -> Result<PathBuf> {
        for number in 1.. {
            let name = format!("{WORK}-{number}");
            match rustix::fs::mkdirat(&self.folder, &name, Mode::RWXU) {
                Ok(()) => return Ok(self.path.join(name)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(unusable(errno)),
            }
        }
        Err(unusable(Errno::EXIST))
    }

    /// Makes the command's own folder, with files for it.
    pub fn scratch(&self, files: &[(String, Vec<u8>)]) -> Result<PathBuf> {
        rustix::fs::mkdirat(&self.folder, SCRATCH, Mode::RWXU).map_err(unusable)?;
        for (name, bytes) in files {
            self.write_file(&format!("{SCRATCH}/{name}"), bytes)?;
        }
        Ok(self.path.join(SCRATCH))
    }

    /// Records that the run begins now, after step `head`.
    pub fn begins_after(&self, head: Seq) -> Result<()> {
        self.write_file(BEGAN, head.to_string().as_bytes())
    }

    /// When the run began, by the clock of the file system, and the step before it.
    pub fn began(&self) -> Result<(i64, Seq)> {
        let at = EntryStat::at(&self.folder, BEGAN).map_err(unusable)?.signature.mtime;
        Ok((at, self.parsed(BEGAN)?.unwrap_or(0)))
    }

    /// Records the step that is about to land the run.
    pub fn lands_as(&self, step: StepId) -> Result<()> {
        // A landing that is planned again has another step.
        match rustix::fs::unlinkat(&self.folder, LANDS_AS, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(unusable(errno)),
        }
        self.write_file(LANDS_AS, step.to_string().as_bytes())
    }

    /// The step that was recorded last by [`RunFolder::lands_as`].
    pub fn landing_as(&self) -> Result<Option<StepId>> {
        self.parsed(LANDS_AS)
    }

    /// The parsed contents of a small file beside the layer, if it exists and parses.
    fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>> {
        let text = self.read_file(name)?.and_then(|text| String::from_utf8(text).ok());
        Ok(text.and_then(|text| text.parse().ok()))
    }

    /// The layer, for reading.
    pub fn layer(&self) -> Result<OverlayLayer> {
        let disk = Disk::open(&self.upper(), Resolution::Auto, None)?;
        Ok(OverlayLayer { disk, opened: RefCell::default() })
    }

    /// Its path on the host.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The handle of the folder.
    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.folder
    }

    /// Creates a file beside the layer.
    pub(crate) fn create(&self, name: &str) -> Result<File> {
        create_file(&self.folder, name, 0o600).map_err(unusable)
    }

    /// Opens a file beside the layer for reading, if it exists.
    fn open(&self, name: &str) -> Result<Option<File>> {
        match open_file(&self.folder, name) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(unusable(errno)),
        }
    }

    /// Writes a small file beside the layer.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.create(name)?.write_all(bytes).map_err(|error| unusable_io(&error))
    }

    /// Reads a small file beside the layer, if it exists.
    pub fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(mut file) = self.open(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| unusable_io(&error))?;
        Ok(Some(bytes))
    }

    /// The age of a file beside the layer, by the clock of the file system.
    pub fn age(&self, name: &str) -> Result<Option<Duration>> {
        let Some(file) = self.open(name)? else { return Ok(None) };
        let age = file.metadata().and_then(|about| about.modified());
        Ok(age.ok().and_then(|at| at.elapsed().ok()))
    }

    /// When a file beside the layer was written.
    pub fn written_at(&self, name: &str) -> Result<Option<Timestamp>> {
        let Some(file) = self.open(name)? else { return Ok(None) };
        Ok(Some(EntryStat::of(&file).map_err(unusable)?.modified()))
    }

    /// Makes everything of the run durable.
    pub fn flush(&self) -> Result<()> {
        rustix::fs::syncfs(&self.folder).map_err(unusable)
    }
}

/// The overlay layer with a command's changes.
pub struct OverlayLayer {
    /// Its files.
    pub disk: Disk,
    /// Entries that the command made unreadable and that are readable for now, each with the command's mode.
    opened: RefCell<Vec<(WsPath, u32)>>,
}

impl OverlayLayer {
    /// Whether an entry marks that the command removed the workspace's entry of that name.
    pub fn is_whiteout(&self, path: &WsPath) -> Result<bool> {
        let handle = self.disk.open_beneath(path, OFlags::PATH | OFlags::NOFOLLOW);
        let raw = handle.and_then(|handle| rustix::fs::fstat(&handle));
        let raw = raw.map_err(|errno| read_fault(errno, path))?;
        let is_device = RawType::from_raw_mode(raw.st_mode) == RawType::CharacterDevice;
        Ok(is_device && raw.st_rdev == 0)
    }

    /// Makes an entry readable, if the command made it unreadable, until this layer is dropped.
    pub fn open_up(&self, path: &WsPath, stat: &EntryStat) -> Result<()> {
        let needed = match stat.kind {
            EntryKind::Known(FileKind::Folder) => 0o700,
            EntryKind::Known(FileKind::File) => 0o400,
            _ => return Ok(()),
        };
        if stat.mode & needed == needed {
            return Ok(());
        }
        self.opened.borrow_mut().push((path.clone(), stat.mode));
        self.set_mode(path, stat.mode | needed).map_err(|errno| read_fault(errno, path))
    }

    fn set_mode(&self, path: &WsPath, mode: u32) -> DiskResult {
        let entry = self.disk.open_beneath(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        set_mode(&entry, Mode::from_raw_mode(mode))
    }

    /// Whether a folder hides the entries of the workspace's folder below it.
    pub fn is_opaque(&self, path: &WsPath) -> Result<bool> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let to_fault = |errno| read_fault(errno, path);
        let handle = self.disk.open_beneath(path, flags).map_err(to_fault)?;
        is_opaque(&handle).map_err(to_fault)
    }
}

/// Whether a folder of a layer hides the lower layer's entries.
pub(crate) fn is_opaque(folder: &OwnedFd) -> DiskResult<bool> {
    let mut value = [0; 8];
    match rustix::fs::fgetxattr(folder, OPAQUE, &mut value[..]) {
        Ok(length) => Ok(value.get(..length) == Some(b"y")),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(errno) => Err(errno),
    }
}

impl Drop for OverlayLayer {
    fn drop(&mut self) {
        // The entries of a folder first, because the folder itself becomes unreadable again.
        for (path, mode) in std::mem::take(self.opened.get_mut()).into_iter().rev() {
            // If this fails, the mode is a change that a person did not see, and is asked about again.
            let _ = self.set_mode(&path, mode);
        }
    }
}
