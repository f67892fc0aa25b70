//! The clock that hyper sets for the head of each request. Hardly ever does it ring, and a new timer of the
//! runtime for each request costs a lock of all and a place in a queue, twice. So a connection has one that
//! runs on from request to request: when it rings too early, it is set to the time that is meant by then.
//! How long a client may take is not decided here.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::time;

type Bell = Pin<Box<time::Sleep>>;

/// The clock of one connection.
#[derive(Clone, Default)]
pub(super) struct Patience(Arc<Mutex<Option<Bell>>>);

impl Patience {
    /// The bell, if nobody waits for it.
    fn take(&self) -> Option<Bell> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, bell: Option<Bell>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = bell;
    }
}

impl Timer for Patience {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let deadline = deadline.into();
        let mut bell = self.take().unwrap_or_else(|| Box::pin(time::sleep_until(deadline)));
        if bell.deadline() > deadline {
            bell.as_mut().reset(deadline);
        }
        Box::pin(Until { deadline, bell: Some(bell), clock: self.clone() })
    }
}

/// Waits for a time. Its bell rings then or before.
struct Until {
    deadline: time::Instant,
    bell: Option<Bell>,
    clock: Patience,
}

impl Sleep for Until {}

impl Future for Until {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let Some(bell) = &mut self.bell else { return Poll::Ready(()) };
        loop {
            ready!(bell.as_mut().poll(context));
            if bell.deadline() >= deadline {
                return Poll::Ready(());
            }
            bell.as_mut().reset(deadline);
        }
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        self.clock.keep(self.bell.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(40);

    async fn sleep(clock: &Patience, duration: Duration) -> Duration {
        let began = Instant::now();
        clock.sleep(duration).await;
        began.elapsed()
    }

    #[tokio::test]
    async fn every_sleep_lasts_as_long_as_it_was_meant_to() {
        let clock = Patience::default();
        for times in [2, 1, 3, 1, 0, 2] {
            assert!(sleep(&clock, times * STEP).await >= times * STEP);
        }
    }

    #[tokio::test]
    async fn the_bell_of_a_sleep_that_nobody_waited_for_is_set_to_the_next() {
        let clock = Patience::default();
        // Rings while nobody waits, rings too early, and would ring too late.
        for (before, pause) in [(STEP, 2 * STEP), (2 * STEP, STEP), (1_000 * STEP, STEP)] {
            let unfinished = tokio::time::timeout(Duration::ZERO, clock.sleep(before)).await;
            assert!(unfinished.is_err());
            tokio::time::sleep(pause).await;
            let slept = sleep(&clock, 3 * STEP).await;
            assert!(slept >= 3 * STEP && slept < 500 * STEP, "{slept:?}");
        }
    }

    #[tokio::test]
    async fn two_sleeps_at_once_have_bells_of_their_own() {
        let clock = Patience::default();
        let both = tokio::join!(sleep(&clock, 2 * STEP), sleep(&clock, 4 * STEP));
        assert!(both.0 >= 2 * STEP && both.1 >= 4 * STEP, "{both:?}");
    }
}
