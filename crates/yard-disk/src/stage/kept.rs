//! Kept files: whole files that hold the contents of versions. A new name is durable when a function returns, unless
//! the function's name says otherwise.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use yard_core::{Call, Result, WsPath};

use super::{Displaced, Stage, Staged, StagedAttributes, StagedEntry};
use crate::disk::Disk;
use crate::faults::write_fault;
use crate::folders::{DiskResult, names_in, open_existing, open_file};

impl Stage {
    /// The names of all kept files; none if they cannot be listed.
    pub fn kept_names(&self) -> Vec<String> {
        names_in(&self.kept).unwrap_or_default()
    }

    /// Makes a displaced file the kept file `name`; durable when this returns.
    pub fn keep(&self, displaced: &Displaced, name: &str) -> DiskResult {
        rustix::fs::renameat(&self.folder, &displaced.name, &self.kept, name)?;
        self.flush_kept()
    }

    /// Whether a kept file exists.
    pub fn has_kept(&self, name: &str) -> bool {
        rustix::fs::statat(&self.kept, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether there are kept files that may be removed to make space.
    pub fn has_evictable(&self) -> bool {
        self.has_evictable.load(Ordering::Relaxed)
    }

    /// Records that there are new kept files that may be removed to make space.
    pub fn note_evictable(&self) {
        self.has_evictable.store(true, Ordering::Relaxed);
        self.has_new_evictable.store(true, Ordering::Relaxed);
    }

    /// Whether there are new files that may be removed since the last call of this function.
    pub fn take_new_evictable(&self) -> bool {
        self.has_new_evictable.swap(false, Ordering::Relaxed)
    }

    /// How much space removing a kept file would free; `None` if it does not exist.
    pub fn kept_alone(&self, name: &str) -> Option<u64> {
        let raw = rustix::fs::statat(&self.kept, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let size = u64::try_from(raw.st_size).unwrap_or(0);
        Some(if raw.st_nlink > 1 { 0 } else { size })
    }

    /// Removes kept files for good.
    pub fn remove_kept(&self, names: &[String]) -> Result<()> {
        let to_fault = |errno| write_fault(errno, &WsPath::root());
        for name in names {
            match rustix::fs::unlinkat(&self.kept, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(to_fault(errno)),
            }
        }
        self.flush_kept().map_err(to_fault)
    }

    /// Makes the names of kept files durable.
    fn flush_kept(&self) -> DiskResult {
        rustix::fs::fsync(open_existing(&self.kept, ".")?)
    }

    /// Opens a kept file.
    pub fn open_kept(&self, name: &str) -> DiskResult<File> {
        open_file(&self.kept, name)
    }

    /// Stages a copy of a kept file.
    pub fn copy_of_kept(
        self: &Arc<Self>,
        disk: &Disk,
        name: &str,
        shape: &StagedAttributes,
        path: &WsPath,
        call: &Call,
    ) -> Result<Staged> {
        let source = self.open_kept(name).map_err(|errno| write_fault(errno, path))?;
        self.copy(disk, source, shape, path, call)
    }
}

impl Staged {
    /// Gives a flushed file a second name among the kept ones, durable when this returns.
    pub fn keep_too(&self, name: &str, path: &WsPath) -> Result<NewlyKept> {
        let newly = self.keep_unflushed(name).map_err(|errno| write_fault(errno, path))?;
        self.entry.stage.flush_kept().map_err(|errno| write_fault(errno, path))?;
        Ok(newly)
    }

    /// Gives it a second name among the kept ones, which is durable once the stage is flushed.
    pub fn keep_unflushed(&self, name: &str) -> DiskResult<NewlyKept> {
        let StagedEntry { stage, name: own, .. } = &self.entry;
        rustix::fs::linkat(&stage.folder, own, &stage.kept, name, AtFlags::empty())?;
        Ok(NewlyKept { stage: Arc::clone(stage), name: name.to_owned(), stays: false })
    }
}

/// A kept file whose step is not recorded yet. Dropping it removes the file, unless [`NewlyKept::stays`] was called.
pub struct NewlyKept {
    stage: Arc<Stage>,
    name: String,
    stays: bool,
}

impl NewlyKept {
    /// Its name among the kept files.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file stays: its step is about to be recorded, or may be recorded already.
    pub fn stays(&mut self) {
        self.stays = true;
    }

    /// The file is removed when this is dropped, because its step was not recorded.
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
