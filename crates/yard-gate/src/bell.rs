//! The bell of one workspace: rung after every committed step or desk write, so that a door need not
//! poll the store. It carries no data: a listener reads the store.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is called when the bell rings. It must return soon: the caller of a tool waits for it.
pub type Listener = Arc<dyn Fn() + Send + Sync>;

/// A bell. Ringing one without listeners reads one number.
#[derive(Clone, Default)]
pub struct Bell(Arc<Inner>);

#[derive(Default)]
struct Inner {
    count: AtomicUsize,
    next: AtomicU64,
    listeners: Mutex<Vec<(u64, Listener)>>,
}

impl Bell {
    /// Calls all listeners.
    pub fn ring(&self) {
        if self.0.count.load(Ordering::Acquire) == 0 {
            return;
        }
        // Called outside of the lock: a listener may stop listening.
        let listeners: Vec<Listener> =
            self.0.lock().iter().map(|(_, listener)| Arc::clone(listener)).collect();
        listeners.iter().for_each(|listener| listener());
    }

    /// Calls `listener` whenever the bell rings, until what is returned is dropped.
    #[must_use = "the listener is removed once this is dropped"]
    pub fn listen(&self, listener: Listener) -> BellSubscription {
        let ticket = self.0.next.fetch_add(1, Ordering::Relaxed);
        let mut listeners = self.0.lock();
        listeners.push((ticket, listener));
        self.0.count.store(listeners.len(), Ordering::Release);
        BellSubscription { bell: self.clone(), ticket }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Listener)>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener of a bell, which is removed when this is dropped.
pub struct BellSubscription {
    bell: Bell,
    ticket: u64,
}

impl Drop for BellSubscription {
    fn drop(&mut self) {
        let mut listeners = self.bell.0.lock();
        listeners.retain(|(ticket, _)| *ticket != self.ticket);
        self.bell.0.count.store(listeners.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_called_until_its_subscription_is_dropped() {
        let (bell, heard) = (Bell::default(), Arc::new(AtomicUsize::new(0)));
        bell.ring();
        let count = Arc::clone(&heard);
        let listening = bell.listen(Arc::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        bell.ring();
        bell.clone().ring();
        drop(listening);
        bell.ring();
        assert_eq!(heard.load(Ordering::Relaxed), 2);
    }
}
