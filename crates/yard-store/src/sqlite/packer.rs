//! Compression in the background. A content that a caller waits for is stored uncompressed; the packer compresses
//! it in its row once no step has come for a moment, or when the store is closed.
//!
//! It changes the form of contents and nothing else: bytes, hashes and history stay the same. If it fails, or never
//! runs, only space is lost.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::connections::{Connections, Flush};
use super::content;
use crate::blobs::compressed;
use crate::{Prepared, Result};

/// The packer starts when no uncompressed content has come for this long.
const QUIET: Duration = Duration::from_millis(200);
/// With so many waiting contents it starts even if more keep coming.
const BACKLOG: u64 = 4_096;
/// Contents that are packed in one transaction. Writers wait for it.
const AT_ONCE: usize = 32;

/// Packs the contents given to [`Packer::appended`], on a thread that lives as long as there is work.
#[derive(Debug)]
pub(super) struct Packer {
    db: Arc<Connections>,
    work: Arc<Work>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Work {
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Contents that wait to be packed.
    waiting: u64,
    running: bool,
    closing: bool,
}

impl Packer {
    pub(super) fn new(db: Arc<Connections>) -> Self {
        Self { db, work: Arc::default(), thread: Mutex::default() }
    }

    /// Counts the contents of a batch that can be packed, and starts the thread if there are any.
    pub(super) fn appended(&self, contents: &[Prepared]) {
        let hurried = contents.iter().filter(|prepared| prepared.is_hurried()).count();
        if hurried == 0 {
            return;
        }
        let mut state = self.work.state.lock();
        state.waiting += hurried as u64;
        if !state.running {
            let (db, work) = (Arc::clone(&self.db), Arc::clone(&self.work));
            let thread = std::thread::Builder::new().name("packer".to_owned());
            let spawned = thread.spawn(move || work.through(&db));
            // Without a thread the contents stay as they are until the next ones come.
            state.running = spawned.is_ok();
            *self.thread.lock() = spawned.ok();
        }
    }
}

impl Drop for Packer {
    fn drop(&mut self) {
        self.work.state.lock().closing = true;
        self.work.woken.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
        if self.work.state.lock().waiting > 0 {
            // A command closes the store after a step or two: its contents are packed now.
            let _ = pack(&self.db);
        }
    }
}

impl Work {
    /// Packs whenever it is quiet, until nothing is left or the store is closed.
    fn through(&self, db: &Connections) {
        while self.wait_for_quiet() {
            while !self.state.lock().closing && matches!(pack(db), Ok(true)) {}
        }
    }

    /// Waits until it is quiet and returns whether there is something to pack. If not, the thread ends.
    fn wait_for_quiet(&self) -> bool {
        let mut state = self.state.lock();
        while state.waiting > 0 && !state.closing {
            let before = state.waiting;
            self.woken.wait_for(&mut state, QUIET);
            if !state.closing && (state.waiting == before || state.waiting >= BACKLOG) {
                state.waiting = 0;
                return true;
            }
        }
        state.running = false;
        false
    }
}

/// Packs the oldest contents that were not looked at yet. Returns whether there are more.
fn pack(db: &Connections) -> Result<bool> {
    let fresh = db.read(|connection| content::unpacked(connection, AT_ONCE))?;
    let Some((last, _)) = fresh.last() else { return Ok(false) };
    let packed = fresh.iter().map(|(row, bytes)| Ok((*row, compressed(bytes)?)));
    let packed = packed.collect::<Result<Vec<_>>>()?;
    db.write(Flush::Later, |connection| content::pack(connection, &packed, *last))?;
    Ok(fresh.len() == AT_ONCE)
}
