//! The drafts of one process that wait to land. Concurrent drafts form a batch, and the thread of one of them
//! leads it; the others wait here. How a batch lands is in `commit.rs`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use yard_core::{Call, ContentHash, Fault, FaultCode, Result};
use yard_disk::Displaced;

use crate::draft::Draft;
use crate::signed::Signed;

/// Most drafts that one transaction takes.
const LARGEST_BATCH: usize = 64;
/// How long a leader waits for those who are still planning: a fraction of what their flush would cost.
const GATHERING: Duration = Duration::from_micros(300);
/// How often a caller that waits for its turn looks whether its own call was cancelled or is out of time.
const LOOK_AT_CALL: Duration = Duration::from_millis(50);

/// A displaced file whose step is complete.
pub(crate) struct Retired {
    pub(crate) displaced: Displaced,
    pub(crate) content: Option<ContentHash>,
}

/// What became of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It landed.
    Done,
    /// Something moved: plan again.
    Moved,
}

/// The drafts of one workspace in this process.
#[derive(Default)]
pub(crate) struct Journal {
    queue: Mutex<Queue>,
    arrival: Condvar,
    active: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Request>,
    led: bool,
}

/// A draft that waits to land.
pub(crate) struct Request {
    pub(crate) draft: Draft,
    pub(crate) signed: Signed,
    pub(crate) call: Call,
    pub(crate) slot: Arc<Slot>,
}

/// Where one caller waits.
#[derive(Default)]
pub(crate) struct Slot {
    word: Mutex<Option<Word>>,
    spoken: Condvar,
}

/// What a waiting caller is to do.
pub(crate) enum Word {
    /// Nobody leads: it is your turn.
    Lead,
    /// This became of your draft; what it displaced is yours to remove.
    Became(Result<Verdict>, Vec<Retired>),
}

impl Slot {
    pub(crate) fn say(&self, word: Word) {
        *lock(&self.word) = Some(word);
        self.spoken.notify_one();
    }

    /// The word, if it comes within `time`.
    fn listen(&self, time: Duration) -> Option<Word> {
        let word = lock(&self.word);
        let waited = self.spoken.wait_timeout_while(word, time, |word| word.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }

    pub(crate) fn heard(&self) -> Option<Word> {
        lock(&self.word).take()
    }

    /// Says it to who was told nothing yet.
    fn say_at_least(&self, word: Word) {
        lock(&self.word).get_or_insert(word);
        self.spoken.notify_one();
    }
}

/// What a leader owes to the others, also if it breaks off: a word, and the lead to whoever is next.
pub(crate) struct Duty<'a> {
    pub(crate) journal: &'a Journal,
    /// Where the leader itself would wait.
    pub(crate) own: &'a Arc<Slot>,
    pub(crate) slots: Vec<Arc<Slot>>,
    pub(crate) is_done: bool,
}

impl Drop for Duty<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        self.journal.withdraw(self.own);
        for slot in &self.slots {
            slot.say_at_least(Word::Became(Err(broke_off()), Vec::new()));
        }
        self.journal.hand_over();
    }
}

fn broke_off() -> Fault {
    let message = "another change that was being made together with this one broke off; whether this one \
                   was recorded is not known yet, the history will tell";
    Fault::new(FaultCode::Io, message)
}

impl Journal {
    /// How many drafts are being planned or waiting.
    pub(crate) fn active(&self) -> &Arc<AtomicUsize> {
        &self.active
    }

    /// Waits for what became of a draft, or for the turn to lead. A caller whose own call ends before its
    /// draft is part of a batch takes the draft out of the queue, and nothing is changed.
    pub(crate) fn wait(&self, slot: &Arc<Slot>, call: &Call) -> Result<Word> {
        loop {
            if let Some(word) = slot.listen(LOOK_AT_CALL) {
                return Ok(word);
            }
            if let Err(fault) = call.check()
                && self.withdraw(slot)
            {
                return Err(fault);
            }
        }
    }

    /// Takes a draft out of the queue; whether it was still there. If it was told to lead meanwhile, the
    /// next one is.
    pub(crate) fn withdraw(&self, slot: &Arc<Slot>) -> bool {
        let mut queue = lock(&self.queue);
        let place = queue.waiting.iter().position(|request| Arc::ptr_eq(&request.slot, slot));
        let request = place.and_then(|place| queue.waiting.remove(place));
        if request.is_some() && slot.heard().is_some() {
            queue.hand_over();
        }
        drop(queue);
        // Dropped after the lock is free: what the draft staged is removed with it.
        request.is_some()
    }

    /// Whether the caller has to lead.
    pub(crate) fn enqueue(&self, request: Request) -> bool {
        let mut queue = lock(&self.queue);
        queue.waiting.push_back(request);
        if queue.led {
            if queue.waiting.len() >= self.active.load(Ordering::Relaxed) {
                self.arrival.notify_one();
            }
            return false;
        }
        queue.led = true;
        true
    }

    /// While others are about to submit, waits a little: their flush is then ours.
    pub(crate) fn wait_for_others(&self) {
        let queue = lock(&self.queue);
        let expected = self.active.load(Ordering::Relaxed).min(LARGEST_BATCH);
        if queue.waiting.len() < expected {
            drop(self.arrival.wait_timeout(queue, GATHERING));
        }
    }

    pub(crate) fn next_batch(&self) -> Vec<Request> {
        let mut queue = lock(&self.queue);
        let size = queue.waiting.len().min(LARGEST_BATCH);
        queue.waiting.drain(..size).collect()
    }

    pub(crate) fn hand_over(&self) {
        lock(&self.queue).hand_over();
    }
}

impl Queue {
    /// Whoever is first leads from now on.
    fn hand_over(&mut self) {
        match self.waiting.front() {
            Some(next) => next.slot.say(Word::Lead),
            None => self.led = false,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
