//! What is known of one route: method and path, who has access, what goes in and what comes out. Its handler is in the row
//! of the table (`row.rs`).

use http::Method;
use serde_json::Value;
use yard_core::Role;
use yard_dialects::form::InputForm;

use super::body::SMALL_BYTES;
use crate::pool::WorkKind;

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    /// Every client, without a token.
    Anyone,
    /// A person who logged in, or an agent with a key.
    Caller,
    /// A person who logged in.
    Person,
    /// A person or agent with at least this role in the workspace that the path names.
    Inside(Role),
    /// A person with at least this role there; never an agent's key.
    PersonInside(Role),
}

impl RouteAccess {
    /// A sentence for the documents.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Anyone => "For anybody.".to_owned(),
            Self::Caller => "For people and agents.".to_owned(),
            Self::Person => "For people.".to_owned(),
            Self::Inside(role) => {
                format!("For people and agents who are at least {}.", role.word())
            }
            Self::PersonInside(role) => format!("For people who are at least {}.", role.word()),
        }
    }
}

/// The body of a request.
#[derive(Clone, Debug)]
pub enum BodyShape {
    /// Nothing.
    None,
    /// JSON of this form.
    Json(InputForm),
    /// JSON of this form, or nothing at all.
    OptionalJson(InputForm),
    /// Bytes of any type and number.
    Bytes,
    /// The form of a page.
    Form,
    /// A message of another protocol, which parses it itself.
    Message,
}

/// The body of an answer.
#[derive(Clone, Debug)]
pub enum ReplyShape {
    /// Nothing.
    Empty,
    /// JSON of this schema.
    Json(Value),
    /// A text of this media type.
    Text(&'static str),
    /// Bytes of a file, whole or in part.
    Bytes,
    /// A page for a person. Its refusals are pages too, and the documents for programs leave it out.
    Page,
    /// A file of the page. The documents for programs leave it out.
    WebFile,
    /// A message of another protocol, whose documents describe it.
    Protocol,
}

/// One route.
#[derive(Clone, Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with `{names}`.
    pub path: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Who may use it.
    pub access: RouteAccess,
    /// The form of the query, an object.
    pub query: Option<InputForm>,
    /// The body.
    pub body: BodyShape,
    /// The schema of the body in the documents, if it is more exact than the one that is checked.
    pub shown_body: Option<Value>,
    /// The status of success.
    pub status: u16,
    /// The answer.
    pub reply: ReplyShape,
    /// The answer holds a secret and is never stored for retries.
    pub secret: bool,
    /// The largest body, in bytes. Without a caller that is a small one: only authorized callers get memory for large ones.
    pub max_bytes: u64,
    pub(super) work: WorkKind,
}

impl Route {
    pub(super) fn new(access: RouteAccess, method: Method, path: &'static str) -> Self {
        let work = if method == Method::GET { WorkKind::Look } else { WorkKind::Change };
        Self {
            method,
            path,
            about: "",
            access,
            query: None,
            body: BodyShape::None,
            shown_body: None,
            status: 200,
            reply: ReplyShape::Empty,
            secret: false,
            max_bytes: if access == RouteAccess::Anyone { SMALL_BYTES as u64 } else { 1 << 20 },
            work,
        }
    }

    /// Whether it carries another protocol.
    pub fn is_protocol(&self) -> bool {
        matches!(self.reply, ReplyShape::Protocol)
    }

    /// Whether it is a file of the page.
    pub fn is_web_file(&self) -> bool {
        matches!(self.reply, ReplyShape::WebFile)
    }

    /// Whether it belongs into the documents for programs.
    pub fn is_documented(&self) -> bool {
        !self.is_page() && !self.is_web_file() && !self.is_protocol()
    }

    /// Whether it is for people who look at a page.
    pub fn is_page(&self) -> bool {
        matches!(self.reply, ReplyShape::Page)
    }

    /// The section of the documents that lists it.
    pub fn tag(&self) -> &'static str {
        let Some(path) = self.path.strip_prefix("/api/v1/") else {
            return match self.path.split('/').nth(1) {
                Some("decide") => "decide",
                Some("mcp") => "mcp",
                _ => "server",
            };
        };
        let path = path.strip_prefix("workspaces/{id}/").unwrap_or(path);
        match path.split('/').next() {
            // Steps are compared.
            Some("compare") => "steps",
            Some("missing-folders") => "workspaces",
            first => first.unwrap_or(path),
        }
    }

    /// Whether a request with an `Idempotency-Key` happens once. Nothing is stored for callers who are not known: anybody
    /// could fill the disk with keys.
    pub fn stores_answers(&self) -> bool {
        self.changes() && !self.secret && self.access != RouteAccess::Anyone
    }

    /// Whether it may change something.
    pub fn changes(&self) -> bool {
        self.method != Method::GET
    }
}
