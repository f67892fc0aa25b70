//! The files of contents that are prepared and not committed: `blobs/prepared/<writer>-<count>-<hash>`. A commit gives
//! the content its place by a second name. The first one goes when the plan is dropped, so that a call which is denied
//! or fails leaves nothing.
//!
//! A store that prepares such files has a number of its own, and holds the lock of the file `writer-<number>`. The files
//! of a number that nobody holds were left by a process that was killed.

#![allow(clippy::disallowed_methods, reason = "the one place of the store that opens files")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use yard_core::ContentHash;

/// How the name of a lock begins.
const LOCK: &str = "writer-";

/// The folder of prepared files.
#[derive(Debug)]
pub(super) struct PreparedFiles {
    dir: PathBuf,
    writer: Mutex<Option<Writer>>,
}

/// The number of a store, and the files that it made so far.
#[derive(Debug)]
struct Writer {
    number: u32,
    count: u64,
    /// Locked as long as the number is in use.
    _lock: File,
}

impl Writer {
    /// Takes the first number that nobody has and no file is named after: an abandoned file stays known as one.
    fn enter(dir: &Path, files: &[FoundFile]) -> io::Result<Self> {
        for number in (0..).filter(|number| files.iter().all(|file| file.writer != *number)) {
            if let Some(lock) = try_lock(dir, number)? {
                return Ok(Self { number, count: 0, _lock: lock });
            }
        }
        Err(io::Error::other("every number is taken"))
    }
}

/// The lock of a number, unless another store holds it.
fn try_lock(dir: &Path, number: u32) -> io::Result<Option<File>> {
    let path = dir.join(format!("{LOCK}{number}"));
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The file of a content that is prepared and may never be committed. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct PreparedFile(PathBuf);

impl PreparedFile {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PreparedFile {
    fn drop(&mut self) {
        // If this fails, the next opening of the store removes it.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The files that killed processes left. Their numbers are not given to other stores until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct AbandonedFiles {
    files: Vec<(PathBuf, ContentHash)>,
    locks: Vec<File>,
}

impl AbandonedFiles {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The contents that they are of.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &ContentHash> {
        self.files.iter().map(|(_, hash)| hash)
    }

    /// Removes them.
    pub(super) fn remove(self) -> io::Result<()> {
        self.files.iter().try_for_each(|(path, _)| remove_if_there(path))
    }
}

impl PreparedFiles {
    /// The folder `dir`, which may be missing until the first file is made.
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, writer: Mutex::default() }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Creates an empty file for a content. The folder exists.
    pub(super) fn create(&self, hash: &ContentHash) -> io::Result<(PreparedFile, File)> {
        loop {
            let path = self.next_path(hash)?;
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((PreparedFile(path), file)),
                // Of a process that was killed with the same number, right after the folder was listed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn next_path(&self, hash: &ContentHash) -> io::Result<PathBuf> {
        let mut writer = self.writer.lock();
        let entered = match writer.take() {
            Some(entered) => entered,
            None => Writer::enter(&self.dir, &self.all()?)?,
        };
        let entered = writer.insert(entered);
        entered.count += 1;
        Ok(self.dir.join(format!("{}-{}-{hash}", entered.number, entered.count)))
    }

    /// The files that killed processes left.
    pub(super) fn abandoned(&self) -> io::Result<AbandonedFiles> {
        let mut files = self.all()?;
        let mut numbers: Vec<u32> = files.iter().map(|file| file.writer).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut abandoned = AbandonedFiles::default();
        for number in numbers {
            match try_lock(&self.dir, number)? {
                Some(lock) => abandoned.locks.push(lock),
                None => files.retain(|file| file.writer != number),
            }
        }
        abandoned.files = files.into_iter().map(|file| (file.path, file.hash)).collect();
        Ok(abandoned)
    }

    /// Removes every file of a content, also those of plans that go on: their commits fail then.
    pub(super) fn remove_all_of(&self, hash: &ContentHash) -> io::Result<()> {
        let mut files = self.all()?.into_iter().filter(|file| file.hash == *hash);
        files.try_for_each(|file| remove_if_there(&file.path))
    }

    fn all(&self) -> io::Result<Vec<FoundFile>> {
        let entries = match std::fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let paths = paths.collect::<io::Result<Vec<_>>>()?;
        Ok(paths.into_iter().filter_map(FoundFile::parse).collect())
    }
}

/// A prepared file, by its name.
struct FoundFile {
    path: PathBuf,
    writer: u32,
    hash: ContentHash,
}

impl FoundFile {
    fn parse(path: PathBuf) -> Option<Self> {
        let mut parts = path.file_name()?.to_str()?.splitn(3, '-');
        let (writer, _, hash) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        let hash = hash.parse().ok()?;
        Some(Self { path, writer, hash })
    }
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
