//! This dialect's error code for every fault.

use yard_core::{FaultCode, Subject};

use crate::dialect::Answer;
use crate::envelope;
use crate::tool::{Stop, Tool};

use super::{delete, patch, write};

/// One row a fault. A tool that writes to the disk has another code for its errors.
pub(super) fn error_code(tool: &str, code: FaultCode) -> &'static str {
    match code {
        FaultCode::BadArgument | FaultCode::NoChange => "invalid_arguments",
        FaultCode::TextNotFound => "find_not_found",
        FaultCode::TextNotUnique => "find_not_unique",
        FaultCode::BadPattern => "invalid_pattern",
        FaultCode::Binary => "binary_file",
        FaultCode::TooLarge => "too_large",
        FaultCode::BadPath | FaultCode::PathOutside => "path_outside_workspace",
        FaultCode::NotFound => "file_not_found",
        FaultCode::IsFolder => "is_directory",
        FaultCode::NotFolder => "not_a_directory",
        FaultCode::Exists | FaultCode::NotEmpty | FaultCode::Stale | FaultCode::MergeConflict => {
            "conflict"
        }
        FaultCode::Denied | FaultCode::ReadRefused => "denied",
        FaultCode::WriteRefused | FaultCode::DiskFull => "write_failed",
        FaultCode::Io if writes(tool) => "write_failed",
        FaultCode::Io => "io_error",
        FaultCode::Timeout => "timeout",
        // This dialect runs no commands.
        FaultCode::NotRun | FaultCode::Unavailable => "unavailable",
    }
}

fn writes(tool: &str) -> bool {
    [write::Write::NAME, patch::Patch::NAME, delete::Delete::NAME].contains(&tool)
}

/// The argument that a fault is about, as the tool calls it.
fn argument(tool: &str, subject: Subject) -> Option<&'static str> {
    match subject {
        Subject::Path | Subject::Destination => Some("path"),
        Subject::Pattern => Some("pattern"),
        Subject::PathPattern => Some("glob"),
        Subject::Find => Some("find"),
        Subject::Replacement => Some("replace"),
        Subject::Content => (tool == write::Write::NAME).then_some("content"),
        Subject::Cursor => Some("cursor"),
        Subject::InsertLine
        | Subject::Hash
        | Subject::Step
        | Subject::FileType
        | Subject::Patch => None,
    }
}

pub(super) fn wrap_stop(tool: &str, stop: &Stop) -> Answer {
    let argument = |subject| argument(tool, subject);
    envelope::wrap_error_and_message(stop, argument, |code| error_code(tool, code))
}
