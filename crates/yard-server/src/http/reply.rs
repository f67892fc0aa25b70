//! What a handler answers, before it becomes bytes on a wire.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use serde::Serialize;
use serde_json::Value;
use yard_dialects::Json;

use super::cookie::Cookie;
use super::problem::Problem;
use super::request::HttpRequest;
use super::stream::Body;
use super::waiting::PendingCall;
use crate::mcp::McpCaller;

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
    Json(Bytes),
    /// A text of this type.
    Text(&'static str, String),
    /// Bytes that are read while they are sent.
    Raw(Raw),
    /// Events after this number, for as long as the client listens.
    Events(u64),
    /// A page for a person.
    Page(String),
    /// Nothing here: the browser goes to this path.
    SeeOther(String),
    /// JSON as it stands, unless a person speaks in time.
    Waiting(Bytes, Box<PendingCall>),
    /// Nothing yet: the request goes on to the MCP server, in the name of this caller.
    Mcp(Box<McpCaller>),
    /// A response that another protocol made.
    Response(Box<Response<Body>>),
}

/// Bytes of a file.
pub(crate) struct Raw {
    /// Their hash, quoted.
    pub(crate) etag: String,
    /// How many the whole has.
    pub(crate) size: u64,
    /// Which of them are sent.
    pub(crate) range: Range<u64>,
    /// Reads the next piece; without it, nothing is sent.
    pub(crate) next: Option<Piece>,
}

/// Reads some bytes from an offset on, at least one.
pub(crate) type Piece = Arc<dyn Fn(&HttpRequest, u64) -> Result<Vec<u8>, Problem> + Send + Sync>;

impl Reply {
    fn new(status: u16, content: Content) -> Self {
        Self { status, content, cookies: Vec::new() }
    }

    /// A tool's answer, which is written already.
    pub(crate) fn written(status: u16, body: Json) -> Self {
        Self::new(status, Content::Json(body.into_bytes()))
    }

    /// A value as JSON.
    pub(crate) fn json(status: u16, value: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(value).map_err(|error| {
            tracing::error!(%error, "an answer could not be written as JSON");
            Problem::internal()
        })?;
        Ok(Self::new(status, Content::Json(body.into())))
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
        Self::new(204, Content::Empty)
    }

    /// A text.
    pub(crate) fn text(media: &'static str, text: String) -> Self {
        Self::new(200, Content::Text(media, text))
    }

    /// A page for a person.
    pub(crate) fn page(status: u16, page: String) -> Self {
        Self::new(status, Content::Page(page))
    }

    /// Done; the browser shall look at this path.
    pub(crate) fn see_other(path: String) -> Self {
        Self::new(303, Content::SeeOther(path))
    }

    /// Bytes of a file.
    pub(crate) fn raw(status: u16, raw: Raw) -> Self {
        Self::new(status, Content::Raw(raw))
    }

    /// A request that goes on to the MCP server.
    pub(crate) fn mcp(caller: McpCaller) -> Self {
        Self::new(200, Content::Mcp(Box::new(caller)))
    }

    /// A response that another protocol made.
    pub(crate) fn response(response: Response<Body>) -> Self {
        Self::new(response.status().as_u16(), Content::Response(Box::new(response)))
    }

    /// The same, setting cookies.
    pub(crate) fn with_cookies(mut self, cookies: Vec<Cookie>) -> Self {
        self.cookies = cookies;
        self
    }
}

impl From<&Problem> for Reply {
    fn from(problem: &Problem) -> Self {
        Self::new(problem.status, Content::Json(Value::to_string(&problem.body).into()))
    }
}
