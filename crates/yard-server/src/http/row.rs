//! One row of the table of routes: what is known of the route, and its handler.

use http::Method;
use schemars::JsonSchema;
use serde_json::Value;
use yard_dialects::form::{self, InputForm};

use super::body::SMALL_BYTES;
use super::outcome::Outcome;
use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::route::{BodyShape, ReplyShape, Route, RouteAccess};
use crate::pool::WorkKind;

/// The function that does the work of a route.
#[derive(Clone, Copy)]
pub(super) enum Handler {
    /// It has the answer when it returns.
    Answers(fn(&HttpRequest) -> Result<Reply, Problem>),
    /// It may leave more to do.
    Begins(fn(&HttpRequest) -> Result<Outcome, Problem>),
}

impl Handler {
    pub(super) fn run(self, request: &HttpRequest) -> Result<Outcome, Problem> {
        match self {
            Self::Answers(handler) => handler(request).map(Outcome::Reply),
            Self::Begins(handler) => handler(request),
        }
    }
}

/// A route with its handler.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) route: Route,
    pub(super) handler: Handler,
}

pub(super) fn get(
    access: RouteAccess,
    path: &'static str,
    handler: fn(&HttpRequest) -> Result<Reply, Problem>,
) -> Row {
    Row { route: Route::new(access, Method::GET, path), handler: Handler::Answers(handler) }
}

pub(super) fn post(
    access: RouteAccess,
    path: &'static str,
    handler: fn(&HttpRequest) -> Result<Reply, Problem>,
) -> Row {
    Row { route: Route::new(access, Method::POST, path), handler: Handler::Answers(handler) }
}

pub(super) fn put(
    access: RouteAccess,
    path: &'static str,
    handler: fn(&HttpRequest) -> Result<Reply, Problem>,
) -> Row {
    Row { route: Route::new(access, Method::PUT, path), handler: Handler::Answers(handler) }
}

pub(super) fn patch(
    access: RouteAccess,
    path: &'static str,
    handler: fn(&HttpRequest) -> Result<Reply, Problem>,
) -> Row {
    Row { route: Route::new(access, Method::PATCH, path), handler: Handler::Answers(handler) }
}

pub(super) fn delete(
    access: RouteAccess,
    path: &'static str,
    handler: fn(&HttpRequest) -> Result<Reply, Problem>,
) -> Row {
    let route = Route::new(access, Method::DELETE, path);
    Row { route, handler: Handler::Answers(handler) }.status(204)
}

/// A route whose handler may leave more to do.
pub(super) fn begins(
    access: RouteAccess,
    method: Method,
    path: &'static str,
    handler: fn(&HttpRequest) -> Result<Outcome, Problem>,
) -> Row {
    Row { route: Route::new(access, method, path), handler: Handler::Begins(handler) }
}

impl Row {
    fn with(mut self, set: impl FnOnce(&mut Route)) -> Self {
        set(&mut self.route);
        self
    }

    pub(super) fn about(self, about: &'static str) -> Self {
        self.with(|route| route.about = about)
    }

    pub(super) fn doing(self, work: WorkKind) -> Self {
        self.with(|route| route.work = work)
    }

    /// The status of success.
    pub(super) fn status(self, status: u16) -> Self {
        self.with(|route| route.status = status)
    }

    pub(super) fn query<T: JsonSchema>(self) -> Self {
        self.with(|route| route.query = Some(InputForm::of::<T>()))
    }

    pub(super) fn body<T: JsonSchema>(self) -> Self {
        self.with(|route| route.body = BodyShape::Json(InputForm::of::<T>()))
    }

    pub(super) fn optional_body<T: JsonSchema>(self) -> Self {
        self.with(|route| route.body = BodyShape::OptionalJson(InputForm::of::<T>()))
    }

    pub(super) fn bytes(self) -> Self {
        self.with(|route| route.body = BodyShape::Bytes)
    }

    pub(super) fn replies_bytes(self) -> Self {
        self.with(|route| route.reply = ReplyShape::Bytes)
    }

    pub(super) fn replies<T: JsonSchema>(self, status: u16) -> Self {
        self.status(status).with(|route| route.reply = ReplyShape::Json(form::output_schema::<T>()))
    }

    /// Answers with a page of a list.
    pub(super) fn lists<T: JsonSchema>(self) -> Self {
        self.query::<Paging>().replies::<T>(200)
    }

    pub(super) fn replies_text(self, media: &'static str) -> Self {
        self.with(|route| route.reply = ReplyShape::Text(media))
    }

    pub(super) fn page(self) -> Self {
        self.with(|route| route.reply = ReplyShape::Page)
    }

    pub(super) fn web_file(self) -> Self {
        self.with(|route| route.reply = ReplyShape::WebFile)
    }

    /// Takes the form of a page. Its answer is never stored, because browsers send no idempotency key.
    pub(super) fn form(self) -> Self {
        self.with(|route| route.body = BodyShape::Form).secret().limited_to(SMALL_BYTES as u64)
    }

    /// Carries messages of another protocol, whose answers are never stored for retries.
    pub(super) fn protocol(self) -> Self {
        self.doing(WorkKind::Look).secret().with(|route| {
            route.body = BodyShape::Message;
            route.reply = ReplyShape::Protocol;
        })
    }

    /// The schemas of body and reply in the documents.
    pub(super) fn showing(self, body: Value, reply: Value) -> Self {
        self.with(|route| {
            route.shown_body = Some(body);
            route.reply = ReplyShape::Json(reply);
        })
    }

    pub(super) fn limited_to(self, max_bytes: u64) -> Self {
        self.with(|route| route.max_bytes = max_bytes)
    }

    pub(super) fn secret(self) -> Self {
        self.with(|route| route.secret = true)
    }
}
