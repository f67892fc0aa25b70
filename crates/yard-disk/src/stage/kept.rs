//! Whole files that are kept as versions. What is kept is durable when a function returns, unless its
//! name says otherwise.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use yard_core::{Result, WsPath};

use super::{Displaced, Shape, Stage, Staged};
use crate::beneath::Disk;
use crate::faults::write_fault;
use crate::folders::{names_in, open_existing, open_file};

impl Stage {
    /// The names of all kept files; none where they cannot be listed.
    pub fn kept_names(&self) -> Vec<String> {
        names_in(&self.kept).unwrap_or_default()
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

    /// Whether there are kept files that may be removed to make space.
    pub fn has_spares(&self) -> bool {
        self.spares.load(Ordering::Relaxed)
    }

    /// Notes that there are new kept files that may be removed to make space.
    pub fn note_spares(&self) {
        self.spares.store(true, Ordering::Relaxed);
        self.new_spares.store(true, Ordering::Relaxed);
    }

    /// Whether there are new ones since this was last called.
    pub fn take_new_spares(&self) -> bool {
        self.new_spares.swap(false, Ordering::Relaxed)
    }

    /// How much space a kept file takes that no other name shares; `None` if it is not there.
    pub fn kept_alone(&self, name: &str) -> Option<u64> {
        let raw = rustix::fs::statat(&self.kept, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let size = u64::try_from(raw.st_size).unwrap_or(0);
        Some(if raw.st_nlink > 1 { 0 } else { size })
    }

    /// Removes kept files for good.
    pub fn remove_kept(&self, names: &[String]) -> Result<()> {
        let fault = |errno| write_fault(errno, &WsPath::root());
        for name in names {
            match rustix::fs::unlinkat(&self.kept, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(fault(errno)),
            }
        }
        self.flush_kept().map_err(fault)
    }

    /// Makes the names of kept files durable.
    fn flush_kept(&self) -> std::result::Result<(), Errno> {
        rustix::fs::fsync(open_existing(&self.kept, ".")?)
    }

    /// Opens a kept file.
    pub fn open_kept(&self, name: &str) -> std::result::Result<File, Errno> {
        open_file(&self.kept, name)
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
}

impl Staged {
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
