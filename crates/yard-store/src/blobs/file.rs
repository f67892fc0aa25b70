//! The folder of contents that are stored as files: `blobs/ab/<hash>`. Each is written under another name, flushed,
//! and renamed, so that a file with a hash as its name is complete. This module does not look into the files.

#![allow(clippy::disallowed_methods, reason = "the one place of the store that opens files")]

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use yard_core::ContentHash;

use crate::{Result, StoreError};

/// Makes a folder, and every folder above it, and flushes the entries that lead to it.
pub(crate) fn create_folder(dir: &Path) -> Result<()> {
    ensure_folder(dir).map_err(|error| fault(&error))
}

fn ensure_folder(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        ensure_folder(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Waits for the lock that the file `path` stands for, and holds it until the result is dropped.
pub(crate) fn lock_file(path: &Path) -> Result<File> {
    let file = open_private(path).map_err(|error| fault(&error))?;
    file.lock().map_err(|error| fault(&error))?;
    Ok(file)
}

/// Creates a file if it is missing, and takes the access of other users of this machine away. An existing file is not
/// opened: closing it would release the locks that SQLite holds on it in this process.
pub(crate) fn make_private(path: &Path) -> Result<()> {
    let made = || match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => open_private(path).map(drop),
        Err(error) => Err(error),
        Ok(metadata) if metadata.permissions().mode() & 0o077 == 0 => Ok(()),
        Ok(_) => std::fs::set_permissions(path, Permissions::from_mode(0o600)),
    };
    made().map_err(|error| fault(&error))
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}

/// Extends a file with zeros to a length. The caller makes sure that no other process extends it meanwhile.
pub(crate) fn fill_up(path: &Path, length: u64) -> Result<()> {
    let filled = || {
        let mut file = OpenOptions::new().append(true).open(path)?;
        let missing = length.saturating_sub(file.metadata()?.len());
        io::copy(&mut io::Read::take(io::repeat(0), missing), &mut file).map(|_| ())
    };
    filled().map_err(|error| fault(&error))
}

/// What an error of the file system means to a store.
pub(super) fn fault(error: &io::Error) -> StoreError {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => StoreError::Full,
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => StoreError::Refused(error.to_string()),
        _ => StoreError::Io(error.to_string()),
    }
}

fn flush_folder(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|folder| folder.sync_all()).map_err(|error| fault(&error))
}

/// Where blobs live.
#[derive(Debug)]
pub(super) struct BlobFolder {
    dir: PathBuf,
}

impl BlobFolder {
    pub(super) fn open(dir: &Path) -> Result<Self> {
        create_folder(dir)?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// Whether the blob exists already; if so, its name is durable when this returns, whichever process made it.
    pub(super) fn settle_existing(&self, hash: &ContentHash) -> Result<bool> {
        let there = self.has(hash);
        if there {
            flush_folder(&self.folder_of(hash))?;
        }
        Ok(there)
    }

    pub(super) fn has(&self, hash: &ContentHash) -> bool {
        self.path(hash).is_file()
    }

    /// Removes a blob; that it is gone is durable when this returns.
    pub(super) fn remove(&self, hash: &ContentHash) -> Result<()> {
        match std::fs::remove_file(self.path(hash)) {
            Ok(()) => flush_folder(&self.folder_of(hash)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(fault(&error)),
        }
    }

    pub(super) fn open_blob(&self, hash: &ContentHash) -> Result<File> {
        File::open(self.path(hash)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                StoreError::Corrupt(format!("the blob of {hash} is missing"))
            }
            _ => fault(&error),
        })
    }

    fn path(&self, hash: &ContentHash) -> PathBuf {
        self.folder_of(hash).join(hash.to_string())
    }

    fn folder_of(&self, hash: &ContentHash) -> PathBuf {
        self.dir.join(format!("{:02x}", hash.as_bytes()[0]))
    }
}

/// Writes a compressed content: to memory while it is small, then to a file.
pub(super) struct BlobWriter<'a> {
    folder: &'a BlobFolder,
    hash: ContentHash,
    limit: usize,
    buffered: Vec<u8>,
    file: Option<Draft>,
}

impl<'a> BlobWriter<'a> {
    /// Holds up to `limit` bytes in memory.
    pub(super) fn new(folder: &'a BlobFolder, hash: ContentHash, limit: usize) -> Self {
        Self { folder, hash, limit, buffered: Vec::new(), file: None }
    }

    /// The bytes, if they stayed in memory; `None` once they are a blob, flushed and in its place.
    pub(super) fn finish(self) -> Result<Option<Vec<u8>>> {
        let Some(draft) = self.file else { return Ok(Some(self.buffered)) };
        draft.settle(&self.folder.path(&self.hash)).map_err(|error| fault(&error))?;
        flush_folder(&self.folder.folder_of(&self.hash))?;
        Ok(None)
    }

    fn draft(&mut self) -> io::Result<&mut Draft> {
        if self.file.is_none() {
            let folder = self.folder.folder_of(&self.hash);
            ensure_folder(&folder)?;
            let mut draft = Draft::create(&folder)?;
            draft.file.write_all(&std::mem::take(&mut self.buffered))?;
            self.file = Some(draft);
        }
        self.file.as_mut().ok_or_else(|| io::Error::other("no draft"))
    }
}

impl Write for BlobWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.buffered.len() + bytes.len() <= self.limit {
            self.buffered.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.draft()?.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is being written. Dropping it removes the file, unless it became a blob.
struct Draft {
    path: PathBuf,
    file: File,
    settled: bool,
}

impl Draft {
    /// Creates a file named by a number. Numbers that another process uses, or that a crash left, are skipped.
    fn create(folder: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("draft-{count}"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file, settled: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn settle(mut self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.path, path)?;
        self.settled = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.settled {
            // Nothing depends on it being gone.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
