//! Tells the listeners of one workspace that a step was committed or a record was written, so that no door has to poll
//! the store. A notification carries no data: the listener reads the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// A function that is called after each change. It must return soon, because the call that made the change waits for it.
pub type CommitListener = Arc<dyn Fn() + Send + Sync>;

/// The listeners of one workspace. A notification without listeners reads one atomic number.
#[derive(Clone, Default)]
pub struct ChangeNotifier(Arc<Listeners>);

#[derive(Default)]
struct Listeners {
    count: AtomicUsize,
    next_id: AtomicU64,
    all: Mutex<Vec<(u64, CommitListener)>>,
}

impl ChangeNotifier {
    /// Calls all listeners.
    pub fn notify(&self) {
        if self.0.count.load(Ordering::Acquire) == 0 {
            return;
        }
        // The lock is released before the calls: a listener may drop its subscription.
        let listeners: Vec<CommitListener> =
            self.0.all.lock().iter().map(|(_, listener)| Arc::clone(listener)).collect();
        listeners.iter().for_each(|listener| listener());
    }

    /// Calls `listener` after each change until the subscription is dropped.
    #[must_use = "the listener is removed once this is dropped"]
    pub fn subscribe(&self, listener: CommitListener) -> ChangeSubscription {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let mut listeners = self.0.all.lock();
        listeners.push((id, listener));
        self.0.count.store(listeners.len(), Ordering::Release);
        ChangeSubscription { notifier: self.clone(), id }
    }
}

/// Keeps a listener registered until it is dropped.
pub struct ChangeSubscription {
    notifier: ChangeNotifier,
    id: u64,
}

impl ChangeSubscription {
    /// Whether this notifier calls its listener.
    pub(crate) fn is_of(&self, notifier: &ChangeNotifier) -> bool {
        Arc::ptr_eq(&self.notifier.0, &notifier.0)
    }
}

impl Drop for ChangeSubscription {
    fn drop(&mut self) {
        let mut listeners = self.notifier.0.all.lock();
        listeners.retain(|(id, _)| *id != self.id);
        self.notifier.0.count.store(listeners.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_called_until_its_subscription_is_dropped() {
        let (notifier, calls) = (ChangeNotifier::default(), Arc::new(AtomicUsize::new(0)));
        notifier.notify();
        let count = Arc::clone(&calls);
        let subscription = notifier.subscribe(Arc::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        notifier.notify();
        notifier.clone().notify();
        drop(subscription);
        notifier.notify();
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }
}
