//! Folders that nobody needs any more: they leave their place at once, and are emptied by a thread that
//! nobody waits for. To free what a command wrote may take a disk longer than the command took.
//!
//! What a crash leaves of them goes at the next opening. Nothing in them is ever read.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, FileType as RawType, Mode};
use rustix::io::Errno;

use crate::folders::{entries_in, open_existing, open_folder, rename_new};

/// Where dropped folders go, and the thread that empties them; it lives as long as there is work. A copy is the
/// same one.
#[derive(Clone)]
pub struct Dropped(Arc<Shared>);

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

impl Dropped {
    /// Takes up what a crash left.
    pub(super) fn open(data: impl AsFd) -> Result<Self, Errno> {
        let folder = open_folder(data.as_fd(), "dropped")?;
        let left = entries_in(&folder)?.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let shared = Shared { folder, state: Mutex::default(), idle: Condvar::new() };
        let dropped = Self(Arc::new(shared));
        if !left.is_empty() {
            dropped.begin(left);
        }
        Ok(dropped)
    }

    /// Removes a folder with everything in it. What cannot be removed goes at the next opening.
    pub(super) fn take(&self, from: &OwnedFd, name: &str) {
        // Two processes may drop the same one: one of them finds it gone.
        match rename_new(from, name, &self.0.folder, name) {
            Ok(()) => self.begin(vec![name.as_bytes().to_vec()]),
            Err(Errno::NOENT) => {}
            Err(_) => {
                let _ = remove(from, OsStr::new(name));
            }
        }
    }

    /// The same for a folder whose name says nothing: others of that name may have been dropped.
    pub(super) fn take_any(&self, from: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let process = rustix::process::getpid().as_raw_nonzero();
        loop {
            let unique = format!("any-{process}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
            match rename_new(from, name, &self.0.folder, &unique) {
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
                Ok(()) => {
                    self.begin(vec![unique.into_bytes()]);
                    return Ok(());
                }
            }
        }
    }

    fn begin(&self, names: Vec<Vec<u8>>) {
        let mut state = self.0.held();
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

    /// Waits until nothing is left of what was dropped.
    pub(super) fn settle(&self) {
        let mut state = self.0.held();
        while state.running {
            state = self.0.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.settle();
    }
}

impl Shared {
    fn held(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn empty(&self) {
        while let Some(name) = self.next() {
            let _ = remove(&self.folder, OsStr::from_bytes(&name));
        }
    }

    /// The next one; after the last, whoever waits is told.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.held();
        let next = state.waiting.pop();
        if next.is_none() {
            state.running = false;
            self.idle.notify_all();
        }
        next
    }
}

/// Removes a folder with everything in it.
fn remove(parent: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let folder = open_existing(parent, name)?;
    clear(&folder)?;
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Removes everything in a folder. A loop, not a recursion: a tree may be deeper than a thread's stack,
/// and than there are handles; so folders are emptied by bringing what is in them up here.
fn clear(folder: &OwnedFd) -> std::result::Result<(), Errno> {
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
            // What the command made unreadable is removed all the same.
            let _ = rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty());
            let inside = open_existing(folder, name)?;
            for (inner, kind) in entries_in(&inside)? {
                let inner = OsStr::from_bytes(&inner);
                if kind != RawType::Directory {
                    rustix::fs::unlinkat(&inside, inner, AtFlags::empty())?;
                    continue;
                }
                let _ = rustix::fs::chmodat(&inside, inner, Mode::RWXU, AtFlags::empty());
                loop {
                    next += 1;
                    let aside = format!(".gone-{next}");
                    match rename_new(&inside, inner, folder, &aside) {
                        Err(Errno::EXIST) => {}
                        moved => break moved?,
                    }
                }
            }
            rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?;
        }
    }
}
