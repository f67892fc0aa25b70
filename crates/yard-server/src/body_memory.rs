//! The memory that large request bodies share. A request reserves its part before its body is read, and holds it until
//! it is answered or waits for a person. No workspace, and no caller outside of one, holds more than a share of it, so that
//! whoever sends slowly keeps only itself waiting.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// KiB that all large bodies together may take.
const BUDGET_KIB: u32 = 256 << 10;
/// KiB that those of one owner may take: as much as the largest body.
const SHARE_KIB: u32 = 64 << 10;

/// The memory for all large bodies.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    all: Arc<Semaphore>,
    /// The share of each owner that has bodies or waits for memory.
    shares: Mutex<HashMap<Box<str>, Arc<Semaphore>>>,
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(BUDGET_KIB as usize)), shares: Mutex::default() }
    }
}

impl BodyBudget {
    /// Waits until there is memory for a body of so many bytes, first in the share of its owner.
    pub(crate) async fn reserve(&self, owner: &str, bytes: u64) -> BodyMemory {
        let kib = u32::try_from(bytes >> 10).unwrap_or(SHARE_KIB).clamp(1, SHARE_KIB);
        // The semaphores are never closed.
        let share = self.share_of(owner).acquire_many_owned(kib).await.ok();
        let all = Arc::clone(&self.all).acquire_many_owned(kib).await.ok();
        BodyMemory(Arc::new(Mutex::new(Some(Permits { _share: share, _all: all }))))
    }

    fn share_of(&self, owner: &str) -> Arc<Semaphore> {
        let mut shares = self.shares.lock();
        // A share that nobody holds or waits for is whole.
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        let share = shares.entry(owner.into());
        Arc::clone(share.or_insert_with(|| Arc::new(Semaphore::new(SHARE_KIB as usize))))
    }
}

/// What a body has of the memory.
#[derive(Debug)]
struct Permits {
    _share: Option<OwnedSemaphorePermit>,
    _all: Option<OwnedSemaphorePermit>,
}

/// The memory of one request's body, reserved until this and all clones of it are dropped or it is released. That of a
/// small body is not counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyMemory(Arc<Mutex<Option<Permits>>>);

impl BodyMemory {
    /// Gives the memory back before the request is answered.
    pub(crate) fn release(&self) {
        *self.0.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const SHARE: u64 = (SHARE_KIB as u64) << 10;

    /// The memory, if there is some without waiting for others.
    fn now(memory: impl Future<Output = BodyMemory>) -> Option<BodyMemory> {
        match pin!(memory).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(memory) => Some(memory),
            Poll::Pending => None,
        }
    }

    #[test]
    fn memory_that_was_released_is_free_for_others_while_its_request_goes_on() {
        let budget = BodyBudget::default();
        let owners = ["a", "b", "c", "d"];
        let held: Vec<_> =
            owners.iter().map(|owner| now(budget.reserve(owner, SHARE)).unwrap()).collect();
        assert!(now(budget.reserve("e", 1)).is_none(), "all of it is taken");
        held[0].release();
        assert!(now(budget.reserve("e", u64::MAX)).is_some());
    }

    #[test]
    fn g7_whoever_sends_many_large_bodies_keeps_only_itself_waiting() {
        let budget = BodyBudget::default();
        let own = now(budget.reserve("a", SHARE)).unwrap();
        let mut more = pin!(budget.reserve("a", SHARE));
        let mut context = Context::from_waker(Waker::noop());
        assert!(more.as_mut().poll(&mut context).is_pending());
        for other in ["b", "c", "d"] {
            // Each of them is dropped at once.
            assert!(now(budget.reserve(other, SHARE)).is_some(), "{other} waits for a");
        }
        assert_eq!(budget.shares.lock().len(), 2, "a, and whoever was last");
        drop(own);
        assert!(more.as_mut().poll(&mut context).is_ready());
    }
}
