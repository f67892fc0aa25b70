//! Faults as this dialect answers them. Its specification names no error codes: they are those of `assistant`, in the
//! shape of `file`.

use yard_core::Subject;

use crate::dialect::Answer;
use crate::tool::Stop;
use crate::{assistant, envelope};

/// The argument that a fault is about, as the tool calls it.
fn argument(tool: &str, subject: Subject) -> Option<&'static str> {
    match subject {
        Subject::Path | Subject::Destination => match tool {
            "shell" | "exec_command" => Some("workdir"),
            "apply_patch_json" | "apply_patch_freeform" => Some("patch"),
            _ => Some("path"),
        },
        Subject::Pattern => Some("pattern"),
        Subject::PathPattern => Some("include"),
        Subject::Patch => Some("patch"),
        Subject::Find
        | Subject::Replacement
        | Subject::Content
        | Subject::Cursor
        | Subject::InsertLine
        | Subject::Hash
        | Subject::Step
        | Subject::FileType => None,
    }
}

pub(super) fn wrap_stop(tool: &str, stop: &Stop) -> Answer {
    let argument = |subject| argument(tool, subject);
    envelope::wrap_error_and_message(stop, argument, assistant::error_code)
}
