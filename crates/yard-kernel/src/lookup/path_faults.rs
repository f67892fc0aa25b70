//! Faults about a path that several operations make.

use yard_core::{Fault, FaultCode, Subject, WsPath};

/// The fault for a change of the root itself.
pub(crate) fn root_cannot_change() -> Fault {
    let message = "the root of the workspace cannot be changed itself; name something in it";
    Fault::new(FaultCode::BadArgument, message).about(Subject::Path)
}

/// The fault for a file that exists and must not be replaced.
pub(crate) fn file_exists(path: &WsPath) -> Fault {
    let fault = Fault::new(FaultCode::Exists, format!("File already exists: {path}"));
    fault.about(Subject::Path)
}

/// The fault for an entry that is no folder.
pub(crate) fn not_a_folder(path: &WsPath) -> Fault {
    let message = format!("{path} is a file, not a folder: name a folder, or read it as a file");
    Fault::new(FaultCode::NotFolder, message).about(Subject::Path)
}
