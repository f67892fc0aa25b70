//! A1: replies and faults in this dialect's own shape, and its error code for every fault. `coder`, `codex` and
//! `filesystem`, whose specifications name no codes, have the same.

use serde_json::{Value, json};
use yard_core::{FaultCode, Subject};

use crate::dialect::Answer;
use crate::envelope::{self, Failure};
use crate::json::Json;
use crate::tool::Stop;

/// One row a fault.
pub(crate) fn error_code(code: FaultCode) -> &'static str {
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

pub(super) fn wrap_reply(reply: Json) -> Answer {
    envelope::wrap_reply(reply.within(r#"{"ok":true,"value":"#, "}"))
}

/// The argument that a fault is about, as the tool calls it.
fn argument(tool: &str, subject: Subject) -> Option<&'static str> {
    match subject {
        // The git tools name the argument themselves.
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

pub(super) fn wrap_stop(tool: &str, stop: &Stop) -> Answer {
    let stop = envelope::with_argument_of_subject(stop, |subject| argument(tool, subject));
    envelope::wrap_stop(&stop, failure_body)
}

fn failure_body(failure: &Failure<'_>) -> Value {
    let details = match (failure.fields, failure.details) {
        (Some(fields), _) => json!({"fields": fields.to_value()}),
        (None, Some(details)) => details.clone(),
        (None, None) => json!({}),
    };
    let code = error_code(failure.code);
    json!({"ok": false, "error": {"code": code, "message": failure.message, "details": details}})
}
