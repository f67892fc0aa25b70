//! Failures of requests, in the envelope of W1: always JSON, and never with a path of the host (R13).

use serde_json::{Value, json};
use yard_core::{Fault, FaultCode};
use yard_dialects::{Answer, Fields, Stop, failure_message, workspace};
use yard_gate::admin::Refusal;

use crate::pool::Overloaded;

/// A failure with its HTTP status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// The number of seconds to wait before the next try.
    pub(crate) retry_after: Option<u32>,
    /// The size of the file, if the client requested bytes outside of it.
    pub(crate) size: Option<u64>,
    /// The request did nothing, and may succeed if it is sent again as it is.
    pub(crate) did_nothing: bool,
}

impl Problem {
    pub(crate) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        let body = json!({"success": false, "error": message.into(), "code": code});
        Self { status, body, retry_after: None, size: None, did_nothing: false }
    }

    pub(crate) fn invalid(name: &str, message: impl Into<String>) -> Self {
        Fields::one(name, message).into()
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "NOT_FOUND", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "FORBIDDEN", message)
    }

    pub(crate) fn unknown_caller(message: impl Into<String>) -> Self {
        Self::new(401, "INVALID_TOKEN", message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(409, "CONFLICT", message)
    }

    pub(crate) fn too_large(max: u64) -> Self {
        let message =
            format!("the body is larger than {} KiB, the most that this takes", max >> 10);
        Self::new(413, "PAYLOAD_TOO_LARGE", message)
    }

    /// The client disconnected before its body was sent whole.
    pub(crate) fn broken_body() -> Self {
        Self::invalid("body", "the body broke off; nothing was changed").having_done_nothing()
    }

    /// The body took too long to arrive.
    pub(crate) fn slow_body() -> Self {
        Self::new(408, "TIMEOUT", "the body took too long to arrive").having_done_nothing()
    }

    /// An answer that tells the caller of a call that was cancelled before it did anything.
    pub(crate) fn cancelled(answer: Answer) -> Self {
        let Answer { status, body, .. } = answer;
        Self { status, body: body.into_value(), retry_after: None, size: None, did_nothing: true }
    }

    /// The same, for a request that did nothing and may be sent again.
    pub(crate) fn having_done_nothing(self) -> Self {
        Self { did_nothing: true, ..self }
    }

    /// An internal error: the log has the reason, and the caller the id of the request.
    pub(crate) fn internal() -> Self {
        Self::new(500, "INTERNAL_ERROR", "the server failed; its log has the reason")
    }

    /// The body with the status, for an answer that holds several.
    pub(super) fn with_status(mut self) -> Value {
        self.body["status"] = json!(self.status);
        self.body
    }

    /// The message with the invalid fields, for a page.
    pub(crate) fn message(&self) -> String {
        failure_message(&self.body["error"], &self.body["fields"])
    }

    /// The same, with the time to wait before the next try.
    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The same, with the size of the file.
    pub(crate) fn content_range(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    fn stopped(stop: &Stop) -> Self {
        let Answer { status, body, .. } = (workspace::DIALECT.wrap_stop)("", stop);
        let body = body.into_value();
        Self { status, body, retry_after: None, size: None, did_nothing: false }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        // An error of the machine may name the machine's own paths: they are for the log (R13).
        if matches!(
            fault.code(),
            FaultCode::Io | FaultCode::DiskFull | FaultCode::NotRun | FaultCode::Unavailable
        ) {
            tracing::error!(fault = fault.message(), "a request failed");
        }
        match fault.code() {
            FaultCode::Io => Self::internal(),
            _ => Self::stopped(&fault.into()),
        }
    }
}

impl From<Overloaded> for Problem {
    fn from(overloaded: Overloaded) -> Self {
        Self::new(429, "RATE_LIMITED", overloaded.to_string()).retry_after(overloaded.0)
    }
}

impl From<Fields> for Problem {
    fn from(fields: Fields) -> Self {
        Self::stopped(&Stop::Arguments(fields))
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Fault(fault) => fault.into(),
            Refusal::Fields(wrong) => {
                let mut fields = Fields::default();
                for (name, message) in wrong {
                    fields.push(name, message);
                }
                fields.into()
            }
            Refusal::Unknown(message) => Self::unknown_caller(message),
            Refusal::TooMany(seconds) => {
                let message = format!("too many tries; try again in {seconds} s");
                Self::new(429, "RATE_LIMITED", message).retry_after(seconds)
            }
        }
    }
}
