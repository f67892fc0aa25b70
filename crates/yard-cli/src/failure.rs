//! The failure of a command: a fault, a hint, and the exit code.

use serde_json::{Value, json};
use yard_core::{Fault, FaultCode};
use yard_dialects::with_remedy_in_words;
use yard_store::StoreError;

/// The tool or the command failed.
const FAILED: u8 = 1;
/// The command line, or the JSON on it, does not parse.
const MISUSED: u8 = 2;

/// A fault with a hint and an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    fault: Fault,
    hint: Option<String>,
    exit: u8,
}

impl Failure {
    /// A failure with a message.
    pub(crate) fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Fault::new(code, message).into()
    }

    /// A failure of the command line itself: an argument cannot be parsed.
    pub(crate) fn misuse(code: FaultCode, message: impl Into<String>) -> Self {
        Self { exit: MISUSED, ..Self::new(code, message) }
    }

    /// The operating system failed while doing `what`.
    pub(crate) fn io(what: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let code = match error.kind() {
            ErrorKind::NotFound => FaultCode::NotFound,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => FaultCode::WriteRefused,
            ErrorKind::NotADirectory => FaultCode::NotFolder,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FaultCode::DiskFull,
            _ => FaultCode::Io,
        };
        Self::new(code, format!("{what}: {error}"))
    }

    /// The same failure, with a hint.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure, with a hint if it has this code and no hint yet.
    #[must_use]
    pub(crate) fn with_hint_if(self, code: FaultCode, hint: &str) -> Self {
        match self.code() == code && self.hint.is_none() {
            true => self.with_hint(hint),
            false => self,
        }
    }

    pub(crate) fn code(&self) -> FaultCode {
        self.fault.code()
    }

    pub(crate) fn message(&self) -> &str {
        self.fault.message()
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(crate) fn exit(&self) -> u8 {
        self.exit
    }

    /// The message and the hint, for readers of standard output only.
    fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.message()),
            None => self.message().to_owned(),
        }
    }

    /// For scripts that asked for `--json`.
    pub(crate) fn to_json(&self) -> Value {
        json!({"error": self.text(), "code": json_code(self.code())})
    }

    /// For callers of tools: the envelope of W1, for failures that happen before a dialect is called.
    pub(crate) fn to_envelope(&self) -> Value {
        let code = envelope_code(self.code());
        let mut envelope = json!({"success": false, "error": self.text(), "code": code});
        if code == "VALIDATION_ERROR" {
            envelope["fields"] = json!({});
        }
        envelope
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let fault = with_remedy_in_words(fault);
        let hint = match fault.code() {
            FaultCode::MergeConflict => Some("toolyard show STEP shows a step's changes"),
            FaultCode::DiskFull => Some("free some space and run the command again"),
            _ => None,
        };
        Self { hint: hint.map(str::to_owned), fault, exit: FAILED }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Fault::from(error).into()
    }
}

/// The code of a fault in the JSON of the command line.
fn json_code(code: FaultCode) -> &'static str {
    match code {
        FaultCode::BadArgument => "bad_argument",
        FaultCode::TextNotFound => "text_not_found",
        FaultCode::TextNotUnique => "text_not_unique",
        FaultCode::NoChange => "no_change",
        FaultCode::BadPattern => "bad_pattern",
        FaultCode::Binary => "binary",
        FaultCode::TooLarge => "too_large",
        FaultCode::BadPath => "bad_path",
        FaultCode::PathOutside => "path_outside",
        FaultCode::NotFound => "not_found",
        FaultCode::IsFolder => "is_folder",
        FaultCode::NotFolder => "not_folder",
        FaultCode::Exists => "exists",
        FaultCode::NotEmpty => "not_empty",
        FaultCode::Stale => "stale",
        FaultCode::MergeConflict => "merge_conflict",
        FaultCode::Denied => "denied",
        FaultCode::ReadRefused => "read_refused",
        FaultCode::WriteRefused => "write_refused",
        FaultCode::DiskFull => "disk_full",
        FaultCode::Io => "io",
        FaultCode::Timeout => "timeout",
        FaultCode::NotRun => "not_run",
        FaultCode::Unavailable => "unavailable",
    }
}

/// The code of a failure before a dialect is called.
fn envelope_code(code: FaultCode) -> &'static str {
    match code {
        FaultCode::TooLarge => "PAYLOAD_TOO_LARGE",
        FaultCode::NotFound => "NOT_FOUND",
        FaultCode::Denied | FaultCode::ReadRefused | FaultCode::WriteRefused => "FORBIDDEN",
        FaultCode::Stale => "CONFLICT",
        FaultCode::DiskFull | FaultCode::Io => "INTERNAL_ERROR",
        FaultCode::Timeout => "TIMEOUT",
        FaultCode::NotRun => "EXECUTION_ERROR",
        FaultCode::Unavailable => "UNAVAILABLE",
        _ => "VALIDATION_ERROR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_own_code() {
        let mut text: Vec<_> = FaultCode::ALL.iter().map(|code| json_code(*code)).collect();
        text.sort_unstable();
        text.dedup();
        assert_eq!(text.len(), FaultCode::ALL.len());
    }

    #[test]
    fn w1_failures_outside_a_dialect_use_the_envelope() {
        let failure = Failure::misuse(FaultCode::BadArgument, "no JSON");
        let envelope = failure.to_envelope();
        assert_eq!(envelope["success"], false);
        assert_eq!(envelope["code"], "VALIDATION_ERROR");
        assert_eq!(failure.exit(), 2);
    }
}
