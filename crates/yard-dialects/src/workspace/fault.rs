//! W1: the envelope, and this dialect's HTTP status and error code for every fault.

use serde_json::json;
use yard_core::{Fault, FaultCode, Subject};

use crate::args::{Fields, WHOLE};
use crate::caller_hints::with_remedy_in_words;
use crate::dialect::Answer;
use crate::envelope;
use crate::tool::Stop;

/// What `error` says of wrong arguments.
const INVALID: &str = "Validation failed";
const VALIDATION: (u16, &str) = (400, "VALIDATION_ERROR");
const NOT_FOUND: (u16, &str) = (404, "NOT_FOUND");
const CONFLICT: (u16, &str) = (409, "CONFLICT");
const FORBIDDEN: (u16, &str) = (403, "FORBIDDEN");
const INTERNAL: (u16, &str) = (500, "INTERNAL_ERROR");

/// HTTP status and code, one row a fault.
pub(super) fn status_and_code(code: FaultCode) -> (u16, &'static str) {
    match code {
        FaultCode::BadArgument
        | FaultCode::TextNotFound
        | FaultCode::TextNotUnique
        | FaultCode::NoChange
        | FaultCode::BadPattern
        | FaultCode::Binary
        | FaultCode::TooLarge
        | FaultCode::BadPath
        | FaultCode::PathOutside
        | FaultCode::IsFolder
        | FaultCode::NotFolder => VALIDATION,
        FaultCode::NotFound => NOT_FOUND,
        FaultCode::Exists | FaultCode::NotEmpty | FaultCode::Stale | FaultCode::MergeConflict => {
            CONFLICT
        }
        FaultCode::Denied | FaultCode::ReadRefused | FaultCode::WriteRefused => FORBIDDEN,
        FaultCode::DiskFull => (507, INTERNAL.1),
        FaultCode::Io => INTERNAL,
        FaultCode::Timeout => (504, "TIMEOUT"),
        FaultCode::NotRun => (500, "EXECUTION_ERROR"),
        FaultCode::Unavailable => (501, "UNAVAILABLE"),
    }
}

pub(super) fn wrap_stop(tool: &str, stop: &Stop) -> Answer {
    match stop {
        Stop::Arguments(fields) => wrap_invalid(fields),
        Stop::Fault(fault) | Stop::Detailed(fault, _) | Stop::OtherRoot(_, fault) => {
            wrap_fault(tool, &with_remedy_in_words(fault.clone()))
        }
        Stop::Pending(pending) => envelope::wrap_pending(pending),
    }
}

fn wrap_fault(tool: &str, fault: &Fault) -> Answer {
    let (status, code) = status_and_code(fault.code());
    if (status, code) == VALIDATION {
        return wrap_invalid(&Fields::one(argument(tool, fault), fault.message()));
    }
    let body = json!({"success": false, "error": fault.message(), "code": code});
    Answer { ok: false, status, body: body.into(), pending: None }
}

/// Only `fields` says what is wrong, as the document has it; `Answer::failure_message` is the whole for models.
fn wrap_invalid(fields: &Fields) -> Answer {
    let (status, code) = VALIDATION;
    let fields = fields.to_value();
    let body = json!({"success": false, "error": INVALID, "code": code, "fields": fields});
    Answer { ok: false, status, body: body.into(), pending: None }
}

/// The argument that a fault is about, as the tool calls it.
fn argument(tool: &str, fault: &Fault) -> &'static str {
    let subject = fault.subject().or_else(|| usual_subject(fault.code()));
    match (subject, tool) {
        (None, _) => WHOLE,
        (Some(Subject::Path), "mv") => "source",
        (Some(Subject::Path), "exit_plan_mode") => "plan_file_path",
        (Some(Subject::Path), _) => "path",
        (Some(Subject::Destination), _) => "destination",
        (Some(Subject::Pattern), "find") => "name",
        (Some(Subject::Pattern), _) => "pattern",
        (Some(Subject::PathPattern), _) => "path_pattern",
        (Some(Subject::Find), _) => "old_string",
        (Some(Subject::Replacement), _) => "new_string",
        (Some(Subject::InsertLine), _) => "insert_line",
        (Some(Subject::Content), "edit" | "plan_edit") => "new_string",
        (Some(Subject::Content), _) => "content",
        (Some(Subject::Hash), _) => "last_read_hash",
        (Some(Subject::Step), _) => "step",
        (Some(Subject::FileType), _) => "file_type",
        (Some(Subject::Cursor), _) => "cursor",
        (Some(Subject::Patch), _) => "patch",
    }
}

/// The argument that faults of a kind are about, where they do not name one.
fn usual_subject(code: FaultCode) -> Option<Subject> {
    match code {
        FaultCode::TextNotFound | FaultCode::TextNotUnique | FaultCode::NoChange => {
            Some(Subject::Find)
        }
        FaultCode::BadPattern => Some(Subject::Pattern),
        FaultCode::BadArgument => None,
        _ => Some(Subject::Path),
    }
}

