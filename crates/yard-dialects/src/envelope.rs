//! F1: what surrounds the answers of every dialect but `workspace`. A tool that ran is answered with
//! 200, its failures too: the failure is the dialect's own answer, in `result`. What a dialect calls a
//! fault is not known here.

use serde_json::{Value, json};
use yard_core::{FaultCode, Subject};
use yard_gate::{Awaited, Pending};

use crate::args::Fields;
use crate::dialect::Answer;
use crate::json::Json;
use crate::tool::Stop;

/// Why a tool has no reply, ready to be put into a dialect's own shape.
pub struct Failure<'a> {
    /// What kind of failure it is.
    pub code: FaultCode,
    /// Words from which the next call can succeed.
    pub message: &'a str,
    /// What is wrong with the arguments, if it is they.
    pub fields: Option<&'a Fields>,
    /// What else there is to tell.
    pub details: Option<&'a Value>,
}

/// The envelope of a reply.
pub fn done(result: Json) -> Answer {
    let body = result.within(r#"{"success":true,"result":"#, r#","error":null}"#);
    Answer { ok: true, status: 200, body, pending: None }
}

/// The envelope of everything else; `say` is the dialect's own answer to a failure.
pub fn stopped(stop: &Stop, say: impl Fn(&Failure<'_>) -> Value) -> Answer {
    let told = |code, message: &str, fields, details| {
        failed(&Failure { code, message, fields, details }, &say)
    };
    match stop {
        Stop::Arguments(fields) => {
            told(FaultCode::BadArgument, &fields.to_string(), Some(fields), None)
        }
        Stop::Fault(fault) | Stop::Elsewhere(_, fault) => {
            told(fault.code(), fault.message(), None, None)
        }
        Stop::Detailed(fault, details) => told(fault.code(), fault.message(), None, Some(details)),
        Stop::Pending(pending) => waiting(pending),
    }
}

fn failed(failure: &Failure<'_>, say: impl Fn(&Failure<'_>) -> Value) -> Answer {
    let body = json!({"success": false, "result": say(failure), "error": failure.message});
    Answer { ok: false, status: 200, body: body.into(), pending: None }
}

/// The same reason, with the argument that is wrong named by its own name where the words do not name it.
pub(crate) fn naming(stop: &Stop, argument: impl Fn(Subject) -> Option<&'static str>) -> Stop {
    let name = match stop {
        Stop::Fault(fault) => fault.subject().and_then(argument),
        _ => None,
    };
    match name {
        Some(name) => named(stop.clone(), name),
        None => stop.clone(),
    }
}

/// A reason that is about the argument of this name. What is or is not there says so by itself.
pub(crate) fn named(stop: Stop, name: &str) -> Stop {
    stop.map_fault(|fault| {
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
        match (is_about_arguments || is_too_long) && !fault.message().starts_with(&start) {
            true => Stop::Fault(fault.reworded(format!("{start}{}", fault.message()))),
            false => Stop::Fault(fault),
        }
    })
}

/// R16: nothing failed, a person has to decide. Every dialect says so alike.
pub fn waiting(pending: &Pending) -> Answer {
    let result = match &pending.awaited {
        Awaited::Approval(id) => {
            json!({"status": "approval_pending", "approval_id": id.to_string()})
        }
        Awaited::Question(id) => {
            json!({"status": "question_pending", "question_id": id.to_string()})
        }
    };
    Answer { status: 202, ..done(result.into()) }
}

/// A failure in the shape that most dialects have.
pub(crate) fn error_and_message(word: &str, failure: &Failure<'_>) -> Value {
    json!({"error": word, "message": failure.message})
}

#[cfg(test)]
mod tests {
    use yard_core::Fault;

    use super::*;

    fn say(failure: &Failure<'_>) -> Value {
        error_and_message("word", failure)
    }

    #[test]
    fn f1_a_tool_that_ran_is_answered_with_200() {
        assert_eq!(
            done(json!({"a": 1}).into()).body,
            json!({"success": true, "result": {"a": 1}, "error": null})
        );
        let answer = stopped(&Stop::Fault(Fault::new(FaultCode::NotFound, "why")), say);
        assert_eq!((answer.ok, answer.status), (false, 200));
        assert_eq!(
            answer.body,
            json!({"success": false, "result": {"error": "word", "message": "why"}, "error": "why"})
        );
    }

    #[test]
    fn f1_wrong_arguments_are_all_named_in_one_message() {
        let mut fields = Fields::one("path", "missing");
        fields.push("limit", "wrong");
        let answer = stopped(&Stop::Arguments(fields), say);
        assert_eq!(answer.body["error"], "path: missing; limit: wrong");
    }

    #[test]
    fn r16_a_pending_call_is_202_in_every_dialect() {
        let id = yard_core::ApprovalId::from_bytes([7; 16]);
        let awaited = Awaited::Approval(id);
        let answer = stopped(&Stop::Pending(Pending { awaited, wait_ms: None }), say);
        assert_eq!((answer.ok, answer.status), (true, 202));
        assert_eq!(
            answer.body["result"],
            json!({"status": "approval_pending", "approval_id": id.to_string()})
        );
    }
}
