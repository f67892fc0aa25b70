//! How many bytes one call may load or write. Nothing here opens a file.

use yard_core::{Fault, FaultCode, Limits, Result, Subject, WsPath};

/// A fault if one call may not write this number of bytes.
pub(crate) fn check_writable(size: u64, limits: &Limits, path: &WsPath) -> Result<()> {
    check(size, limits, Subject::Content, |most| {
        format!(
            "{path} would have {size} bytes; one call writes at most {most}. Write less, or several files"
        )
    })
}

/// A fault if a file of this size may not be loaded as a whole.
pub(crate) fn check_loadable(size: u64, limits: &Limits, path: &WsPath) -> Result<()> {
    check(size, limits, Subject::Path, |most| {
        format!("{path} has {size} bytes; at most {most} are loaded whole. Read it in slices")
    })
}

fn check(size: u64, limits: &Limits, of: Subject, why: impl Fn(u64) -> String) -> Result<()> {
    if size <= limits.load_bytes {
        return Ok(());
    }
    Err(Fault::new(FaultCode::TooLarge, why(limits.load_bytes)).about(of))
}
