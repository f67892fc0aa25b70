//! Removes folders in the background: a folder is renamed at once, and a thread deletes its contents, because deleting
//! what a command wrote may take longer than the command took.
//!
//! What a crash leaves is deleted when the queue is opened next. No file in these folders is read.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::fs::{AtFlags, FileType as RawType};
use rustix::io::Errno;
use yard_core::{Call, Result};

use crate::folders::{DiskResult, entries_in, open_folder, rename_new};
use crate::opened::{Opened, open_up, unless_gone};

/// How often a call that waits is checked.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// The folder of removed folders, and the thread that empties it, which lives as long as there is work. A clone is the
/// same queue.
#[derive(Clone)]
pub struct RemovalQueue(Arc<Shared>);

struct Shared {
    folder: OwnedFd,
    state: Mutex<State>,
    idle: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Vec<u8>>,
    running: bool,
}

impl RemovalQueue {
    /// Opens the queue, and continues with what a crash left.
    pub(crate) fn open(data: impl AsFd) -> DiskResult<Self> {
        let folder = open_folder(data.as_fd(), "dropped")?;
        let left = entries_in(&folder)?.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let shared = Shared { folder, state: Mutex::default(), idle: Condvar::new() };
        let dropped = Self(Arc::new(shared));
        if !left.is_empty() {
            dropped.begin(left);
        }
        Ok(dropped)
    }

    /// Removes a folder with everything in it. What cannot be deleted now is tried again at the next opening.
    pub(crate) fn take(&self, from: &OwnedFd, name: &str) {
        // Two processes may remove the same folder: one of them finds it gone.
        match self.take_any(from, name.as_bytes()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(_) => {
                let _ = remove(from, OsStr::new(name));
            }
        }
    }

    /// As [`RemovalQueue::take`], and fails where that leaves the folder to the next opening.
    pub(crate) fn take_any(&self, from: &OwnedFd, name: &[u8]) -> DiskResult {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let process = rustix::process::getpid().as_raw_nonzero();
        loop {
            let unique = format!("any-{process}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
            match rename_new(from, name, &self.0.folder, &unique) {
                Err(Errno::EXIST) => {}
                renamed => return renamed.map(|()| self.begin(vec![unique.into_bytes()])),
            }
        }
    }

    /// Removes an entry; a folder with everything in it.
    pub(crate) fn take_entry(&self, folder: &OwnedFd, name: &[u8], kind: RawType) -> DiskResult {
        if kind != RawType::Directory {
            return rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
        // A folder without write permission cannot be moved to another folder. Its mode is not restored: it has to be
        // written into when it is deleted.
        open_up(folder, name)?;
        self.take_any(folder, name)
    }

    /// Removes what is nested deeper than `levels` below a folder: its own entries are the first level.
    pub(crate) fn prune(&self, folder: &OwnedFd, levels: usize) -> DiskResult {
        for (name, kind) in unless_gone(entries_in(folder))?.unwrap_or_default() {
            let pruned = match (kind, levels.checked_sub(1)) {
                (RawType::Directory, Some(below)) => {
                    Opened::at(folder, &name).and_then(|inside| self.prune(&inside.folder, below))
                }
                (_, Some(_)) => Ok(()),
                (kind, None) => self.take_entry(folder, &name, kind),
            };
            unless_gone(pruned)?;
        }
        Ok(())
    }

    fn begin(&self, names: Vec<Vec<u8>>) {
        let mut state = self.0.state.lock();
        state.waiting.extend(names);
        if state.running {
            return;
        }
        state.running = true;
        drop(state);
        let shared = Arc::clone(&self.0);
        let spawned =
            thread::Builder::new().name("dropped".to_owned()).spawn(move || shared.empty());
        if spawned.is_err() {
            self.0.empty();
        }
    }

    /// Waits until the queue is empty, as long as the call may take.
    pub(crate) fn settle_within(&self, call: &Call) -> Result<()> {
        let mut state = self.0.state.lock();
        while state.running {
            call.check()?;
            self.0.idle.wait_for(&mut state, CHECK_EVERY);
        }
        Ok(())
    }

    /// Waits until the queue is empty.
    pub(crate) fn settle(&self) {
        let mut state = self.0.state.lock();
        while state.running {
            self.0.idle.wait(&mut state);
        }
    }
}

impl Drop for RemovalQueue {
    fn drop(&mut self) {
        self.settle();
    }
}

impl Shared {
    fn empty(&self) {
        while let Some(name) = self.next() {
            let _ = remove(&self.folder, OsStr::from_bytes(&name));
        }
    }

    /// The next name; `None` after the last one, when waiting threads are woken.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        let next = state.waiting.pop();
        if next.is_none() {
            state.running = false;
            self.idle.notify_all();
        }
        next
    }
}

/// Removes a folder with everything in it.
fn remove(parent: &OwnedFd, name: &OsStr) -> DiskResult {
    // A command may have taken away the right to write into the folder, as Go does in its module cache.
    let (folder, _) = open_up(parent, name)?;
    clear(&folder)?;
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Removes everything in a folder. A tree may be too deep for the stack of a thread or for the limit on open files, so
/// this is a loop, which moves the folders inside of a folder up before it removes the folder.
fn clear(folder: &OwnedFd) -> DiskResult {
    let mut next = 0_u64;
    loop {
        let names = entries_in(folder)?;
        if names.is_empty() {
            return Ok(());
        }
        for (name, kind) in names {
            let name = OsStr::from_bytes(&name);
            if kind != RawType::Directory {
                rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
                continue;
            }
            // The command may have made the folder unreadable.
            let (inside, _) = open_up(folder, name)?;
            for (inner, kind) in entries_in(&inside)? {
                let inner = OsStr::from_bytes(&inner);
                if kind != RawType::Directory {
                    rustix::fs::unlinkat(&inside, inner, AtFlags::empty())?;
                    continue;
                }
                // A folder without write permission cannot be moved to another folder.
                let _ = open_up(&inside, inner);
                loop {
                    next += 1;
                    let new_name = format!(".gone-{next}");
                    match rename_new(&inside, inner, folder, &new_name) {
                        Err(Errno::EXIST) => {}
                        moved => break moved?,
                    }
                }
            }
            rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::attributes::tests::as_ordinary_user;

    #[test]
    fn a_folder_without_write_permission_is_removed_with_everything_in_it() {
        let data = tempfile::tempdir().unwrap();
        as_ordinary_user(data.path(), || {
            let handle = open_folder(rustix::fs::CWD, data.path().as_os_str()).unwrap();
            let queue = RemovalQueue::open(&handle).unwrap();
            let module = data.path().join("module");
            fs::create_dir_all(module.join("inside")).unwrap();
            fs::write(module.join("inside/file"), "x").unwrap();
            for folder in [module.join("inside"), module.clone()] {
                fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
            }
            // As a crash leaves it: in the folder of the queue, which is opened again.
            fs::set_permissions(&module, Permissions::from_mode(0o755)).unwrap();
            fs::rename(&module, data.path().join("dropped/module")).unwrap();
            let left = data.path().join("dropped/module");
            fs::set_permissions(&left, Permissions::from_mode(0o555)).unwrap();
            drop(queue);
            RemovalQueue::open(&handle).unwrap().settle();
            assert!(!left.exists());
        });
    }
}
