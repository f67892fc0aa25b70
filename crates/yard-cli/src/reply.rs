//! What a command answers, before it is printed.

use serde_json::Value;

use crate::terminal::Terminal;

/// An answer and the exit code that goes with it.
pub(crate) struct Reply {
    /// What is printed on standard output.
    pub(crate) body: Body,
    /// 0 when all is well.
    pub(crate) exit: u8,
}

/// What is printed on standard output.
pub(crate) enum Body {
    /// Words for people, each line ended.
    Text(String),
    /// A value for scripts: pretty on a terminal, one line elsewhere.
    Json(Value),
}

impl Reply {
    /// Success, in words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { body: Body::Text(text.into()), exit: 0 }
    }

    /// Success, as a value.
    pub(crate) fn json(value: Value) -> Self {
        Self { body: Body::Json(value), exit: 0 }
    }
}

impl Body {
    /// The exact text that is printed.
    pub(crate) fn render(&self, terminal: Terminal) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Json(value) if terminal.is_there => format!("{value:#}\n"),
            Self::Json(value) => format!("{value}\n"),
        }
    }
}
