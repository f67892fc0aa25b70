//! `/mcp/{workspace_id}`: the way of a request to the MCP door. It is checked, known and let in as every
//! other; then the protocol is another module's.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use http::header::{EXPECT, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyStream;
use hyper::body::{Body as _, Incoming};
use tokio::time::Instant;
use yard_core::{Role, WorkspaceId};
use yard_gate::{Awaited, Session};

use super::answer::{credentials, told_problem};
use super::app::App;
use super::ask::no_token;
use super::body::{BodyReader, WholeBody};
use super::problem::Problem;
use super::stream::{self, Body};
use super::{body, decide, guard};
use crate::mcp::Guest;
use crate::pool::WorkKind;

const PREFIX: &str = "/mcp/";
const ROUTE: &str = "/mcp/{workspace_id}";
/// The dialect that is spoken unless the address says otherwise (R14).
const TOOLSET: &str = "filesystem";
/// Longest body.
const MOST_BYTES: u64 = 64 << 20;
/// How often a stream that goes on is asked whether its reader is still let in.
const GLANCE: Duration = Duration::from_secs(5);

/// The workspace that a path of this door names.
pub(super) fn workspace_of(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX).filter(|rest| !rest.is_empty() && !rest.contains('/'))
}

/// The answer to a request for a workspace.
pub(super) async fn respond(
    app: Arc<App>,
    workspace: &str,
    mut parts: Parts,
    mut body: Incoming,
) -> Response<Body> {
    let began = Instant::now();
    let method = parts.method.clone();
    let let_in = let_in(&app, workspace, &parts).await;
    let read = match let_in {
        Ok(known) => whole(&app, &parts, &mut body).await.map(|bytes| (known, bytes)),
        Err(problem) => Err(problem),
    };
    let response = match read {
        Ok(((guest, token, id), (bytes, _room))) => {
            let caller = format!("{id} {}", guest.session.actor().name());
            parts.extensions.insert(guest);
            let history = option(&parts, "history").is_some_and(|value| value != "false");
            let mut answer =
                app.mcp.respond(caller, history, Request::from_parts(parts, bytes)).await;
            // The SDK says that it will; by now it has, and clients take nothing less for an end.
            if method == Method::DELETE && answer.status() == StatusCode::ACCEPTED {
                *answer.status_mut() = StatusCode::NO_CONTENT;
            }
            let alive = Alive { app: Arc::clone(&app), token, id };
            answer.map(|body| outgoing(body, alive))
        }
        Err(problem) => {
            // Who is refused while it still sends would find the connection closed, and no answer.
            if !parts.headers.contains_key(EXPECT) && !body.is_end_stream() {
                body::drain(&mut body).await;
            }
            refused(&app, &parts, problem)
        }
    };
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let status = response.status().as_u16();
    tracing::info!(method = method.as_str(), route = ROUTE, status, micros, "request");
    response
}

/// All of a body, as much as any request may bring (R12), with the memory that was set aside for it.
async fn whole(app: &App, parts: &Parts, body: &mut Incoming) -> Result<WholeBody, Problem> {
    let reading = BodyReader::begin(&parts.headers, body, MOST_BYTES).await?;
    reading.finish(&parts.headers, &app.body_budget).await
}

/// Finds out who is calling, and whether they may speak in this workspace.
async fn let_in(
    app: &Arc<App>,
    workspace: &str,
    parts: &Parts,
) -> Result<(Guest, String, WorkspaceId), Problem> {
    guard::check(&app.settings, &parts.uri, &parts.headers)?;
    let token = credentials(parts)?.ok_or_else(no_token)?;
    let toolset = option(parts, "toolset").unwrap_or_else(|| TOOLSET.to_owned());
    if !app.mcp.speaks(&toolset) {
        return Err(Problem::invalid("toolset", "there is no such toolset"));
    }
    let id = workspace.parse().unwrap_or(WorkspaceId::from_bytes([0; 16]));
    let (house, sent) = (Arc::clone(app), token.clone());
    let entered =
        app.pools.run(&id.to_string(), WorkKind::Look, move || session(&house, &sent, id)).await;
    let session = entered.ok_or_else(Problem::internal)??;
    session.check_toolset(&toolset)?;
    let address = guard::address(&app.settings, &parts.uri, &parts.headers)?;
    let pages = move |awaited: &Awaited| address.clone() + &decide::path(&id.to_string(), awaited);
    Ok((Guest { session, toolset, pages: Arc::new(pages) }, token, id))
}

fn session(app: &App, token: &str, id: WorkspaceId) -> Result<Session, Problem> {
    let identity = app.house.identify(token)?;
    let entered = app.house.enter(identity, id, Role::Viewer)?;
    Ok(app.house.session(&entered)?)
}

/// What the address says besides the workspace.
fn option(parts: &Parts, name: &str) -> Option<String> {
    let query = parts.uri.query().unwrap_or_default();
    let found = form_urlencoded::parse(query.as_bytes()).find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_owned())
}

fn refused(app: &App, parts: &Parts, problem: Problem) -> Response<Body> {
    let is_unknown = problem.status == 401;
    let mut response = told_problem(app, parts, problem);
    if is_unknown {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Who reads a stream that goes on.
struct Alive {
    app: Arc<App>,
    token: String,
    id: WorkspaceId,
}

impl Alive {
    /// Ends once the reader would not be let in any more, or the server closes.
    async fn ends(self) {
        loop {
            // Asked for before it is looked at: nothing that happens in between is missed.
            let closed = self.app.shutdown.notified();
            if self.app.is_shutting_down() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(GLANCE) => {}
                () = closed => return,
            }
            let (app, token, id) = (Arc::clone(&self.app), self.token.clone(), self.id);
            let look = move || session(&app, &token, id);
            let still = self.app.pools.run(&id.to_string(), WorkKind::Look, look).await;
            if !matches!(still, Some(Ok(_))) {
                return;
            }
        }
    }
}

/// The body as it goes out: a stream ends with its reader's rights.
fn outgoing(
    body: http_body_util::combinators::BoxBody<bytes::Bytes, std::convert::Infallible>,
    alive: Alive,
) -> Body {
    let frames =
        BodyStream::new(body).map(|frame| frame.map_err(|never| -> io::Error { match never {} }));
    stream::pieces(frames.take_until(alive.ends().boxed()))
}
