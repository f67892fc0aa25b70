//! Counts the calls of this process that wait for requests. Nothing waits here.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::ApprovalId;

/// How many calls of this process wait for each request.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<HashMap<ApprovalId, usize>>);

impl Waiters {
    /// Counts a call that waits for a request, until the waiter leaves or is dropped.
    pub(crate) fn add(self: &Arc<Self>, id: ApprovalId) -> Waiter {
        *self.0.lock().entry(id).or_default() += 1;
        Waiter { waiters: Arc::clone(self), id, has_left: false }
    }

    /// The same, unless another call waits for the request already.
    pub(crate) fn add_first(self: &Arc<Self>, id: ApprovalId) -> Option<Waiter> {
        let mut waiting = self.0.lock();
        if waiting.contains_key(&id) {
            return None;
        }
        waiting.insert(id, 1);
        Some(Waiter { waiters: Arc::clone(self), id, has_left: false })
    }

    /// Counts one call less. Whether no call is left.
    fn remove(&self, id: ApprovalId) -> bool {
        let mut waiting = self.0.lock();
        let left = waiting.get(&id).map_or(0, |count| count - 1);
        match left {
            0 => waiting.remove(&id),
            left => waiting.insert(id, left),
        };
        left == 0
    }
}

/// A call that waits for a request.
#[derive(Debug)]
pub struct Waiter {
    waiters: Arc<Waiters>,
    id: ApprovalId,
    has_left: bool,
}

impl Waiter {
    /// Ends the wait. Whether it was the last call of this process that waited for the request: of calls that end at the same
    /// time, exactly one is the last.
    pub fn leave(mut self) -> bool {
        self.has_left = true;
        self.waiters.remove(self.id)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if !self.has_left {
            self.waiters.remove(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_calls_that_are_cancelled_together_the_second_is_the_last() {
        let (waiters, id) = (Arc::<Waiters>::default(), ApprovalId::from_bytes([1; 16]));
        let (one, other) = (waiters.add(id), waiters.add(id));
        assert!(!one.leave() && other.leave());
        let (one, other) = (waiters.add(id), waiters.add(id));
        drop(one);
        assert!(other.leave() && waiters.0.lock().is_empty());
    }

    #[test]
    fn of_two_calls_that_would_ask_at_once_one_asks() {
        let (waiters, id) = (Arc::<Waiters>::default(), ApprovalId::from_bytes([1; 16]));
        let first = waiters.add_first(id);
        assert!(first.is_some() && waiters.add_first(id).is_none());
        drop(first);
        assert!(waiters.add_first(id).is_some());
    }
}
