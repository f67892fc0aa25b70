//! The folder of contents that are stored as files: `blobs/ab/<hash>`. Each is written under another name
//! (`prepared_files.rs`) and flushed, and gets this one when a step that names it is committed. So a file with a hash as
//! its name is complete. This module does not look into the files.

#![allow(clippy::disallowed_methods, reason = "the one place of the store that opens files")]

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use yard_core::ContentHash;

use super::prepared_files::{AbandonedFiles, PreparedFile, PreparedFiles, remove_if_there};
use crate::{Result, StoreError};

/// The folder of prepared files, beside those of blobs.
const PREPARED: &str = "prepared";
/// How the names of unfinished files of older versions begin.
const OLD_UNFINISHED: &str = "draft-";

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
    prepared: PreparedFiles,
}

impl BlobFolder {
    pub(super) fn open(dir: &Path) -> Result<Self> {
        create_folder(dir)?;
        Ok(Self { dir: dir.to_owned(), prepared: PreparedFiles::new(dir.join(PREPARED)) })
    }

    /// Whether the blobs are those of a version of this program that had no folder of prepared files.
    pub(super) fn is_of_older_version(&self) -> Result<bool> {
        Ok(!self.prepared.dir().is_dir() && !paths_in(&self.dir)?.is_empty())
    }

    pub(super) fn create_prepared_folder(&self) -> Result<()> {
        create_folder(self.prepared.dir())
    }

    /// Creates a file without a name, for reading and writing.
    pub(super) fn create_unnamed(&self) -> io::Result<File> {
        ensure_folder(self.prepared.dir())?;
        // Dropping the prepared file removes its name.
        self.prepared.create(&ContentHash::of(b"")).map(|(_, file)| file)
    }

    /// Whether the blob exists already; if so, its name is durable when this returns, whichever process made it.
    pub(super) fn settle_existing(&self, hash: &ContentHash) -> Result<bool> {
        let there = self.has(hash);
        if there {
            flush_folder(&self.folder_of(hash))?;
        }
        Ok(there)
    }

    /// Gives prepared contents their places, durably; the first of which there is no file any more, if there is one.
    /// One without a prepared file was in its place when it was prepared.
    pub(super) fn place<'a>(
        &self,
        contents: impl Iterator<Item = (&'a ContentHash, Option<&'a PreparedFile>)>,
    ) -> Result<Option<ContentHash>> {
        let mut changed = HashSet::new();
        for (hash, file) in contents {
            if let Some(file) = file {
                let folder = self.folder_of(hash);
                let placed = ensure_folder(&folder).and_then(|()| self.place_file(hash, file));
                placed.map_err(|error| fault(&error))?;
                changed.insert(folder);
            }
            if !self.has(hash) {
                return Ok(Some(*hash));
            }
        }
        changed.iter().try_for_each(|folder| flush_folder(folder))?;
        Ok(None)
    }

    /// Gives a prepared file its second name, unless its content has a file or its own file was removed.
    fn place_file(&self, hash: &ContentHash, file: &PreparedFile) -> io::Result<()> {
        let path = self.path(hash);
        match std::fs::hard_link(file.path(), &path) {
            Err(error) => match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Ok(()),
                // The file system knows no second names.
                io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied => {
                    std::fs::rename(file.path(), path)
                }
                _ => Err(error),
            },
            linked => linked,
        }
    }

    /// The prepared files that killed processes left.
    pub(super) fn abandoned(&self) -> Result<AbandonedFiles> {
        self.prepared.abandoned().map_err(|error| fault(&error))
    }

    /// Removes every prepared file of a content.
    pub(super) fn remove_prepared(&self, hash: &ContentHash) -> Result<()> {
        self.prepared.remove_all_of(hash).map_err(|error| fault(&error))
    }

    /// Removes the blobs of contents that are not `named`, and the unfinished files of older versions.
    pub(super) fn retain(&self, mut named: impl FnMut(&ContentHash) -> Result<bool>) -> Result<()> {
        for folder in paths_in(&self.dir)? {
            if folder == self.prepared.dir() || !folder.is_dir() {
                continue;
            }
            for path in paths_in(&folder)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_left = match name.parse() {
                    Ok(hash) => !named(&hash)?,
                    Err(_) => name.starts_with(OLD_UNFINISHED),
                };
                if is_left {
                    remove_if_there(&path).map_err(|error| fault(&error))?;
                }
            }
            flush_folder(&folder)?;
        }
        Ok(())
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

/// The paths of a folder's entries.
fn paths_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    paths.map_err(|error| fault(&error))
}

/// Where a compressed content was written to.
pub(super) enum Written {
    Memory(Vec<u8>),
    /// A file, which is flushed.
    File(PreparedFile),
}

/// Writes a compressed content: to memory while it is small, then to a file.
pub(super) struct BlobWriter<'a> {
    folder: &'a BlobFolder,
    hash: ContentHash,
    limit: usize,
    buffered: Vec<u8>,
    file: Option<(PreparedFile, File)>,
}

impl<'a> BlobWriter<'a> {
    /// Holds up to `limit` bytes in memory.
    pub(super) fn new(folder: &'a BlobFolder, hash: ContentHash, limit: usize) -> Self {
        Self { folder, hash, limit, buffered: Vec::new(), file: None }
    }

    pub(super) fn finish(self) -> Result<Written> {
        let Some((prepared, file)) = self.file else { return Ok(Written::Memory(self.buffered)) };
        file.sync_all().map_err(|error| fault(&error))?;
        Ok(Written::File(prepared))
    }

    fn file(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            ensure_folder(self.folder.prepared.dir())?;
            let (prepared, mut file) = self.folder.prepared.create(&self.hash)?;
            file.write_all(&std::mem::take(&mut self.buffered))?;
            self.file = Some((prepared, file));
        }
        self.file.as_mut().map(|(_, file)| file).ok_or_else(|| io::Error::other("no file"))
    }
}

impl Write for BlobWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.buffered.len() + bytes.len() <= self.limit {
            self.buffered.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