#[cfg(test)]
mod tests {
    use yard_gate::{Awaited, Pending};

    use super::*;
    use crate::json::Json;

    fn answer(tool: &str, fault: Fault) -> (u16, Json) {
        let answer = wrap_stop(tool, &Stop::Fault(fault));
        (answer.status, answer.body)
    }

    #[test]
    fn w1_every_fault_has_its_status_and_code() {
        let table: [(&[FaultCode], u16, &str); 13] = [
            (
                &[
                    FaultCode::BadArgument,
                    FaultCode::TextNotFound,
                    FaultCode::TextNotUnique,
                    FaultCode::NoChange,
                    FaultCode::BadPattern,
                    FaultCode::Binary,
                    FaultCode::TooLarge,
                ],
                400,
                "VALIDATION_ERROR",
            ),
            (&[FaultCode::BadPath, FaultCode::PathOutside], 400, "VALIDATION_ERROR"),
            (&[FaultCode::NotFound], 404, "NOT_FOUND"),
            (&[FaultCode::IsFolder, FaultCode::NotFolder], 400, "VALIDATION_ERROR"),
            (
                &[
                    FaultCode::Exists,
                    FaultCode::NotEmpty,
                    FaultCode::Stale,
                    FaultCode::MergeConflict,
                ],
                409,
                "CONFLICT",
            ),
            (&[FaultCode::Denied], 403, "FORBIDDEN"),
            (&[FaultCode::ReadRefused, FaultCode::WriteRefused], 403, "FORBIDDEN"),
            (&[FaultCode::DiskFull], 507, "INTERNAL_ERROR"),
            (&[FaultCode::Io], 500, "INTERNAL_ERROR"),
            (&[FaultCode::Timeout], 504, "TIMEOUT"),
            (&[FaultCode::NotRun], 500, "EXECUTION_ERROR"),
            (&[FaultCode::Unavailable], 501, "UNAVAILABLE"),
            (&[], 0, ""),
        ];
        let listed: usize = table.iter().map(|(codes, ..)| codes.len()).sum();
        assert_eq!(listed, FaultCode::ALL.len());
        for (codes, status, name) in table {
            for code in codes {
                let (got, body) = answer("read", Fault::new(*code, "why"));
                assert_eq!((got, body["code"].as_str()), (status, Some(name)), "{code:?}");
                assert_eq!(body["success"], json!(false));
                let message = if status == 400 { &body["fields"] } else { &body["error"] };
                assert!(message.to_string().contains("why"), "{message}");
                assert_eq!(body.get("fields").is_some(), status == 400, "{code:?}");
            }
        }
    }

    #[test]
    fn w1_a_fault_names_the_tool_s_own_argument() {
        let about = |subject| Fault::new(FaultCode::BadArgument, "why").about(subject);
        for (tool, subject, name) in [
            ("read", Subject::Path, "path"),
            ("mv", Subject::Path, "source"),
            ("mv", Subject::Destination, "destination"),
            ("glob", Subject::Pattern, "pattern"),
            ("find", Subject::Pattern, "name"),
            ("grep", Subject::PathPattern, "path_pattern"),
            ("edit", Subject::Find, "old_string"),
            ("edit", Subject::Replacement, "new_string"),
            ("edit", Subject::InsertLine, "insert_line"),
            ("edit", Subject::Hash, "last_read_hash"),
            ("write", Subject::Content, "content"),
            ("write", Subject::FileType, "file_type"),
            ("grep", Subject::Cursor, "cursor"),
        ] {
            assert_eq!(answer(tool, about(subject)).1["fields"], json!({name: "why"}), "{tool}");
        }
        let (_, body) = answer("edit", Fault::new(FaultCode::TextNotFound, "why"));
        assert_eq!(body["fields"], json!({"old_string": "why"}));
    }

    #[test]
    fn w1_envelopes() {
        assert_eq!(
            envelope::wrap_reply(json!({"a": 1}).into()).body,
            json!({"success": true, "result": {"a": 1}, "error": null})
        );
        let mut fields = Fields::one("path", "missing");
        fields.push("limit", "wrong");
        let refused = wrap_stop("read", &Stop::Arguments(fields));
        assert_eq!(
            refused.body,
            json!({
                "success": false,
                "error": "Validation failed",
                "code": "VALIDATION_ERROR",
                "fields": {"path": "missing", "limit": "wrong"}
            })
        );
        assert_eq!((refused.ok, refused.status), (false, 400));
        let id = yard_core::ApprovalId::from_bytes([7; 16]);
        let awaited = Awaited::Approval(id);
        let pending = wrap_stop("write", &Stop::Pending(Pending { awaited, wait_ms: None }));
        assert_eq!((pending.ok, pending.status), (true, 202));
        assert_eq!(
            pending.body["result"],
            json!({"status": "approval_pending", "approval_id": id.to_string()})
        );
    }
}
