//! The thread that is left for the network when all others are looking at something.
//!
//! Hardly ever is it needed, and a thread more than there are processors costs a busy server a tenth of its
//! time. So it sleeps until the looks of all others have been stuck for a moment, is a thread like any other
//! for a while, and sleeps again. On an idle server it never wakes up.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long no look may have ended before the others are taken for stuck. Most take some microseconds.
const STUCK: Duration = Duration::from_millis(5);
/// How long it is awake then.
const AWAKE: Duration = Duration::from_secs(1);
/// So often in a row it finds no look under way before it stops to watch.
const IDLE: u32 = 200;

/// Who sleeps, and what he has to know to wake up.
#[derive(Debug)]
pub(super) struct Spare {
    /// How many threads can look at the same time.
    places: usize,
    under_way: AtomicUsize,
    ended: AtomicU64,
    /// Nobody watches: the next look says that it begins.
    is_idle: AtomicBool,
    is_closing: Mutex<bool>,
    told: Condvar,
}

/// A look that is under way.
pub(super) struct Looking<'a>(&'a Spare);

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, SeqCst);
        self.0.under_way.fetch_sub(1, SeqCst);
    }
}

/// Why somebody woke up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Stuck,
    Closing,
}

impl Spare {
    pub(super) fn new(places: usize) -> Self {
        Self {
            places,
            under_way: AtomicUsize::new(0),
            ended: AtomicU64::new(0),
            is_idle: AtomicBool::new(false),
            is_closing: Mutex::new(false),
            told: Condvar::new(),
        }
    }

    /// Lets the thread sleep that does this, on purpose. Its runtime must have more of them than there are
    /// places to look.
    pub(super) async fn rest(self: Arc<Self>) {
        while self.watch() == Woken::Stuck {
            tokio::time::sleep(AWAKE).await;
        }
    }

    /// Nobody sleeps any more.
    pub(super) fn close(&self) {
        *self.closing() = true;
        self.told.notify_all();
    }

    /// A look begins, in one of the places.
    pub(super) fn looking(&self) -> Looking<'_> {
        self.under_way.fetch_add(1, SeqCst);
        if self.is_idle.load(SeqCst) {
            // With the lock held, so that it is not told before it listens.
            let _closing = self.closing();
            self.is_idle.store(false, SeqCst);
            self.told.notify_all();
        }
        Looking(self)
    }

    fn watch(&self) -> Woken {
        let mut quiet = 0;
        let mut closing = self.closing();
        while !*closing {
            if quiet == IDLE {
                closing = self.wait_for_a_look(closing);
                quiet = 0;
                continue;
            }
            let before = self.ended.load(SeqCst);
            closing = unpoisoned(self.told.wait_timeout(closing, STUCK)).0;
            let is_same = self.ended.load(SeqCst) == before;
            match self.under_way.load(SeqCst) {
                under_way if is_same && under_way >= self.places => return Woken::Stuck,
                0 if is_same => quiet += 1,
                _ => quiet = 0,
            }
        }
        Woken::Closing
    }

    fn wait_for_a_look<'a>(&'a self, mut closing: MutexGuard<'a, bool>) -> MutexGuard<'a, bool> {
        self.is_idle.store(true, SeqCst);
        // One that began before it could know that it has to say so.
        if self.under_way.load(SeqCst) > 0 {
            self.is_idle.store(false, SeqCst);
        }
        while self.is_idle.load(SeqCst) && !*closing {
            closing = unpoisoned(self.told.wait(closing));
        }
        closing
    }

    fn closing(&self) -> MutexGuard<'_, bool> {
        unpoisoned(self.is_closing.lock())
    }
}

fn unpoisoned<T>(locked: Result<T, PoisonError<T>>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread::{sleep, spawn};

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    fn until(what: impl Fn() -> bool) -> bool {
        let pause = Duration::from_millis(5);
        let tries = SOON.as_millis() / pause.as_millis();
        (0..tries).any(|_| {
            sleep(pause);
            what()
        })
    }

    #[test]
    fn whoever_sleeps_wakes_when_all_others_are_stuck_and_not_before() {
        let spare = Arc::new(Spare::new(2));
        let watching = {
            let spare = Arc::clone(&spare);
            spawn(move || spare.watch())
        };
        // One place is free.
        let _first = spare.looking();
        sleep(20 * STUCK);
        assert!(!watching.is_finished());
        let _second = spare.looking();
        assert!(until(|| watching.is_finished()));
        assert_eq!(watching.join().unwrap(), Woken::Stuck);
    }

    #[test]
    fn who_watches_nothing_stops_to_watch_until_somebody_looks() {
        let spare = Arc::new(Spare::new(1));
        let watching = {
            let spare = Arc::clone(&spare);
            spawn(move || spare.watch())
        };
        assert!(until(|| spare.is_idle.load(SeqCst)));
        drop(spare.looking());
        assert!(until(|| spare.is_idle.load(SeqCst)), "it watches again, and stops again");
        let _stuck = spare.looking();
        assert!(until(|| watching.is_finished()));
        assert_eq!(watching.join().unwrap(), Woken::Stuck);
    }

    #[test]
    fn nobody_sleeps_once_it_is_closing() {
        for is_idle in [false, true] {
            let spare = Arc::new(Spare::new(1));
            let watching = {
                let spare = Arc::clone(&spare);
                spawn(move || spare.watch())
            };
            assert!(!is_idle || until(|| spare.is_idle.load(SeqCst)));
            spare.close();
            assert!(until(|| watching.is_finished()));
            assert_eq!(watching.join().unwrap(), Woken::Closing);
            assert_eq!(spare.watch(), Woken::Closing);
        }
    }
}
