//! Which processes have the workspace open: a locked file for each, in the state folder. Whoever claimed
//! something in the store is alive for as long as its file is locked; the system frees the lock when the
//! process ends, however it ends. It decides nothing: what becomes of a claim is decided above.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::FlockOperation;
use yard_core::{ProcessId, Result, World};

use crate::folders::state_unusable;

/// How the name of a file begins that is not locked yet.
const UNFINISHED: &str = ".new-";

/// The processes of one workspace, and this one among them.
pub struct Processes {
    folder: PathBuf,
    /// This process, once it had to be known to others. The file is locked while it is open.
    own: Mutex<Option<(ProcessId, File)>>,
}

impl Processes {
    /// Those that are known in the workspace's state folder. Nothing is made yet.
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("processes"), own: Mutex::default() }
    }

    /// This process. From now on others can tell whether it is alive.
    pub fn own(&self, world: &dyn World) -> Result<ProcessId> {
        let mut own = self.known();
        if let Some((id, _)) = &*own {
            return Ok(*id);
        }
        let id = ProcessId::new(world);
        let file = self.enter(id).map_err(state_unusable)?;
        *own = Some((id, file));
        Ok(id)
    }

    fn known(&self) -> MutexGuard<'_, Option<(ProcessId, File)>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a process that was known under this id still has the workspace open.
    pub fn is_alive(&self, id: ProcessId) -> bool {
        let is_own = self.known().as_ref().is_some_and(|(own, _)| *own == id);
        is_own || is_locked(&self.file(id))
    }

    /// Makes the file of this process: locked before it has its name, so that nobody takes it for that of a
    /// process that ended.
    fn enter(&self, id: ProcessId) -> io::Result<File> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.sweep();
        let unfinished = self.folder.join(format!("{UNFINISHED}{id}"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(&unfinished, self.file(id))?;
        Ok(file)
    }

    /// Removes the files of processes that ended.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_finished = !entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            if is_finished && !is_locked(&entry.path()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn file(&self, id: ProcessId) -> PathBuf {
        self.folder.join(id.to_string())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        let own = self.known().take();
        if let Some((id, _file)) = own {
            let _ = fs::remove_file(self.file(id));
        }
    }
}

/// Whether somebody holds the lock of a file. One that cannot be opened for another reason than that it is
/// gone counts as held: taking somebody for dead who is not would do things twice.
fn is_locked(path: &Path) -> bool {
    match OpenOptions::new().read(true).open(path) {
        Ok(file) => rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}
