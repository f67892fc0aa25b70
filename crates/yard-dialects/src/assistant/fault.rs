//! A1: replies and faults in this dialect's own shape, and its word for every fault. `coder` and
//! `codex`, whose specifications name no words, have the same.

use serde_json::{Value, json};
use yard_core::FaultCode;

use crate::catalog::Answer;
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
        FaultCode::Unavailable => "UNAVAILABLE",
    }
}

/// The answer of a tool that has a reply.
pub(super) fn done(reply: Json) -> Answer {
    envelope::done(reply.within(r#"{"ok":true,"value":"#, "}"))
}

/// The answer of a tool that has none.
pub(super) fn stopped(_tool: &str, stop: &Stop) -> Answer {
    envelope::stopped(stop, error)
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
