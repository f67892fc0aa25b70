//! This dialect's word for every fault.

use yard_core::FaultCode;

use crate::catalog::Answer;
use crate::envelope;
use crate::tool::{Stop, Tool};

use super::{delete, patch, write};

/// One row a fault. What goes wrong with the disk is another word for tools that write to it.
pub(super) fn word(tool: &str, code: FaultCode) -> &'static str {
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
        FaultCode::Denied => "denied",
        FaultCode::ReadRefused => "denied",
        FaultCode::WriteRefused | FaultCode::DiskFull => "write_failed",
        FaultCode::Io if writes(tool) => "write_failed",
        FaultCode::Io => "io_error",
        FaultCode::Timeout => "timeout",
        FaultCode::Unavailable => "unavailable",
    }
}

fn writes(tool: &str) -> bool {
    [write::Write::NAME, patch::Patch::NAME, delete::Delete::NAME].contains(&tool)
}

/// The answer of a tool that has no reply.
pub(super) fn stopped(tool: &str, stop: &Stop) -> Answer {
    envelope::stopped(stop, |failure| {
        envelope::error_and_message(word(tool, failure.code), failure)
    })
}
