//! The files that several processes on one root share: the workspace's lock, the presence of living
//! processes, and the mark of what was applied to the disk.
//!
//! The mark needs no flush: it names the boot under which it was written, and within one boot the page
//! cache keeps it, whatever happens to the process. After another boot it does not count.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use yard_core::{Call, Fault, FaultCode, Result};
use yard_store::Mark;

/// First pause between two tries for a lock that another process holds.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// The shared files of one workspace.
pub(crate) struct Locks {
    lock: File,
    /// The system gives the lock to a process, however many of its threads ask: this is who of them has it.
    taken: AtomicBool,
    /// The same once more: who looks through it holds nothing that this process has locked.
    glance: File,
    presence: File,
    applied: File,
}

/// The workspace's lock, held. Dropped, it is free.
pub(crate) struct WorkspaceLock<'a>(&'a Locks);

impl Drop for WorkspaceLock<'_> {
    fn drop(&mut self) {
        // Closing the file or the end of the process would free it too.
        let _ = rustix::fs::flock(&self.0.lock, FlockOperation::Unlock);
        self.0.taken.store(false, Ordering::Release);
    }
}

impl Locks {
    /// Opens (or makes) the files in the workspace's state folder.
    pub(crate) fn open(state: &Path) -> Result<Self> {
        let open = |name: &str| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(state.join(name))
                .map_err(|error| unusable(&error))
        };
        let (lock, glance) = (open("lock")?, open("lock")?);
        let (presence, applied) = (open("presence")?, open("applied")?);
        Ok(Self { lock, taken: AtomicBool::new(false), glance, presence, applied })
    }

    /// Whether nobody changes anything at the moment, in this process or another.
    pub(crate) fn is_free(&self) -> bool {
        let free = rustix::fs::flock(&self.glance, FlockOperation::NonBlockingLockShared).is_ok();
        free && rustix::fs::flock(&self.glance, FlockOperation::Unlock).is_ok()
    }

    /// Takes the workspace's lock, waiting for other threads and processes as long as the call may take.
    pub(crate) fn acquire(&self, call: &Call) -> Result<WorkspaceLock<'_>> {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(lock) = self.try_acquire()? {
                return Ok(lock);
            }
            call.check()?;
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn try_acquire(&self) -> Result<Option<WorkspaceLock<'_>>> {
        if self.taken.swap(true, Ordering::Acquire) {
            return Ok(None);
        }
        let locked = rustix::fs::flock(&self.lock, FlockOperation::NonBlockingLockExclusive);
        let Err(errno) = locked else { return Ok(Some(WorkspaceLock(self))) };
        self.taken.store(false, Ordering::Release);
        match errno {
            Errno::WOULDBLOCK | Errno::INTR => Ok(None),
            errno => Err(unusable(&errno.into())),
        }
    }

    /// Whether this is the only living process on the workspace. Asked by whoever holds the
    /// workspace's lock: else two could wait for each other, one for the lock, one in [`Locks::share`].
    pub(crate) fn enter(&self) -> bool {
        rustix::fs::flock(&self.presence, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Lets other processes in, while this one is present.
    pub(crate) fn share(&self) -> Result<()> {
        rustix::fs::flock(&self.presence, FlockOperation::LockShared)
            .map_err(|errno| unusable(&errno.into()))
    }

    /// What the disk is known to hold; nothing if the mark was never written.
    pub(crate) fn applied(&self) -> Result<Mark> {
        let mut bytes = [0; 24];
        match self.applied.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Mark::default());
            }
            Err(error) => return Err(unusable(&error)),
        }
        let (mut boot, mut seq) = ([0; 16], [0; 8]);
        boot.copy_from_slice(&bytes[..16]);
        seq.copy_from_slice(&bytes[16..]);
        Ok(Mark { boot: u128::from_le_bytes(boot), seq: u64::from_le_bytes(seq) })
    }

    /// Moves the mark.
    pub(crate) fn set_applied(&self, mark: Mark) -> Result<()> {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&mark.boot.to_le_bytes());
        bytes[16..].copy_from_slice(&mark.seq.to_le_bytes());
        self.applied.write_all_at(&bytes, 0).map_err(|error| unusable(&error))
    }
}

fn unusable(error: &io::Error) -> Fault {
    Fault::new(FaultCode::Io, format!("the workspace's state folder cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_held_by_one_thread_of_one_process() {
        let state = tempfile::tempdir().unwrap();
        // As two processes have it: each has files of its own.
        let (ours, theirs) =
            (Locks::open(state.path()).unwrap(), Locks::open(state.path()).unwrap());
        let held = ours.try_acquire().unwrap();
        assert!(held.is_some() && !ours.is_free());
        assert!(ours.try_acquire().unwrap().is_none(), "another thread");
        assert!(theirs.try_acquire().unwrap().is_none(), "another process");
        drop(held);
        let held = theirs.try_acquire().unwrap();
        assert!(held.is_some() && ours.try_acquire().unwrap().is_none());
        drop(held);
        assert!(ours.try_acquire().unwrap().is_some());
    }
}
