//! Measures the folders that a command writes to, while it runs. Millions of entries take a while, so this goes on for a
//! moment at a time.
//!
//! The command may change everything in there meanwhile, so folders are entered by handles and no link is followed. A
//! folder that the command made unreadable is made readable while what is in it is counted.

#![allow(clippy::disallowed_methods, reason = "the sandbox measures what its commands write")]

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io;
use rustix::path::Arg;

/// Folders that are nested deeper are not entered, because each level takes a handle.
const MAX_DEPTH: usize = 256;
/// So many entries are counted before the clock is read.
const ENTRIES_AT_ONCE: usize = 64;

/// What folders take of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderSize {
    /// So many bytes; if that is more than was asked about, any number above it.
    Bytes(u64),
    /// It cannot be told, because folders are nested too deep.
    TooDeep,
}

/// Folders whose size is measured again and again.
#[derive(Debug)]
pub(crate) struct MeasuredFolders {
    roots: Vec<PathBuf>,
    walk: Option<Walk>,
}

impl MeasuredFolders {
    pub(crate) fn new(roots: Vec<PathBuf>) -> Self {
        Self { roots, walk: None }
    }

    /// Goes on measuring until `deadline`. `None` if it is not done by then; the next call goes on.
    pub(crate) fn measure(&mut self, enough: u64, deadline: Instant) -> Option<FolderSize> {
        let mut walk = self.walk.take().unwrap_or_else(|| Walk::new(&self.roots));
        let size = walk.go_on(enough, deadline);
        if size.is_none() {
            self.walk = Some(walk);
        }
        size
    }
}

/// A measurement that goes on.
#[derive(Debug, Default)]
struct Walk {
    /// The folders that were found and not entered yet.
    waiting: Vec<Waiting>,
    current: Option<Listing>,
    bytes: u64,
}

#[derive(Debug)]
enum Waiting {
    Root(PathBuf),
    Inside(Arc<Folder>, CString),
}

/// A folder whose entries are being counted.
#[derive(Debug)]
struct Listing {
    folder: Arc<Folder>,
    entries: Dir,
}

impl Walk {
    fn new(roots: &[PathBuf]) -> Self {
        let waiting = roots.iter().cloned().map(Waiting::Root).collect();
        Self { waiting, ..Self::default() }
    }

    fn go_on(&mut self, enough: u64, deadline: Instant) -> Option<FolderSize> {
        loop {
            for _ in 0..ENTRIES_AT_ONCE {
                let Some(current) = &mut self.current else {
                    match self.waiting.pop() {
                        None => return Some(FolderSize::Bytes(self.bytes)),
                        // A folder that is gone has no size.
                        Some(next) => self.current = next.enter().ok(),
                    }
                    continue;
                };
                match current.entries.read() {
                    Some(Ok(entry)) => {
                        let name = entry.file_name().to_owned();
                        let folder = Arc::clone(&current.folder);
                        if !self.count(folder, name) {
                            return Some(FolderSize::TooDeep);
                        }
                    }
                    Some(Err(_)) | None => self.current = None,
                }
                if self.bytes > enough {
                    return Some(FolderSize::Bytes(self.bytes));
                }
            }
            if Instant::now() >= deadline {
                return None;
            }
        }
    }

    /// Counts an entry. Returns false if it is a folder that is nested too deep.
    fn count(&mut self, folder: Arc<Folder>, name: CString) -> bool {
        if matches!(name.as_bytes(), b"." | b"..") {
            return true;
        }
        let stat = rustix::fs::statat(&folder.handle, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW);
        let Ok(stat) = stat else { return true };
        // A file of no length takes an inode all the same.
        let bytes = u64::try_from(stat.st_blocks).unwrap_or(0) * 512 + 256;
        self.bytes = self.bytes.saturating_add(bytes);
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return true;
        }
        let is_within = folder.depth < MAX_DEPTH;
        self.waiting.push(Waiting::Inside(folder, name));
        is_within
    }
}

impl Waiting {
    fn enter(self) -> io::Result<Listing> {
        let folder = match self {
            Self::Root(path) => Folder::open(rustix::fs::CWD, &path, 0)?,
            Self::Inside(parent, name) => {
                Folder::open(&parent.handle, name.as_c_str(), parent.depth + 1)?
            }
        };
        let entries = Dir::read_from(&folder.handle)?;
        Ok(Listing { folder: Arc::new(folder), entries })
    }
}

