//! The files that all processes on one workspace share: the workspace's lock, the presence lock, and the applied mark.
//!
//! The mark is the *name* of an empty file, `applied.<step>.<boot>`, and moving it is one rename. Within one boot the
//! page cache has it, whatever happens to the process. After a power loss it may be behind, but never ahead: a
//! journalling file system makes renames durable in the order in which they happened, so that every file that the mark
//! covers was put in place durably.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use yard_core::{Call, Result};
use yard_store::Mark;

use crate::disk::{DiskCall, Probe};
use crate::folders::{DiskResult, names_in, open_file, open_folder, state_unusable};

/// How the name of the mark begins.
const APPLIED: &str = "applied.";
/// How often the folder is listed, because a listing may miss a name that is renamed meanwhile.
const MAX_LISTINGS: usize = 8;
/// The mark of versions before 0.2: a file with boot and step in it.
const OLD_APPLIED: &str = "applied";
/// First pause between two tries for a lock that another process holds.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// The shared files of one workspace.
pub struct Locks {
    lock: File,
    /// Whether a thread of this process has the lock, because the system's lock belongs to the process.
    taken: AtomicBool,
    presence: File,
    state: OwnedFd,
    /// The mark as this process read it last. Another process may have moved it since.
    applied: Mutex<Option<Mark>>,
    probe: Option<Arc<dyn Probe>>,
}

/// The workspace's lock, until this is dropped.
pub struct WorkspaceLock<'a>(&'a Locks);

impl Drop for WorkspaceLock<'_> {
    fn drop(&mut self) {
        // If this fails, closing the file or the end of the process frees the lock.
        let _ = rustix::fs::flock(&self.0.lock, FlockOperation::Unlock);
        self.0.taken.store(false, Ordering::Release);
    }
}

impl Locks {
    /// Opens (or makes) the files in the workspace's state folder. A probe is asked before the mark is moved.
    pub fn open(state: &Path, probe: Option<Arc<dyn Probe>>) -> Result<Self> {
        let open = |name: &str| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(state.join(name))
                .map_err(state_unusable)
        };
        let lock = open("lock")?;
        let presence = open("presence")?;
        let folder = open_folder(rustix::fs::CWD, state.as_os_str());
        let state = folder.map_err(state_unusable)?;
        let (taken, applied) = (AtomicBool::new(false), Mutex::default());
        Ok(Self { lock, taken, presence, state, applied, probe })
    }

    /// Takes the workspace's lock, waiting for other threads and processes as long as the call may take.
    pub fn acquire(&self, call: &Call) -> Result<WorkspaceLock<'_>> {
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
            errno => Err(state_unusable(errno)),
        }
    }

    /// Takes the presence lock exclusively, if this is the only process on the workspace; returns whether it is. The
    /// caller holds the workspace's lock: else two processes could wait for each other, one for that lock, the other in
    /// [`Locks::share`].
    pub fn enter(&self) -> bool {
        rustix::fs::flock(&self.presence, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Takes the presence lock together with other processes.
    pub fn share(&self) -> Result<()> {
        rustix::fs::flock(&self.presence, FlockOperation::LockShared).map_err(state_unusable)
    }

    /// The step up to which all steps were applied to the disk; `None` before the first. Without the workspace's lock
    /// the result may be outdated.
    pub fn applied(&self) -> Result<Option<Mark>> {
        let mut cached = self.applied.lock();
        if let Some(mark) = *cached
            && self.has(&mark_name(mark))
        {
            return Ok(Some(mark));
        }
        let mut found = None;
        for _ in 0..MAX_LISTINGS {
            found = self.find_applied().map_err(state_unusable)?;
            if found.is_some() || cached.is_none() {
                break;
            }
        }
        *cached = found;
        match found {
            Some(mark) => Ok(Some(mark)),
            None => self.old_applied(),
        }
    }

    fn has(&self, name: &str) -> bool {
        rustix::fs::statat(&self.state, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    fn find_applied(&self) -> DiskResult<Option<Mark>> {
        let names = names_in(&self.state)?;
        Ok(names.iter().filter_map(|name| parse_mark(name)).max_by_key(|mark| mark.seq))
    }

    fn old_applied(&self) -> Result<Option<Mark>> {
        let file = match open_file(&self.state, OLD_APPLIED) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(state_unusable(errno)),
        };
        let mut bytes = [0; 24];
        match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(state_unusable(error)),
        }
        let (mut boot, mut seq) = ([0; 16], [0; 8]);
        boot.copy_from_slice(&bytes[..16]);
        seq.copy_from_slice(&bytes[16..]);
        Ok(Some(Mark { boot: u128::from_le_bytes(boot), seq: u64::from_le_bytes(seq) }))
    }

    /// Moves the mark. The caller holds the workspace's lock.
    pub fn set_applied(&self, mark: Mark) -> Result<()> {
        if let Some(probe) = &self.probe {
            probe.before(DiskCall::Mark).map_err(state_unusable)?;
        }
        let mut cached = self.applied.lock();
        let to_fault = state_unusable;
        let former = match *cached {
            Some(former) if self.has(&mark_name(former)) => Some(former),
            _ => self.find_applied().map_err(to_fault)?,
        };
        match former {
            Some(former) if former == mark => {}
            Some(former) => {
                let (from, to) = (mark_name(former), mark_name(mark));
                rustix::fs::renameat(&self.state, from, &self.state, to).map_err(to_fault)?;
            }
            None => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
                let mode = Mode::from_raw_mode(0o600);
                rustix::fs::openat(&self.state, mark_name(mark), flags, mode).map_err(to_fault)?;
                match rustix::fs::unlinkat(&self.state, OLD_APPLIED, AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(errno) => return Err(to_fault(errno)),
                }
            }
        }
        *cached = Some(mark);
        Ok(())
    }
}

