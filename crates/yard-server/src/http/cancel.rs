//! Cancels the work of a request that is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cancels the work of a request when it is dropped, because the request ended or its client disconnected.
pub(super) struct CancelOnDrop(pub(super) Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
