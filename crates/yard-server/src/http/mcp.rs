//! The routes `/mcp/{id}`. The handler identifies the caller, and hands the request to the MCP server, which parses the
//! body itself. This module knows nothing of the protocol.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use http::{Method, Request, StatusCode};
use http_body_util::BodyStream;
use serde_json::Value;
use yard_gate::Awaited;

use super::outcome::Outcome;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::stream::{self, Body};
use super::{decide, guard};
use crate::mcp::McpCaller;
use crate::pool::WorkKind;

pub(super) const PATH: &str = "/mcp/{id}";
/// The toolset, unless the address names another one (R14).
const TOOLSET: &str = "filesystem";
/// The largest body.
pub(super) const MAX_BODY_BYTES: u64 = 64 << 20;
/// How often the server checks that the reader of a stream still has access.
const RECHECK: Duration = Duration::from_secs(5);

/// Identifies the caller and the toolset of the request.
pub(super) fn open(request: &HttpRequest) -> Result<Outcome, Problem> {
    let toolset = option(request, "toolset").unwrap_or(TOOLSET);
    if !request.app.mcp.has_toolset(toolset) {
        return Err(Problem::invalid("toolset", "there is no such toolset"));
    }
    let session = request.session()?;
    session.check_toolset(toolset)?;
    let workspace_key = request.workspace_key();
    let id = workspace_key.clone();
    let address = guard::address(&request.app.settings, &request.head.uri, request.headers())?;
    let pages = move |awaited: &Awaited| address.clone() + &decide::path(&id, awaited);
    Ok(Outcome::Mcp(Box::new(McpCaller {
        session,
        toolset: toolset.to_owned(),
        workspace_key,
        pages: Arc::new(pages),
        body_memory: request.body_memory.clone(),
    })))
}

/// The answer of the MCP server.
pub(super) async fn answer(mut request: Box<HttpRequest>, caller: McpCaller) -> Reply {
    let name = format!("{} {}", request.workspace_key(), caller.session.actor().name());
    let history = option(&request, "history").is_some_and(|value| value != "false");
    let mut head = request.head.clone();
    head.extensions.insert(caller);
    let message = Request::from_parts(head, request.body.take_bytes());
    let mut answer = request.app.mcp.respond(name, history, message).await;
    // The SDK answers 202 to the end of a session, which has ended by now. Clients expect 204.
    if request.head.method == Method::DELETE && answer.status() == StatusCode::ACCEPTED {
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    Reply::response(answer.map(|body| until_access_ends(body, request.into())))
}

/// An option in the query.
fn option<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.query.get(name).and_then(Value::as_str)
}

/// The body as it is sent. A stream ends when its reader loses access, or when the server shuts down.
fn until_access_ends(
    body: http_body_util::combinators::BoxBody<bytes::Bytes, std::convert::Infallible>,
    request: Arc<HttpRequest>,
) -> Body {
    let frames =
        BodyStream::new(body).map(|frame| frame.map_err(|never| -> io::Error { match never {} }));
    stream::pieces(frames.take_until(access_ends(request).boxed()))
}

async fn access_ends(request: Arc<HttpRequest>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(RECHECK) => {}
            () = request.app.access_changed.notified() => {}
            () = request.app.shutdown.wait() => return,
        }
        let (app, workspace, checked) =
            (Arc::clone(&request.app), request.workspace_key(), Arc::clone(&request));
        let check = move || checked.recheck_access();
        if !matches!(app.pools.run(&workspace, WorkKind::Look, check).await, Some(Ok(()))) {
            return;
        }
    }
}
