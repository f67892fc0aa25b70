//! Flushes the files of steps to disk: in the background, a moment after a step, and when a workspace is closed.
//!
//! An acknowledged step needs no flush, because the journal has its contents. Until the disk is flushed the
//! store keeps the identities of the files that the step placed, and recovery checks them after a restart of the
//! machine. Flushing early only keeps recovery short. If a flush fails, the next one tries again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use yard_core::{Result, WsPath};
use yard_disk::Disk;
use yard_store::{Mark, Seq, Store};

/// How long after a step the disk is flushed.
const DELAY: Duration = Duration::from_millis(1_000);
/// More steps or files than these are flushed by a flush of the whole file system.
const MAX_STEPS: Seq = 64;
const MAX_FILES: usize = 128;

/// Flushes one workspace's disk, on a thread that lives as long as there is something to flush.
pub(crate) struct Flusher {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    disk: Arc<Disk>,
    store: Arc<dyn Store>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Up to which step the disk has to be flushed.
    wanted: Mark,
    /// Up to which step it is flushed.
    flushed: Seq,
    is_running: bool,
    is_closing: bool,
}

impl Flusher {
    pub(crate) fn new(disk: Arc<Disk>, store: Arc<dyn Store>) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { shared: Arc::new(Shared { disk, store, state, changed }), thread: Mutex::default() }
    }

    /// Requests a flush of everything up to this mark, which must be on disk.
    pub(crate) fn flush_soon(&self, mark: Mark) {
        let mut state = self.shared.state.lock();
        state.wanted = mark;
        if state.is_running || mark.seq <= state.flushed {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("flusher".to_owned());
        let spawned = thread.spawn(move || shared.run());
        // Without a thread it is flushed when the workspace is closed, or after the next step.
        state.is_running = spawned.is_ok();
        drop(state);
        // The previous thread has ended, or is about to.
        std::mem::replace(&mut *self.thread.lock(), spawned.ok()).map(JoinHandle::join);
    }

    /// Notes that everything up to this step was flushed elsewhere.
    pub(crate) fn note_flushed(&self, seq: Seq) {
        let mut state = self.shared.state.lock();
        state.flushed = state.flushed.max(seq);
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.shared.state.lock().is_closing = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
        self.shared.flush();
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let is_open = |state: &mut State| !state.is_closing;
            self.changed.wait_while_for(&mut self.state.lock(), is_open, DELAY);
            let flushed = self.flush();
            let mut state = self.state.lock();
            // After a failure the next step, or the end, tries again.
            if state.is_closing || !flushed || state.wanted.seq <= state.flushed {
                state.is_running = false;
                return;
            }
        }
    }

    /// Flushes everything that was requested so far, and returns whether that worked.
    fn flush(&self) -> bool {
        let wanted = {
            let state = self.state.lock();
            if state.wanted.seq <= state.flushed {
                return true;
            }
            state.wanted
        };
        let flushed = flush_to(&self.disk, self.store.as_ref(), wanted).is_ok();
        if flushed {
            let mut state = self.state.lock();
            state.flushed = state.flushed.max(wanted.seq);
        }
        flushed
    }
}

/// Flushes everything up to a mark, and records that in the store.
fn flush_to(disk: &Disk, store: &dyn Store, mark: Mark) -> Result<()> {
    let flushed = store.flushed_mark()?.seq;
    if flushed >= mark.seq {
        return Ok(());
    }
    match touched(store, flushed, mark.seq)? {
        Some(touched) if touched.flush(disk) && touched.is_still_there(store, mark.seq)? => {}
        _ => disk.flush()?,
    }
    Ok(store.set_flushed_mark(mark)?)
}

/// The entries that a few steps touched.
#[derive(Default)]
struct Touched {
    /// Entries that exist after the steps.
    entries: BTreeSet<WsPath>,
    /// Folders in which names were added or removed.
    folders: BTreeSet<WsPath>,
}

/// The entries that the steps touched; `None` if they are too many to be flushed one by one.
fn touched(store: &dyn Store, after: Seq, until: Seq) -> Result<Option<Touched>> {
    if until - after > MAX_STEPS {
        return Ok(None);
    }
    let mut touched = Touched::default();
    for seq in after + 1..=until {
        for change in store.changes(seq)? {
            let paths = change.from.iter().chain(&change.to);
            touched.folders.extend(paths.filter_map(WsPath::parent));
            if let Some(from) = &change.from {
                touched.entries.remove(from);
                if change.to.is_some() && change.from != change.to && touched.is_below(from) {
                    // The recorded paths below it are wrong now: other files may be there.
                    return Ok(None);
                }
            }
            touched.entries.extend(change.to);
        }
        if touched.entries.len() > MAX_FILES {
            return Ok(None);
        }
    }
    Ok(Some(touched))
}

impl Touched {
    fn paths(&self) -> impl Iterator<Item = &WsPath> {
        self.entries.iter().chain(&self.folders)
    }

    /// Flushes each entry, and returns whether all of them existed. A missing one may have been moved by a step that is
    /// being projected, so that it is not certain that it is flushed.
    fn flush(&self, disk: &Disk) -> bool {
        self.paths().all(|path| disk.flush_entry(path).is_ok())
    }

    /// Whether one of the entries is at a path or below it.
    fn is_below(&self, path: &WsPath) -> bool {
        self.paths().any(|one| one.is_within(path))
    }

    /// Whether no later step moved one of the entries away. Otherwise a different file may have been flushed.
    fn is_still_there(&self, store: &dyn Store, until: Seq) -> Result<bool> {
        for seq in until + 1..=store.head()? {
            let changes = store.changes(seq)?;
            let mut left = changes.iter().filter(|change| change.from != change.to);
            if left.any(|change| change.from.as_ref().is_some_and(|from| self.is_below(from))) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
