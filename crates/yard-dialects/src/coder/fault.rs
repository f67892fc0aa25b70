//! This dialect's word for every fault. Its specification names none: they are those of `assistant`,
//! in the shape of `file`.

use yard_core::{FaultCode, Subject};

use crate::dialect::Answer;
use crate::tool::Stop;
use crate::{assistant, envelope};

/// The word of `assistant`, whose match is exhaustive.
pub(super) fn word(_tool: &str, code: FaultCode) -> &'static str {
    assistant::word(code)
}

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

/// The answer of a tool that has no reply.
pub(super) fn stopped(tool: &str, stop: &Stop) -> Answer {
    let stop = &envelope::naming(stop, |subject| argument(tool, subject));
    envelope::stopped(stop, |failure| {
        envelope::error_and_message(word(tool, failure.code), failure)
    })
}
