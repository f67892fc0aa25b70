//! The conversion of a store's error for callers that name it as a function.

use yard_core::Fault;
use yard_store::StoreError;

/// The fault that a call answers with when the store failed.
pub fn store_fault(error: StoreError) -> Fault {
    error.into()
}
