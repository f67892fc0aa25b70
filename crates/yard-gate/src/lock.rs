//! Locks of values that stay valid when a thread panics while it holds them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, whether or not a thread panicked while it held it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
