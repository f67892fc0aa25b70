//! How many bytes one call may load or write. Nothing here opens a file.

use yard_core::{Fault, FaultCode, Limits, Result, Subject, WsPath};

/// A fault if one call may not write that many bytes.
pub(crate) fn check_writable(size: u64, limits: &Limits, path: &WsPath) -> Result<()> {
    if size <= limits.load_bytes {
        return Ok(());
    }
    let message = format!(
        "{path} would have {size} bytes; one call writes at most {}. Write less, or several files",
        limits.load_bytes
    );
    Err(Fault::new(FaultCode::TooLarge, message).about(Subject::Content))
}

/// A fault if that many bytes may not be loaded whole.
pub(crate) fn check_loadable(size: u64, limits: &Limits, path: &WsPath) -> Result<()> {
    if size <= limits.load_bytes {
        return Ok(());
    }
    let message = format!(
        "{path} has {size} bytes; at most {} are loaded whole. Read it in slices",
        limits.load_bytes
    );
    Err(Fault::new(FaultCode::TooLarge, message).about(Subject::Path))
}