/// An open folder, which its owner can read until this is dropped.
#[derive(Debug)]
struct Folder {
    handle: OwnedFd,
    depth: usize,
    /// The mode that the command gave it, if it was changed.
    former: Option<Mode>,
}

impl Folder {
    fn open(parent: impl AsFd, name: impl Arg, depth: usize) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entry = rustix::fs::openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
        let mode = mode_of(&entry)?;
        let former = (!mode.contains(READABLE)).then_some(mode);
        if former.is_some() {
            set_mode(&entry, mode | READABLE)?;
        }
        match rustix::fs::openat(&entry, ".", flags | OFlags::RDONLY, Mode::empty()) {
            Ok(handle) => Ok(Self { handle, depth, former }),
            Err(errno) => {
                restore(&entry, former);
                Err(errno)
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        restore(&self.handle, self.former);
    }
}

/// What listing a folder and looking at its entries takes.
const READABLE: Mode = Mode::RUSR.union(Mode::XUSR);

/// Gives a folder its former mode, unless the command changed the mode meanwhile.
fn restore(folder: &OwnedFd, former: Option<Mode>) {
    if let Some(former) = former
        && mode_of(folder).is_ok_and(|mode| mode == former | READABLE)
    {
        // If this fails, the folder stays readable, and its contents are the same.
        let _ = set_mode(folder, former);
    }
}

fn mode_of(entry: &OwnedFd) -> io::Result<Mode> {
    Ok(Mode::from_raw_mode(rustix::fs::fstat(entry)?.st_mode & 0o7777))
}

/// Sets the mode of the folder that a handle is open on, which may be a handle that cannot read.
fn set_mode(entry: &OwnedFd, mode: Mode) -> io::Result<()> {
    rustix::fs::chmod(format!("/proc/self/fd/{}", entry.as_raw_fd()), mode)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    /// The size of a folder, measured at once.
    fn size(folder: &Path) -> FolderSize {
        let later = Instant::now() + Duration::from_secs(3_600);
        MeasuredFolders::new(vec![folder.to_owned()]).measure(u64::MAX, later).unwrap()
    }

    fn bytes(folder: &Path) -> u64 {
        match size(folder) {
            FolderSize::Bytes(bytes) => bytes,
            FolderSize::TooDeep => panic!("it is not that deep"),
        }
    }

    #[test]
    fn folders_that_cannot_be_listed_are_counted_and_have_their_mode_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("closed");
        fs::create_dir_all(closed.join("inside")).unwrap();
        fs::write(closed.join("inside/file"), vec![1; 1 << 20]).unwrap();
        for mode in [0o000, 0o300, 0o600, 0o755] {
            fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
            assert!(bytes(folder.path()) >= 1 << 20, "{mode:o}");
            let after = fs::metadata(&closed).unwrap().permissions().mode() & 0o7777;
            assert_eq!(after, mode);
        }
    }

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/file"), vec![1; 1 << 20]).unwrap();
        fs::create_dir_all(folder.path().join("inside")).unwrap();
        symlink("../outside", folder.path().join("inside/link")).unwrap();
        assert!(bytes(&folder.path().join("inside")) < 1 << 20);
    }

    #[test]
    fn depth_hides_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |levels: usize| folder.path().join(vec!["d"; levels].join("/"));
        fs::create_dir_all(at(MAX_DEPTH)).unwrap();
        fs::write(at(MAX_DEPTH).join("file"), vec![1; 1 << 20]).unwrap();
        assert!(bytes(folder.path()) >= 1 << 20);
        fs::create_dir_all(at(MAX_DEPTH + 1)).unwrap();
        assert_eq!(size(folder.path()), FolderSize::TooDeep);
    }

    #[test]
    fn a_measurement_goes_on_where_it_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let total = 5 * ENTRIES_AT_ONCE;
        for n in 0..total {
            fs::write(folder.path().join(n.to_string()), "").unwrap();
        }
        let mut measured = MeasuredFolders::new(vec![folder.path().to_owned()]);
        let now = Instant::now();
        let mut rounds = 1;
        let size = loop {
            match measured.measure(u64::MAX, now) {
                Some(size) => break size,
                None => rounds += 1,
            }
        };
        assert_eq!(size, FolderSize::Bytes(total as u64 * 256));
        assert_eq!(rounds, 6, "one part at a time");
        assert_eq!(measured.measure(1_000, now), Some(FolderSize::Bytes(1_024)), "anew");
    }
}
