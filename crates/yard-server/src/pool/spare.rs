//! The thread that is left for the network when others are stuck in looks.
//!
//! Hardly ever is it needed, and a thread more than there are processors costs a busy server a tenth of its
//! time. So it sleeps until there are looks and none of them has ended for a moment, is a thread like any
//! other for a while, and sleeps again. On an idle server it wakes up twice a minute. A single look may be enough:
//! the thread that does it may be the one that listened to the network for all of them, and those that have
//! nothing to do would not take that over.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long no look may have ended before those under way are taken for stuck. Most take microseconds.
const STUCK: Duration = Duration::from_millis(5);
/// How long it is awake then.
const AWAKE: Duration = Duration::from_secs(1);
/// How long it sleeps at most: should nobody listen to the network after all, it does.
const LONGEST: Duration = Duration::from_secs(30);
/// So often in a row it finds no look under way before it stops to watch.
const IDLE: u32 = 200;

/// Who sleeps, and what he has to know to wake up.
#[derive(Debug)]
pub(super) struct Spare {
    under_way: AtomicUsize,
    ended: AtomicU64,
    /// Nobody watches: the next look says that it begins.
    is_idle: AtomicBool,
    /// Nobody watches because nobody sleeps: who looks leaves somebody who listens.
    is_up: AtomicBool,
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
    /// Somebody may be needed.
    Up,
    Closing,
}

impl Spare {
    pub(super) fn new() -> Self {
        Self {
            under_way: AtomicUsize::new(0),
            ended: AtomicU64::new(0),
            is_idle: AtomicBool::new(false),
            is_up: AtomicBool::new(false),
            is_closing: Mutex::new(false),
            told: Condvar::new(),
        }
    }

    /// Lets the thread sleep that does this, on purpose. Its runtime must have others.
    pub(super) async fn rest(self: Arc<Self>) {
        loop {
            self.is_up.store(false, SeqCst);
            hand_over();
            if self.watch() == Woken::Closing {
                return;
            }
            self.is_up.store(true, SeqCst);
            tokio::time::sleep(AWAKE).await;
        }
    }

    /// Nobody sleeps any more.
    pub(super) fn close(&self) {
        *self.closing() = true;
        self.told.notify_all();
    }

    /// A look begins, in one of the places, on a thread of the runtime.
    pub(super) fn looking(&self) -> Looking<'_> {
        self.under_way.fetch_add(1, SeqCst);
        if self.is_up.load(SeqCst) {
            hand_over();
        }
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
                let is_long;
                (closing, is_long) = self.wait_for_a_look(closing);
                if is_long {
                    return Woken::Up;
                }
                quiet = 0;
                continue;
            }
            let before = self.ended.load(SeqCst);
            closing = unpoisoned(self.told.wait_timeout(closing, STUCK)).0;
            let is_same = self.ended.load(SeqCst) == before;
            match self.under_way.load(SeqCst) {
                0 if is_same => quiet += 1,
                _ if is_same => return Woken::Up,
                _ => quiet = 0,
            }
        }
        Woken::Closing
    }

    /// Waits for the next look; whether none came for long.
    fn wait_for_a_look<'a>(
        &'a self,
        closing: MutexGuard<'a, bool>,
    ) -> (MutexGuard<'a, bool>, bool) {
        self.is_idle.store(true, SeqCst);
        // One that began before it could know that it has to say so.
        if self.under_way.load(SeqCst) > 0 {
            self.is_idle.store(false, SeqCst);
        }
        let is_idle = |closing: &mut bool| self.is_idle.load(SeqCst) && !*closing;
        let waited = self.told.wait_timeout_while(closing, LONGEST, is_idle);
        let (closing, waited) = unpoisoned(waited);
        self.is_idle.store(false, SeqCst);
        (closing, waited.timed_out())
    }

    fn closing(&self) -> MutexGuard<'_, bool> {
        unpoisoned(self.is_closing.lock())
    }
}

/// Wakes another thread of the runtime, so that it listens to the network. The one that is about to sleep may
/// be the only one that did, and it may have been given this as the only thing to do: then nobody is told.
///
/// Two tasks, because the last one stays with this thread; the first is for whoever is awake then.
fn hand_over() {
    for _ in 0..2 {
        drop(tokio::spawn(async {}));
    }
}

fn unpoisoned<T>(locked: Result<T, PoisonError<T>>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread::{JoinHandle, sleep, spawn};

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

    fn watch(spare: &Arc<Spare>) -> JoinHandle<Woken> {
        let spare = Arc::clone(spare);
        spawn(move || spare.watch())
    }

    #[test]
    fn whoever_sleeps_wakes_when_looks_are_stuck() {
        let spare = Arc::new(Spare::new());
        let watching = watch(&spare);
        drop(spare.looking());
        sleep(20 * STUCK);
        assert!(!watching.is_finished());
        let _stuck = spare.looking();
        assert!(until(|| watching.is_finished()));
        assert_eq!(watching.join().unwrap(), Woken::Up);
    }

    #[test]
    fn who_watches_nothing_stops_to_watch_until_somebody_looks() {
        let spare = Arc::new(Spare::new());
        let watching = watch(&spare);
        assert!(until(|| spare.is_idle.load(SeqCst)));
        drop(spare.looking());
        assert!(until(|| spare.is_idle.load(SeqCst)), "it watches again, and stops again");
        let _stuck = spare.looking();
        assert!(until(|| watching.is_finished()));
        assert_eq!(watching.join().unwrap(), Woken::Up);
    }

    #[test]
    fn nobody_sleeps_once_it_is_closing() {
        for is_idle in [false, true] {
            let spare = Arc::new(Spare::new());
            let watching = watch(&spare);
            assert!(!is_idle || until(|| spare.is_idle.load(SeqCst)));
            spare.close();
            assert!(until(|| watching.is_finished()));
            assert_eq!(watching.join().unwrap(), Woken::Closing);
            assert_eq!(spare.watch(), Woken::Closing);
        }
    }
}
