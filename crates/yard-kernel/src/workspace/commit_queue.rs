//! The queue of drafts of one process that wait to be committed. Concurrent drafts form a batch that one of their
//! threads, the leader, commits (`commit/mod.rs`); the other threads wait here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use yard_core::{Call, ContentHash, Fault, FaultCode, Result};
use yard_disk::Displaced;

use crate::draft::Draft;
use crate::draft::step_metadata::StepMetadata;

/// Most drafts in one transaction.
const MAX_BATCH: usize = 64;
/// How long a leader waits for threads that are still planning: a fraction of what a flush for each would cost.
const GATHERING: Duration = Duration::from_micros(300);
/// How often a waiting thread checks whether its call was cancelled or is out of time.
const CALL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A displaced file that its step no longer needs.
pub(crate) struct UnneededFile {
    pub(crate) displaced: Displaced,
    pub(crate) content: Option<ContentHash>,
}

/// The result of committing a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitOutcome {
    /// The draft is committed.
    Done,
    /// The disk or the history changed since the draft was planned: the caller has to plan again.
    Stale,
}

/// The drafts of one workspace in this process.
#[derive(Default)]
pub(crate) struct CommitQueue {
    state: Mutex<QueueState>,
    arrival: Condvar,
    active: Arc<AtomicUsize>,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<QueuedDraft>,
    has_leader: bool,
}

/// A draft that waits to be committed.
pub(crate) struct QueuedDraft {
    pub(crate) draft: Draft,
    pub(crate) metadata: StepMetadata,
    pub(crate) call: Call,
    pub(crate) waiter: Arc<Waiter>,
}

/// The mailbox of one waiting thread.
#[derive(Default)]
pub(crate) struct Waiter {
    signal: Mutex<Option<Signal>>,
    changed: Condvar,
}

/// What a waiting thread has to do next.
pub(crate) enum Signal {
    /// Lead the next batch.
    Lead,
    /// Return this result, after removing these displaced files.
    Finished(Result<CommitOutcome>, Vec<UnneededFile>),
}

impl Waiter {
    pub(crate) fn send(&self, signal: Signal) {
        *self.signal.lock() = Some(signal);
        self.changed.notify_one();
    }

    /// The signal, if one arrives within `time`.
    fn receive(&self, time: Duration) -> Option<Signal> {
        let mut signal = self.signal.lock();
        self.changed.wait_while_for(&mut signal, |signal| signal.is_none(), time);
        signal.take()
    }

    pub(crate) fn take_signal(&self) -> Option<Signal> {
        self.signal.lock().take()
    }
}

/// Ends the lead when it is dropped: if the leader panicked, its batch gets a fault, and the next thread leads.
pub(crate) struct LeaderGuard<'a> {
    pub(crate) queue: &'a CommitQueue,
    pub(crate) own: &'a Arc<Waiter>,
    /// The threads whose drafts are in the batch.
    pub(crate) batch: Vec<Arc<Waiter>>,
    pub(crate) is_done: bool,
}

impl Drop for LeaderGuard<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        self.queue.withdraw(self.own);
        for waiter in &self.batch {
            waiter
                .signal
                .lock()
                .get_or_insert_with(|| Signal::Finished(Err(leader_failed()), Vec::new()));
            waiter.changed.notify_one();
        }
        self.queue.hand_over();
    }
}

fn leader_failed() -> Fault {
    let message = "another change that was being made together with this one broke off; whether this one \
                   was recorded is not known yet, the history will tell";
    Fault::new(FaultCode::Io, message)
}

impl CommitQueue {
    /// How many drafts are being planned or waiting.
    pub(crate) fn active(&self) -> &Arc<AtomicUsize> {
        &self.active
    }

    /// Waits for the result of a draft, or for the turn to lead. If the call ends before its draft is part of a batch,
    /// the draft is taken out of the queue, and nothing is changed.
    pub(crate) fn wait(&self, waiter: &Arc<Waiter>, call: &Call) -> Result<Signal> {
        loop {
            if let Some(signal) = waiter.receive(CALL_CHECK_INTERVAL) {
                return Ok(signal);
            }
            if let Err(fault) = call.check()
                && self.withdraw(waiter)
            {
                return Err(fault);
            }
        }
    }

    /// Takes a draft out of the queue, and returns whether it was still there. If its thread was to lead, the next
    /// thread leads instead.
    pub(crate) fn withdraw(&self, waiter: &Arc<Waiter>) -> bool {
        let mut queue = self.state.lock();
        let at = queue.waiting.iter().position(|queued| Arc::ptr_eq(&queued.waiter, waiter));
        let queued = at.and_then(|at| queue.waiting.remove(at));
        if queued.is_some() && waiter.take_signal().is_some() {
            queue.hand_over();
        }
        drop(queue);
        // The draft is dropped after the lock, because that removes the files that the draft staged.
        queued.is_some()
    }

    /// Adds a draft, and returns whether the caller has to lead.
    pub(crate) fn enqueue(&self, queued: QueuedDraft) -> bool {
        let mut queue = self.state.lock();
        queue.waiting.push_back(queued);
        if queue.has_leader {
            if queue.waiting.len() >= self.active.load(Ordering::Relaxed) {
                self.arrival.notify_one();
            }
            return false;
        }
        queue.has_leader = true;
        true
    }

    /// Waits a moment for drafts that are still being planned, so that one flush serves all of them.
    pub(crate) fn wait_for_planners(&self) {
        let mut queue = self.state.lock();
        let expected = self.active.load(Ordering::Relaxed).min(MAX_BATCH);
        if queue.waiting.len() < expected {
            self.arrival.wait_for(&mut queue, GATHERING);
        }
    }

    pub(crate) fn next_batch(&self) -> Vec<QueuedDraft> {
        let mut queue = self.state.lock();
        let size = queue.waiting.len().min(MAX_BATCH);
        queue.waiting.drain(..size).collect()
    }

    pub(crate) fn hand_over(&self) {
        self.state.lock().hand_over();
    }
}

impl QueueState {
    /// Makes the first waiting thread the leader.
    fn hand_over(&mut self) {
        match self.waiting.front() {
            Some(next) => next.waiter.send(Signal::Lead),
            None => self.has_leader = false,
        }
    }
}
