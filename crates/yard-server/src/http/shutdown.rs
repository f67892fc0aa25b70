//! That the server stops, for whatever does not end by itself.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Whether the server stops.
#[derive(Debug, Default)]
pub(super) struct Shutdown {
    has_begun: AtomicBool,
    notify: Notify,
}

impl Shutdown {
    /// Ends every wait for it.
    pub(super) fn begin(&self) {
        self.has_begun.store(true, Ordering::SeqCst);
        self.notify.notify_waiters();
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::SeqCst)
    }

    /// Waits until it begins, or not at all if it has.
    pub(super) async fn wait(&self) {
        let mut notified = pin!(self.notify.notified());
        // Registered before the flag is read, so that a shutdown in between is not missed.
        notified.as_mut().enable();
        if !self.has_begun() {
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn who_waits_before_and_who_waits_after_it_began_wait_no_longer() {
        let shutdown = Shutdown::default();
        let mut context = Context::from_waker(Waker::noop());
        let mut before = pin!(shutdown.wait());
        assert!(before.as_mut().poll(&mut context).is_pending());
        shutdown.begin();
        assert!(before.as_mut().poll(&mut context).is_ready());
        assert!(pin!(shutdown.wait()).poll(&mut context).is_ready());
    }
}
