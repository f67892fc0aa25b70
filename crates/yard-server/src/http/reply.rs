//! What a handler answers, before it becomes bytes on a wire.

use serde::Serialize;
use serde_json::Value;

use super::cookie::Cookie;
use super::problem::Problem;

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content: Content,
    pub(crate) cookies: Vec<Cookie>,
}

/// What is in it.
pub(crate) enum Content {
    /// Nothing.
    Empty,
    /// JSON, written out.
    Json(Vec<u8>),
    /// A text of this type.
    Text(&'static str, String),
}

impl Reply {
    /// A value as JSON.
    pub(crate) fn json(status: u16, value: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(value).map_err(|error| {
            tracing::error!(%error, "an answer could not be written as JSON");
            Problem::internal()
        })?;
        Ok(Self { status, content: Content::Json(body), cookies: Vec::new() })
    }

    /// Success.
    pub(crate) fn ok(value: &impl Serialize) -> Result<Self, Problem> {
        Self::json(200, value)
    }

    /// Something came to be.
    pub(crate) fn created(value: &impl Serialize) -> Result<Self, Problem> {
        Self::json(201, value)
    }

    /// Done, and there is nothing to say.
    pub(crate) fn empty() -> Self {
        Self { status: 204, content: Content::Empty, cookies: Vec::new() }
    }

    /// A text.
    pub(crate) fn text(media: &'static str, text: String) -> Self {
        Self { status: 200, content: Content::Text(media, text), cookies: Vec::new() }
    }

    /// The same, setting cookies.
    pub(crate) fn with_cookies(mut self, cookies: Vec<Cookie>) -> Self {
        self.cookies = cookies;
        self
    }
}

impl From<&Problem> for Reply {
    fn from(problem: &Problem) -> Self {
        let body = Value::to_string(&problem.body).into_bytes();
        Self { status: problem.status, content: Content::Json(body), cookies: Vec::new() }
    }
}
