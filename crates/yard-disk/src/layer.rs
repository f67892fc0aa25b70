//! What commands wrote: one folder a run in the data folder, with the layer that the box put over the
//! workspace and with what the command said. A layer is read here and never followed into: it was made
//! by somebody who may mean harm.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use rustix::fs::{AtFlags, FileType as RawType, Mode, OFlags};
use rustix::io::Errno;
use yard_core::{FileKind, Result, RunId, StepId, Timestamp, WsPath};
use yard_store::Seq;

use crate::beneath::{Disk, Resolution};
use crate::dropped::Dropped;
use crate::faults::read_fault;
use crate::folders::{
    create_file, entries_in, open_existing, open_file, open_folder, unusable, unusable_io,
};
use crate::stat::{EntryKind, EntryStat};

const UPPER: &str = "upper";
const WORK: &str = "work";
/// What a command has in the place of `/tmp`, where it has none of its own.
const SCRATCH: &str = "scratch";
/// The step that a run is about to become.
const LANDS_AS: &str = "lands-as";
/// Written when a run begins, and never again.
const BEGAN: &str = "began";
/// Set on a folder that hides everything below it.
pub(super) const OPAQUE: &str = "user.overlay.opaque";

/// The runs of one workspace.
pub struct Runs {
    folder: OwnedFd,
    path: PathBuf,
    dropped: Dropped,
}

/// The folder of one run.
pub struct RunFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl Runs {
    /// Opens (or makes) the folder of the runs.
    pub fn open(state: &Path) -> Result<Self> {
        let told = |errno: Errno| unusable(errno);
        let data = open_folder(rustix::fs::CWD, state.as_os_str()).map_err(told)?;
        let folder = open_folder(data.as_fd(), "runs").map_err(told)?;
        let dropped = Dropped::open(&data).map_err(told)?;
        Ok(Self { folder, path: state.join("runs"), dropped })
    }

    /// A new run. Its layer has the root's mode: the box shows the two as one.
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

    /// A run that is kept.
    pub fn find(&self, run: RunId) -> Result<Option<RunFolder>> {
        let name = run.to_string();
        match open_existing(&self.folder, &name) {
            Ok(folder) => Ok(Some(RunFolder { folder, path: self.path.join(name) })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(unusable(errno)),
        }
    }

    /// The runs that are kept, oldest first.
    pub fn all(&self) -> Result<Vec<RunId>> {
        let names = entries_in(&self.folder).map_err(unusable)?;
        let texts = names.iter().filter_map(|(name, _)| std::str::from_utf8(name).ok());
        let mut runs: Vec<RunId> = texts.filter_map(|text| text.parse().ok()).collect();
        runs.sort_unstable();
        Ok(runs)
    }

    /// Removes a run: at once for whoever looks for it, from the disk a moment later.
    pub fn remove(&self, run: RunId) {
        self.dropped.take(&self.folder, &run.to_string());
    }

    /// Where folders go that nobody needs any more.
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// Waits until nothing of the runs that were removed is on the disk.
    pub fn settle(&self) {
        self.dropped.settle();
    }
}

impl RunFolder {
    /// What the command changed, as the upper layer of an overlay.
    pub fn upper(&self) -> PathBuf {
        self.path.join(UPPER)
    }

    /// The scratch folder of that overlay.
    pub fn work(&self) -> PathBuf {
        self.path.join(WORK)
    }

    /// A new folder for the same, should the layer be laid over the workspace once more.
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

    /// A folder that is the command's own, with files that it can read there.
    pub fn scratch(&self, files: &[(String, Vec<u8>)]) -> Result<PathBuf> {
        rustix::fs::mkdirat(&self.folder, SCRATCH, Mode::RWXU).map_err(unusable)?;
        for (name, bytes) in files {
            self.keep(&format!("{SCRATCH}/{name}"), bytes)?;
        }
        Ok(self.path.join(SCRATCH))
    }

    /// Notes that the run begins now, after a step.
    pub fn begins_after(&self, head: Seq) -> Result<()> {
        self.keep(BEGAN, head.to_string().as_bytes())
    }

    /// When the run began, by the clock of the file system, and after which step.
    pub fn began(&self) -> Result<(i64, Seq)> {
        let at = EntryStat::at(&self.folder, BEGAN).map_err(unusable)?.signature.mtime;
        Ok((at, self.parsed(BEGAN)?.unwrap_or(0)))
    }

