//! The processes that have the workspace open: a locked file for each, in the state folder. A process that claimed
//! an approval in the store is alive as long as its file is locked; the system frees the lock when the process ends.
//! What becomes of the claims of ended processes is decided in the layers above.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::FlockOperation;
use yard_core::{ProcessId, Result, World};

use crate::folders::state_unusable;

/// The prefix of the name of a file that is not locked yet.
const UNLOCKED_PREFIX: &str = ".new-";

/// The processes of one workspace, and this one among them.
pub struct Processes {
    folder: PathBuf,
    /// This process, once it has a file, which is locked while it is open.
    own: Mutex<Option<(ProcessId, File)>>,
}

impl Processes {
    /// The processes with a file in the workspace's state folder. No file is made yet.
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("processes"), own: Mutex::default() }
    }

    /// The id of this process. From now on other processes can see whether it is alive.
    pub fn own(&self, world: &dyn World) -> Result<ProcessId> {
        let mut own = self.own.lock();
        if let Some((id, _)) = &*own {
            return Ok(*id);
        }
        let id = ProcessId::new(world);
        let file = self.enter(id).map_err(state_unusable)?;
        *own = Some((id, file));
        Ok(id)
    }

    /// Whether the process with this id still has the workspace open.
    pub fn is_alive(&self, id: ProcessId) -> bool {
        let is_own = self.own.lock().as_ref().is_some_and(|(own, _)| *own == id);
        is_own || is_locked(&self.file(id))
    }

    /// Makes the file of this process. It is locked before it gets its name, so that it never looks like the file of a
    /// process that ended.
    fn enter(&self, id: ProcessId) -> io::Result<File> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.sweep();
        let unfinished = self.folder.join(format!("{UNLOCKED_PREFIX}{id}"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(&unfinished, self.file(id))?;
        Ok(file)
    }

    /// Removes the files of processes that ended.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_finished = !entry.file_name().to_string_lossy().starts_with(UNLOCKED_PREFIX);
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
        let own = self.own.lock().take();
        if let Some((id, _file)) = own {
            let _ = fs::remove_file(self.file(id));
        }
    }
}

/// Whether a process has locked a file. A file that exists and cannot be opened counts as locked: treating a living
/// process as ended would do things twice.
fn is_locked(path: &Path) -> bool {
    match OpenOptions::new().read(true).open(path) {
        Ok(file) => rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}
