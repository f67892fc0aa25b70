//! Replies of handlers, before they become HTTP responses.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use serde::Serialize;
use serde_json::Value;
use yard_core::Timestamp;
use yard_dialects::Json;

use super::cookie::Cookie;
use super::problem::Problem;
use super::request::HttpRequest;
use super::stream::Body;
use super::waiting::PendingCall;
use super::web::WebFile;
use crate::mcp::McpCaller;

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content: Content,
    pub(crate) cookies: Vec<Cookie>,
}

/// The content of a reply.
pub(crate) enum Content {
    /// Nothing.
    Empty,
    /// Serialized JSON.
    Json(Bytes),
    /// A text with its media type.
    Text(&'static str, Bytes),
    /// Bytes that are read while they are sent.
    Raw(Raw),
    /// The stream of events after this number.
    Events(u64),
    /// The stream of events of all workspaces of the caller, after this time.
    AllEvents(Option<Timestamp>),
    /// A page for a person.
    Page(Bytes),
    /// A file of the page that the program carries.
    WebFile(Box<WebFile>),
    /// A redirect to this path.
    SeeOther(String),
    /// The pending answer, which is replaced if a person decides in time.
    Waiting(Bytes, Box<PendingCall>),
    /// A request for the MCP server, with its caller.
    Mcp(Box<McpCaller>),
    /// A response of another protocol.
    Response(Box<Response<Body>>),
}

/// Bytes of a file.
pub(crate) struct Raw {
    /// Their hash, quoted.
    pub(crate) etag: String,
    /// The size of the whole file.
    pub(crate) size: u64,
    /// The range that is sent.
    pub(crate) range: Range<u64>,
    /// Reads the next piece; `None` if nothing is sent.
    pub(crate) next: Option<Piece>,
}

/// Reads at least one byte from an offset on.
pub(crate) type Piece = Arc<dyn Fn(&HttpRequest, u64) -> Result<Vec<u8>, Problem> + Send + Sync>;

impl Reply {
    fn new(status: u16, content: Content) -> Self {
        Self { status, content, cookies: Vec::new() }
    }

    /// The answer of a tool, which is serialized already.
    pub(crate) fn serialized(status: u16, body: Json) -> Self {
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

    /// 200 OK.
    pub(crate) fn ok(value: &impl Serialize) -> Result<Self, Problem> {
        Self::json(200, value)
    }

    /// 201 Created.
    pub(crate) fn created(value: &impl Serialize) -> Result<Self, Problem> {
        Self::json(201, value)
    }

    /// 204 No Content.
    pub(crate) fn empty() -> Self {
        Self::new(204, Content::Empty)
    }

    /// A text.
    pub(crate) fn text(media: &'static str, text: impl Into<Bytes>) -> Self {
        Self::new(200, Content::Text(media, text.into()))
    }

    /// A page for a person.
    pub(crate) fn page(status: u16, page: impl Into<Bytes>) -> Self {
        Self::new(status, Content::Page(page.into()))
    }

    /// A file of the page that the program carries.
    pub(crate) fn web_file(file: WebFile) -> Self {
        let status = if file.is_known { 304 } else { 200 };
        Self::new(status, Content::WebFile(Box::new(file)))
    }

    /// 303 See Other: the browser loads this path.
    pub(crate) fn see_other(path: String) -> Self {
        Self::new(303, Content::SeeOther(path))
    }

    /// Bytes of a file.
    pub(crate) fn raw(status: u16, raw: Raw) -> Self {
        Self::new(status, Content::Raw(raw))
    }

    /// A request for the MCP server.
    pub(crate) fn mcp(caller: McpCaller) -> Self {
        Self::new(200, Content::Mcp(Box::new(caller)))
    }

    /// A response of another protocol.
    pub(crate) fn response(response: Response<Body>) -> Self {
        Self::new(response.status().as_u16(), Content::Response(Box::new(response)))
    }

    /// The same, with cookies.
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