    /// Notes the step that the run is about to become.
    pub fn lands_as(&self, step: StepId) -> Result<()> {
        // A landing that is planned again becomes another one.
        match rustix::fs::unlinkat(&self.folder, LANDS_AS, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(unusable(errno)),
        }
        self.keep(LANDS_AS, step.to_string().as_bytes())
    }

    /// The step that the run was about to become last.
    pub fn landing_as(&self) -> Result<Option<StepId>> {
        self.parsed(LANDS_AS)
    }

    /// What a small file beside the layer holds, if it is there and can be read.
    fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>> {
        let text = self.kept(name)?.and_then(|text| String::from_utf8(text).ok());
        Ok(text.and_then(|text| text.parse().ok()))
    }

    /// The layer, as a tree that can be looked at.
    pub fn layer(&self) -> Result<OverlayLayer> {
        let disk = Disk::open(&self.upper(), Resolution::Auto, None)?;
        Ok(OverlayLayer { disk, opened: RefCell::default() })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself.
    pub(super) fn handle(&self) -> &OwnedFd {
        &self.folder
    }

    /// A file beside the layer, to be written.
    pub(super) fn create(&self, name: &str) -> Result<File> {
        create_file(&self.folder, name, 0o600).map_err(unusable)
    }

    /// A file beside the layer, to be read.
    fn open(&self, name: &str) -> Result<Option<File>> {
        match open_file(&self.folder, name) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(unusable(errno)),
        }
    }

    /// Writes a small file beside the layer.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.create(name)?.write_all(bytes).map_err(|error| unusable_io(&error))
    }

    /// A small file beside the layer.
    pub fn kept(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(mut file) = self.open(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| unusable_io(&error))?;
        Ok(Some(bytes))
    }

    /// How old a file beside the layer is, by the clock of the file system.
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

/// What a command changed, over the workspace.
pub struct OverlayLayer {
    /// Its files.
    pub disk: Disk,
    /// What the command closed and is open while it is looked at, with its own mode.
    opened: RefCell<Vec<(WsPath, u32)>>,
}

impl OverlayLayer {
    /// Whether an entry says that what is below it is gone.
    pub fn is_whiteout(&self, path: &WsPath) -> Result<bool> {
        let handle = self.disk.open_beneath(path, OFlags::PATH | OFlags::NOFOLLOW);
        let raw = handle.and_then(|handle| rustix::fs::fstat(&handle));
        let raw = raw.map_err(|errno| read_fault(errno, path))?;
        let is_device = RawType::from_raw_mode(raw.st_mode) == RawType::CharacterDevice;
        Ok(is_device && raw.st_rdev == 0)
    }

    /// Makes sure that what a command closed can be read, until this layer is dropped: whoever looks next
    /// finds it closed again.
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

    fn set_mode(&self, path: &WsPath, mode: u32) -> std::result::Result<(), Errno> {
        let (parent, name) = self.disk.parent_of(path)?;
        let mode = Mode::from_raw_mode(mode);
        rustix::fs::chmodat(&parent, name.as_bytes(), mode, AtFlags::empty())
    }

    /// Whether a folder hides what is below it.
    pub fn is_opaque(&self, path: &WsPath) -> Result<bool> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let told = |errno| read_fault(errno, path);
        let handle = self.disk.open_beneath(path, flags).map_err(told)?;
        is_opaque(&handle).map_err(told)
    }
}

/// Whether a folder of a layer hides what is below it.
pub(super) fn is_opaque(folder: &OwnedFd) -> std::result::Result<bool, Errno> {
    let mut value = [0; 8];
    match rustix::fs::fgetxattr(folder, OPAQUE, &mut value[..]) {
        Ok(length) => Ok(value.get(..length) == Some(b"y")),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(errno) => Err(errno),
    }
}

impl Drop for OverlayLayer {
    fn drop(&mut self) {
        // Those below first: what is above them is about to be closed.
        for (path, mode) in std::mem::take(self.opened.get_mut()).into_iter().rev() {
            // What stays open is asked about again, as another change than the one that was shown.
            let _ = self.set_mode(&path, mode);
        }
    }
}