fn mark_name(mark: Mark) -> String {
    format!("{APPLIED}{}.{:032x}", mark.seq, mark.boot)
}

fn parse_mark(name: &str) -> Option<Mark> {
    let (seq, boot) = name.strip_prefix(APPLIED)?.split_once('.')?;
    Some(Mark { seq: seq.parse().ok()?, boot: u128::from_str_radix(boot, 16).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_moved_by_one_rename_and_found_by_another_process() {
        let state = tempfile::tempdir().unwrap();
        let open = || Locks::open(state.path(), None).unwrap();
        let (ours, theirs) = (open(), open());
        assert_eq!(ours.applied().unwrap(), None);
        for (seq, boot) in [(1, 7), (2, 7), (2, u128::MAX), (1, 7)] {
            ours.set_applied(Mark { seq, boot }).unwrap();
            assert_eq!(ours.applied().unwrap(), Some(Mark { seq, boot }));
            assert_eq!(theirs.applied().unwrap(), Some(Mark { seq, boot }));
        }
        theirs.set_applied(Mark { seq: 9, boot: 7 }).unwrap();
        assert_eq!(ours.applied().unwrap(), Some(Mark { seq: 9, boot: 7 }));
        let names = names_in(&ours.state).unwrap();
        let marks = names.iter().filter(|name| name.starts_with(APPLIED)).count();
        assert_eq!(marks, 1, "{names:?}");
    }

    #[test]
    fn the_mark_of_an_older_version_is_read_and_replaced() {
        let state = tempfile::tempdir().unwrap();
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&5_u128.to_le_bytes());
        bytes[16..].copy_from_slice(&3_u64.to_le_bytes());
        std::fs::write(state.path().join(OLD_APPLIED), bytes).unwrap();
        let locks = Locks::open(state.path(), None).unwrap();
        assert_eq!(locks.applied().unwrap(), Some(Mark { seq: 3, boot: 5 }));
        locks.set_applied(Mark { seq: 4, boot: 5 }).unwrap();
        assert_eq!(locks.applied().unwrap(), Some(Mark { seq: 4, boot: 5 }));
        assert!(!state.path().join(OLD_APPLIED).exists());
    }

    #[test]
    fn the_lock_is_held_by_one_thread_of_one_process() {
        let state = tempfile::tempdir().unwrap();
        // Each has files of its own, as two processes do.
        let open = || Locks::open(state.path(), None).unwrap();
        let (ours, theirs) = (open(), open());
        let held = ours.try_acquire().unwrap();
        assert!(held.is_some());
        assert!(ours.try_acquire().unwrap().is_none(), "another thread");
        assert!(theirs.try_acquire().unwrap().is_none(), "another process");
        drop(held);
        let held = theirs.try_acquire().unwrap();
        assert!(held.is_some() && ours.try_acquire().unwrap().is_none());
        drop(held);
        assert!(ours.try_acquire().unwrap().is_some());
    }
}
