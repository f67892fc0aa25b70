//! Answers, before they become HTTP responses. They are plain data: what has to be done to get one is an `Outcome`.

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use serde_json::Value;
use yard_dialects::Json;

use super::cookie::Cookie;
use super::problem::Problem;
use super::stream::Body;

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
    /// A page for a person.
    Page(Bytes),
    /// A file of the page that the program carries.
    WebFile(Box<WebFile>),
    /// A redirect to this path.
    SeeOther(String),
    /// A response with headers of its own.
    Response(Box<Response<Body>>),
}

/// A file of the page as it is sent.
#[derive(Clone)]
pub(crate) struct WebFile {
    pub(super) media: &'static str,
    /// What the page may load and run.
    pub(super) policy: &'static str,
    /// The hash of the bytes, quoted.
    pub(super) etag: String,
    pub(super) bytes: Bytes,
    /// Whether the bytes are compressed with gzip.
    pub(super) is_compressed: bool,
    /// Whether the client has it already.
    pub(super) is_known: bool,
}

impl Reply {
    fn new(status: u16, content: Content) -> Self {
        Self { status, content, cookies: Vec::new() }
    }

    /// JSON that is serialized already.
    pub(crate) fn serialized(status: u16, body: impl Into<Bytes>) -> Self {
        Self::new(status, Content::Json(body.into()))
    }

    /// The answer of a tool.
    pub(crate) fn of_tool(status: u16, body: Json) -> Self {
        Self::serialized(status, body.into_bytes())
    }

    /// A value as JSON.
    pub(crate) fn json(status: u16, value: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(value).map_err(|error| {
            tracing::error!(%error, "an answer could not be written as JSON");
            Problem::internal()
        })?;
        Ok(Self::serialized(status, body))
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

    /// Nothing, with this status.
    pub(crate) fn without_body(status: u16) -> Self {
        Self::new(status, Content::Empty)
    }

    /// A text that is no page.
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

    /// A stream of events.
    pub(crate) fn events(body: Body) -> Self {
        let mut response = Response::new(body);
        let media = HeaderValue::from_static("text/event-stream");
        response.headers_mut().insert(CONTENT_TYPE, media);
        Self::response(response)
    }

    /// A response with headers of its own.
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
        Self::serialized(problem.status, Value::to_string(&problem.body))
    }
}
