//! A store's errors as faults.

use yard_core::{Fault, FaultCode};
use yard_store::StoreError;

/// A store's error in the words of a call.
pub fn store_fault(error: StoreError) -> Fault {
    let code = match &error {
        StoreError::Moved { .. } | StoreError::Misfit(_) => FaultCode::Stale,
        StoreError::Full => FaultCode::DiskFull,
        StoreError::Refused(_) => FaultCode::WriteRefused,
        StoreError::Format { .. } => FaultCode::Unavailable,
        StoreError::Io(_) | StoreError::Corrupt(_) => FaultCode::Io,
    };
    Fault::new(code, error.to_string())
}
