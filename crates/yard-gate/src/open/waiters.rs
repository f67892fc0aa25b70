//! Counts the calls of this process that wait for requests. Nothing waits here.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::ApprovalId;

/// How many calls of this process wait for each request.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<HashMap<ApprovalId, usize>>);

impl Waiters {
    /// Counts a call that waits for a request, until the waiter is dropped.
    pub(crate) fn add(self: &Arc<Self>, id: ApprovalId) -> Waiter {
        *self.0.lock().entry(id).or_default() += 1;
        Waiter { waiters: Arc::clone(self), id }
    }
}

/// A call that waits for a request.
#[derive(Debug)]
pub struct Waiter {
    waiters: Arc<Waiters>,
    id: ApprovalId,
}

impl Waiter {
    /// Whether no other call of this process waits for the same request.
    pub fn is_last(&self) -> bool {
        let waiters = self.waiters.0.lock();
        waiters.get(&self.id).is_none_or(|count| *count <= 1)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiters = self.waiters.0.lock();
        if let Some(count) = waiters.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                waiters.remove(&self.id);
            }
        }
    }
}
