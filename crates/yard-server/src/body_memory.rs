//! The memory that large request bodies share. A request reserves its part before its body is read, and holds it until
//! it is answered or waits for a person.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// KiB that all large bodies together may take.
const BUDGET_KIB: u32 = 256 << 10;

/// The memory for all large bodies.
#[derive(Debug)]
pub(crate) struct BodyBudget(Arc<Semaphore>);

impl Default for BodyBudget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BUDGET_KIB as usize)))
    }
}

impl BodyBudget {
    /// Waits until there is memory for a body of so many bytes.
    pub(crate) async fn reserve(&self, bytes: u64) -> BodyMemory {
        let kib = u32::try_from(bytes >> 10).unwrap_or(BUDGET_KIB).clamp(1, BUDGET_KIB);
        // The semaphore is never closed.
        let permit = Arc::clone(&self.0).acquire_many_owned(kib).await.ok();
        BodyMemory(Arc::new(Mutex::new(permit)))
    }
}

/// The memory of one request's body, reserved until this and all clones of it are dropped or it is released. That of a
/// small body is not counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyMemory(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl BodyMemory {
    /// Gives the memory back before the request is answered.
    pub(crate) fn release(&self) {
        *self.0.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn memory_that_was_released_is_free_for_others_while_its_request_goes_on() {
        let budget = BodyBudget::default();
        let all = u64::from(BUDGET_KIB) << 10;
        let first = budget.reserve(all).await;
        let kept = first.clone();
        assert!(timeout(Duration::from_millis(20), budget.reserve(1)).await.is_err());
        first.release();
        let second = timeout(Duration::from_secs(10), budget.reserve(all)).await.unwrap();
        drop((kept, second));
        drop(timeout(Duration::from_secs(10), budget.reserve(u64::MAX)).await.unwrap());
    }
}
