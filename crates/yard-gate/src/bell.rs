//! The bell of one workspace: rung after every committed step or desk write, so that a door need not
//! look again and again. It carries no news; who hears it looks in the store.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is called when the bell rings. It must return soon: the caller of a tool waits for it.
pub type Listener = Arc<dyn Fn() + Send + Sync>;

/// A bell. Ringing one that nobody hears is a look at one number.
#[derive(Clone, Default)]
pub struct Bell(Arc<Inner>);

#[derive(Default)]
struct Inner {
    count: AtomicUsize,
    next: AtomicU64,
    listeners: Mutex<Vec<(u64, Listener)>>,
}

impl Bell {
    /// Calls everybody who listens.
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
    #[must_use = "nobody listens any more once this is dropped"]
    pub fn listen(&self, listener: Listener) -> Listening {
        let ticket = self.0.next.fetch_add(1, Ordering::Relaxed);
        let mut listeners = self.0.lock();
        listeners.push((ticket, listener));
        self.0.count.store(listeners.len(), Ordering::Release);
        Listening { bell: self.clone(), ticket }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Listener)>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody listens to a bell for as long as this lives.
pub struct Listening {
    bell: Bell,
    ticket: u64,
}

impl Drop for Listening {
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
    fn a_bell_is_heard_for_as_long_as_somebody_listens() {
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
