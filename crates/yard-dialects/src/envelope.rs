//! F1: the envelope around the answers of every dialect but `workspace`. A tool that ran is answered with
//! 200, its failures too: the failure is the dialect's own answer, in `result`. The dialects bring their error
//! codes.

use serde_json::{Value, json};
use yard_core::{Fault, FaultCode, Subject};
use yard_gate::{Awaited, Pending};

use crate::args::Fields;
use crate::caller_hints::with_remedy_in_words;
use crate::dialect::Answer;
use crate::json::Json;
use crate::tool::Stop;

/// Why a tool has no reply, ready to be put into a dialect's own shape.
pub struct Failure<'a> {
    /// What kind of failure it is.
    pub code: FaultCode,
    /// What is wrong, and what to send instead.
    pub message: &'a str,
    /// Each wrong argument, if the arguments are wrong.
    pub fields: Option<&'a Fields>,
    /// Data about the failure.
    pub details: Option<&'a Value>,
}

/// Puts a reply into the envelope.
pub fn wrap_reply(result: Json) -> Answer {
    let body = result.within(r#"{"success":true,"result":"#, r#","error":null}"#);
    Answer { ok: true, status: 200, body, pending: None }
}

/// Puts the reason why there is no reply into the envelope; `failure_body` is the dialect's own answer to a failure.
pub fn wrap_stop(stop: &Stop, failure_body: impl Fn(&Failure<'_>) -> Value) -> Answer {
    let wrap = |code, message: &str, fields, details| {
        let result = failure_body(&Failure { code, message, fields, details });
        let body = json!({"success": false, "result": result, "error": message});
        Answer { ok: false, status: 200, body: body.into(), pending: None }
    };
    let wrap_fault = |fault: &Fault, details| {
        wrap(fault.code(), with_remedy_in_words(fault.clone()).message(), None, details)
    };
    match stop {
        Stop::Arguments(fields) => {
            wrap(FaultCode::BadArgument, &fields.to_string(), Some(fields), None)
        }
        Stop::Fault(fault) | Stop::OtherRoot(_, fault) => wrap_fault(fault, None),
        Stop::Detailed(fault, details) => wrap_fault(fault, Some(details)),
        Stop::Pending(pending) => wrap_pending(pending),
    }
}

/// As [`wrap_stop`], in the shape that most dialects have: `{"error": code, "message": text}`. The message names
/// the argument that is wrong.
pub(crate) fn wrap_error_and_message(
    stop: &Stop,
    argument: impl Fn(Subject) -> Option<&'static str>,
    error_code: impl Fn(FaultCode) -> &'static str,
) -> Answer {
    wrap_stop(&with_argument_of_subject(stop, argument), |failure| {
        error_and_message(error_code(failure.code), failure)
    })
}

/// The same stop; a fault about an argument begins with the name that the tool has for it.
pub(crate) fn with_argument_of_subject(
    stop: &Stop,
    argument: impl Fn(Subject) -> Option<&'static str>,
) -> Stop {
    let name = match stop {
        Stop::Fault(fault) => fault.subject().and_then(argument),
        _ => None,
    };
    match name {
        Some(name) => with_argument(stop.clone(), name),
        None => stop.clone(),
    }
}

/// Puts the name of an argument before a fault that is about what was sent. A fault about the files (such as a
/// missing one) needs no name: its message has the path.
pub(crate) fn with_argument(stop: Stop, name: &str) -> Stop {
    stop.reword(|fault| {
        let is_about_arguments = matches!(
            fault.code(),
            FaultCode::BadArgument
                | FaultCode::BadPattern
                | FaultCode::BadPath
                | FaultCode::PathOutside
        );
        let is_too_long =
            (fault.code(), fault.subject()) == (FaultCode::TooLarge, Some(Subject::Content));
        let start = format!("{name}: ");
        let is_named = fault.message().starts_with(&start);
        ((is_about_arguments || is_too_long) && !is_named)
            .then(|| format!("{start}{}", fault.message()))
    })
}

/// R16: nothing failed, a person has to decide. The answer is the same in every dialect.
pub fn wrap_pending(pending: &Pending) -> Answer {
    let result = match &pending.awaited {
        Awaited::Approval(id) => {
            json!({"status": "approval_pending", "approval_id": id.to_string()})
        }
        Awaited::Question(id) => {
            json!({"status": "question_pending", "question_id": id.to_string()})
        }
    };
    Answer { status: 202, ..wrap_reply(result.into()) }
}

/// A failure in the shape that most dialects have.
pub(crate) fn error_and_message(error_code: &str, failure: &Failure<'_>) -> Value {
    json!({"error": error_code, "message": failure.message})
}

#[cfg(test)]
mod tests {
    use yard_core::Fault;

    use super::*;

    fn failure_body(failure: &Failure<'_>) -> Value {
        error_and_message("code", failure)
    }

    #[test]
    fn f1_a_tool_that_ran_is_answered_with_200() {
        assert_eq!(
            wrap_reply(json!({"a": 1}).into()).body,
            json!({"success": true, "result": {"a": 1}, "error": null})
        );
        let answer = wrap_stop(&Stop::Fault(Fault::new(FaultCode::NotFound, "why")), failure_body);
        assert_eq!((answer.ok, answer.status), (false, 200));
        assert_eq!(
            answer.body,
            json!({"success": false, "result": {"error": "code", "message": "why"}, "error": "why"})
        );
    }

    #[test]
    fn f1_wrong_arguments_are_all_named_in_one_message() {
        let mut fields = Fields::one("path", "missing");
        fields.push("limit", "wrong");
        let answer = wrap_stop(&Stop::Arguments(fields), failure_body);
        assert_eq!(answer.body["error"], "path: missing; limit: wrong");
    }

    #[test]
    fn r16_a_pending_call_is_202_in_every_dialect() {
        let id = yard_core::ApprovalId::from_bytes([7; 16]);
        let awaited = Awaited::Approval(id);
        let answer = wrap_stop(&Stop::Pending(Pending { awaited, wait_ms: None }), failure_body);
        assert_eq!((answer.ok, answer.status), (true, 202));
        assert_eq!(
            answer.body["result"],
            json!({"status": "approval_pending", "approval_id": id.to_string()})
        );
    }
}
