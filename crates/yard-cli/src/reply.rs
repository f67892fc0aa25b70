//! The reply of a command, before it is printed.

use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// An answer and the exit code that goes with it.
pub(crate) struct Reply {
    /// The text or value that is printed on standard output.
    pub(crate) body: Body,
    /// 0 for success.
    pub(crate) exit: u8,
}

/// The text or value that is printed on standard output.
pub(crate) enum Body {
    /// A text for people, in complete lines.
    Text(String),
    /// A value for scripts: pretty on a terminal, one line elsewhere.
    Json(Value),
}

impl Reply {
    /// Success, with a text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { body: Body::Text(text.into()), exit: 0 }
    }

    /// Success, with a JSON value.
    pub(crate) fn json(value: Value) -> Self {
        Self { body: Body::Json(value), exit: 0 }
    }

    /// Success, with a JSON value if the person asked for JSON, else with a text.
    pub(crate) fn either(
        json: bool,
        value: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Self {
        if json { Self::json(value()) } else { Self::text(text()) }
    }
}

impl Body {
    /// The text that is printed.
    pub(crate) fn render(&self, terminal: Terminal) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Json(value) if terminal.is_there => format!("{value:#}\n"),
            Self::Json(value) => format!("{value}\n"),
        }
    }
}

/// What a command that fails prints on standard output. Standard error has the message in any case.
#[derive(Clone, Copy)]
pub(crate) enum FailureFormat {
    /// Nothing.
    Nothing,
    /// A JSON object for scripts.
    Json,
    /// The envelope of the tools (W1).
    Envelope,
}

impl FailureFormat {
    /// The reply of a command that failed.
    pub(crate) fn reply_to(self, failure: &Failure) -> Reply {
        let body = match self {
            Self::Nothing => Body::Text(String::new()),
            Self::Json => Body::Json(failure.to_json()),
            Self::Envelope => Body::Json(failure.to_envelope()),
        };
        Reply { body, exit: failure.exit() }
    }
}
