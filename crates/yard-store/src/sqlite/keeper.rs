//! Housekeeping that nobody waits for: it works the log into the database, and compresses contents
//! that came in a hurry once no step has come for a moment, or when the store is closed.
//!
//! It changes where and how things are stored and nothing else: bytes, hashes and history stay what
//! they are. If it fails, or never gets to it, only time and space are lost.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::connections::{Connections, Flush, LOG_BYTES, held};
use super::content;
use crate::blobs::compressed;
use crate::{Batch, Prepared, Result};

/// How long no step may have come before contents are packed.
const QUIET: Duration = Duration::from_millis(200);
/// So many hurried contents are packed even if steps keep coming.
const BACKLOG: u64 = 4_096;
/// Contents a transaction: writers wait for it.
const AT_ONCE: usize = 32;
/// What a step adds to the log beside its contents, about.
const STEP_BYTES: u64 = 8 << 10;

/// Keeps house on a thread that lives as long as there is something to do.
#[derive(Debug)]
pub(super) struct Keeper {
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
    /// Batches that ever came.
    batches: u64,
    /// Hurried contents that were not packed yet.
    hurried: u64,
    /// Bytes in the log, about.
    logged: u64,
    running: bool,
    closing: bool,
}

enum Task {
    WorkInLog,
    Pack,
    Stop,
}

impl Keeper {
    pub(super) fn new(db: Arc<Connections>) -> Self {
        Self { db, work: Arc::default(), thread: Mutex::default() }
    }

    /// This batch was appended.
    pub(super) fn appended(&self, batch: Batch<'_>) {
        let hurried = batch.contents.iter().filter(|prepared| prepared.is_hurried());
        let bytes: usize = batch.contents.iter().map(Prepared::stored_bytes).sum();
        let mut state = held(&self.work.state);
        state.batches += 1;
        state.hurried += hurried.count() as u64;
        state.logged += bytes as u64 + batch.steps.len() as u64 * STEP_BYTES;
        if state.running {
            if state.logged >= LOG_BYTES {
                self.work.woken.notify_one();
            }
        } else if state.hurried > 0 || state.logged >= LOG_BYTES {
            let (db, work) = (Arc::clone(&self.db), Arc::clone(&self.work));
            let thread = std::thread::Builder::new().name("keeper".to_owned());
            let spawned = thread.spawn(move || work.through(&db));
            // Without a thread everything stays as it is until the next batch.
            state.running = spawned.is_ok();
            *held(&self.thread) = spawned.ok();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        held(&self.work.state).closing = true;
        self.work.woken.notify_all();
        if let Some(thread) = held(&self.thread).take() {
            let _ = thread.join();
        }
        if held(&self.work.state).hurried > 0 {
            // Who closes after a step or two, as a command does, leaves nothing behind.
            let _ = pack(&self.db);
        }
    }
}

impl Work {
    /// Does what there is to do, until there is nothing left or the store is closed.
    fn through(&self, db: &Connections) {
        loop {
            match self.wait() {
                Task::WorkInLog => {
                    // What is logged meanwhile is worked in by the same call.
                    let _ = db.work_in_log();
                    held(&self.state).logged = 0;
                }
                Task::Pack => while !held(&self.state).closing && matches!(pack(db), Ok(true)) {},
                Task::Stop => return,
            }
        }
    }

    /// Waits for something to do. Who is told to stop is not running any more.
    fn wait(&self) -> Task {
        let mut state = held(&self.state);
        loop {
            if state.closing {
                return Task::Stop;
            }
            if state.logged >= LOG_BYTES {
                return Task::WorkInLog;
            }
            let batches = state.batches;
            let waited = self.woken.wait_timeout(state, QUIET);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.batches == batches && state.hurried == 0 {
                state.running = false;
                return Task::Stop;
            }
            if !state.closing && (state.batches == batches || state.hurried >= BACKLOG) {
                state.hurried = 0;
                return Task::Pack;
            }
        }
    }
}

/// Packs the oldest contents that were not looked at yet; whether there are more.
fn pack(db: &Connections) -> Result<bool> {
    let fresh = db.read(|connection| content::unpacked(connection, AT_ONCE))?;
    let Some((last, _)) = fresh.last() else { return Ok(false) };
    let packed = fresh.iter().map(|(row, bytes)| Ok((*row, compressed(bytes)?)));
    let packed = packed.collect::<Result<Vec<_>>>()?;
    db.write(Flush::Later, |connection| content::pack(connection, &packed, *last))?;
    Ok(fresh.len() == AT_ONCE)
}
