//! A1: replies and faults in this dialect's own shape, and its word for every fault. `coder` and
//! `codex`, whose specifications name no words, have the same.

use serde_json::{Value, json};
use yard_core::{FaultCode, Subject};

use crate::dialect::Answer;
use crate::envelope::{self, Failure};
use crate::json::Json;
use crate::tool::Stop;

/// One row a fault.
pub(crate) fn word(code: FaultCode) -> &'static str {
    match code {
        FaultCode::BadArgument
        | FaultCode::TextNotFound
        | FaultCode::TextNotUnique
        | FaultCode::NoChange
        | FaultCode::BadPattern => "INVALID_ARGUMENTS",
        FaultCode::Binary => "BINARY_FILE",
        FaultCode::TooLarge => "TOO_LARGE",
        FaultCode::BadPath | FaultCode::PathOutside => "INVALID_PATH",
        FaultCode::NotFound => "FILE_NOT_FOUND",
        FaultCode::IsFolder | FaultCode::NotFolder => "INVALID_PATH",
        FaultCode::Exists | FaultCode::NotEmpty | FaultCode::Stale | FaultCode::MergeConflict => {
            "CONFLICT"
        }
        FaultCode::Denied | FaultCode::ReadRefused | FaultCode::WriteRefused => "PERMISSION_DENIED",
        FaultCode::DiskFull | FaultCode::Io => "IO_ERROR",
        FaultCode::Timeout => "TIMEOUT",
        FaultCode::NotRun => "EXECUTION_ERROR",
        FaultCode::Unavailable => "UNAVAILABLE",
    }
}

/// The answer of a tool that has a reply.
pub(super) fn done(reply: Json) -> Answer {
    envelope::done(reply.within(r#"{"ok":true,"value":"#, "}"))
}

/// The argument that a fault is about, as the tool calls it.
fn argument(tool: &str, subject: Subject) -> Option<&'static str> {
    match subject {
        // They say themselves which of their paths is meant.
        Subject::Path if tool.starts_with("git_") => None,
        Subject::Path => match tool {
            "move_file" => Some("from"),
            "format_code" => Some("paths"),
            _ => Some("path"),
        },
        Subject::Destination => Some("to"),
        Subject::Pattern => Some("query"),
        Subject::Content => Some("content"),
        Subject::Cursor => Some("cursor"),
        Subject::PathPattern
        | Subject::Patch
        | Subject::Find
        | Subject::Replacement
        | Subject::InsertLine
        | Subject::Hash
        | Subject::Step
        | Subject::FileType => None,
    }
}

/// The answer of a tool that has none.
pub(super) fn stopped(tool: &str, stop: &Stop) -> Answer {
    envelope::stopped(&envelope::naming(stop, |subject| argument(tool, subject)), error)
}

fn error(failure: &Failure<'_>) -> Value {
    let details = match (failure.fields, failure.details) {
        (Some(fields), _) => json!({"fields": fields.to_value()}),
        (None, Some(details)) => details.clone(),
        (None, None) => json!({}),
    };
    let code = word(failure.code);
    json!({"ok": false, "error": {"code": code, "message": failure.message, "details": details}})
}
