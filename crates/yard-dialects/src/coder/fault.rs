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
            "ls" => Some("dirPath"),
            "apply_patch" => Some("patchText"),
            _ => Some("filePath"),
        },
        Subject::Pattern | Subject::PathPattern => Some("pattern"),
        Subject::Find => Some("oldString"),
        Subject::Replacement => Some("newString"),
        Subject::Content => (tool == "write").then_some("content"),
        Subject::Cursor => Some("cursor"),
        Subject::Patch => Some("patchText"),
        Subject::InsertLine | Subject::Hash | Subject::Step | Subject::FileType => None,
    }
}

pub(super) fn wrap_stop(tool: &str, stop: &Stop) -> Answer {
    let argument = |subject| argument(tool, subject);
    envelope::wrap_error_and_message(stop, argument, assistant::error_code)
}
