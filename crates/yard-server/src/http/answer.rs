//! The one way of every request: the guard checks it, the table finds its route, its body is read, its caller is authorized,
//! its handler runs, what that leaves is done, and the answer is counted and logged. Handlers run where the pools say.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{ALLOW, AUTHORIZATION, EXPECT};
use http::request::Parts;
use http::{HeaderMap, Request, Response};
use hyper::body::{Body as _, Incoming};
use serde_json::{Map, Value};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field};
use yard_core::Call;
use yard_gate::LOG_TARGET;

use super::app::App;
use super::body::{self, BodyReader};
use super::cancel::CancelOnDrop;
use super::outcome::Outcome;
use super::problem::Problem;
use super::reply::Reply;
use super::request::{Caller, HttpRequest, RequestBody, no_token};
use super::response::{self, into_response};
use super::route::{BodyShape, Route, RouteAccess};
use super::route_table::{FoundRoute, Lookup, RouteTable};
use super::row::Handler;
use super::stream::Body;
use super::upload::{self, Chunks};
use super::{
    all_events, approvals, cookie, decide, events, guard, idempotency, mcp, routes, tools,
    trusted_proxies, waiting,
};
use crate::body_memory::BodyMemory;
use crate::pool::WorkKind;
use crate::request_id::RequestId;

/// The name of the span around a request.
pub const REQUEST_SPAN: &str = "request";

/// The table of all routes.
pub(crate) fn table(app: &App) -> RouteTable {
    let rows = routes::rows(&app.catalog);
    app.set_routes(rows.iter().map(|row| row.route.clone()).collect());
    RouteTable::of(rows)
}

/// Answers a request from `peer`, with JSON also where there is no route.
pub(crate) async fn respond(
    app: Arc<App>,
    table: Arc<RouteTable>,
    peer: IpAddr,
    request: Request<Incoming>,
) -> Response<Body> {
    let (head, mut body) = request.into_parts();
    // A client that sends `Expect: 100-continue` sends its body only if it is read.
    let sends_body = !head.headers.contains_key(EXPECT);
    let response = match table.find(&head.method, head.uri.path()) {
        Lookup::Route(found) => answer(app, found, peer, head, &mut body).await,
        Lookup::OtherMethods(allowed) => {
            let message = "this route takes other methods; the header Allow names them";
            let problem = Problem::new(405, "METHOD_NOT_ALLOWED", message);
            let mut response = answer_unrouted(&app, &head, problem);
            response::set(response.headers_mut(), ALLOW, Some(allowed));
            response
        }
        Lookup::Nothing => {
            let message = "no such route; GET /openapi.json lists all of them";
            answer_unrouted(&app, &head, Problem::not_found(message))
        }
    };
    if sends_body && !body.is_end_stream() {
        Box::pin(body::drain(&mut body)).await;
    }
    response
}

/// Answers a request that no route takes.
fn answer_unrouted(app: &App, head: &Parts, problem: Problem) -> Response<Body> {
    let checked = guard::check(&app.settings, &head.uri, &head.headers);
    let problem = checked.err().unwrap_or(problem);
    let id = request_id(app, &head.headers);
    let method = head.method.as_str();
    tracing::info!(request_id = id.as_str(), method, status = problem.status, "no route");
    into_response(&id, Reply::from(&problem), Some(&problem), app.settings.secure_cookies)
}

/// Answers a request for a route, counts and logs it.
async fn answer(
    app: Arc<App>,
    found: FoundRoute,
    peer: IpAddr,
    head: Parts,
    body: &mut Incoming,
) -> Response<Body> {
    let began = Instant::now();
    let route = Arc::clone(&found.route);
    let id = request_id(&app, &head.headers);
    let span = request_span(&app, &route, &id, &head.headers);
    let page = route.is_page().then(|| head.uri.path().to_owned());
    let work = run(&app, found, peer, head, body);
    let result = work.instrument(span.clone()).await;
    let status = result.as_ref().map_or_else(|problem| problem.status, |reply| reply.status);
    let took = began.elapsed();
    app.metrics.count_request(&route.method, route.path, status, took);
    // Attributes of traces are signed numbers.
    span.record("http.response.status_code", i64::from(status));
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let method = route.method.as_str();
    // The call of a tool has a line of its own, which says what it did.
    span.in_scope(|| {
        if tools::is_call(&route) && result.is_ok() {
            tracing::debug!(method, route = route.path, status, micros, "request");
        } else {
            tracing::info!(method, route = route.path, status, micros, "request");
        }
    });
    let secure_cookies = app.settings.secure_cookies;
    match result {
        Ok(reply) => into_response(&id, reply, None, secure_cookies),
        Err(problem) => {
            // A problem at the path of a page is a page as well.
            let reply =
                page.map_or_else(|| Reply::from(&problem), |path| decide::refused(&problem, &path));
            into_response(&id, reply, Some(&problem), secure_cookies)
        }
    }
}

/// The span of a request. It gives its id to the lines of the log; in traces it is named after the route, never after an id or a path.
fn request_span(app: &App, route: &Route, id: &RequestId, headers: &HeaderMap) -> Span {
    let span = tracing::error_span!(
        target: LOG_TARGET,
        REQUEST_SPAN,
        request_id = id.as_str(),
        otel.name = format_args!("{} {}", route.method, route.path),
        otel.kind = "server",
        http.response.status_code = field::Empty,
    );
    if let Some(continue_trace) = app.settings.continue_trace {
        continue_trace(&span, headers);
    }
    span
}

/// The caller's id for a request if it is short and plain, else a new one.
fn request_id(app: &App, headers: &HeaderMap) -> RequestId {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let sent = headers.get(response::REQUEST_ID).and_then(|id| id.to_str().ok());
    match sent {
        Some(id) if (1..=64).contains(&id.len()) && id.bytes().all(plain) => RequestId::new(id),
        _ => RequestId::generate(app.admin.world().as_ref()),
    }
}

/// Checks a request, authorizes its caller, reads its body, runs its handler, and does what the handler leaves.
async fn run(
    app: &Arc<App>,
    found: FoundRoute,
    peer: IpAddr,
    head: Parts,
    body: &mut Incoming,
) -> Result<Reply, Problem> {
    guard::check(&app.settings, &head.uri, &head.headers)?;
    let token = credentials(&head, cookie::names(app.settings.is_local).access)?;
    if found.route.access != RouteAccess::Anyone && token.is_none() {
        return Err(no_token());
    }
    let call = Call::new(Arc::clone(app.admin.world()));
    let cancel = CancelOnDrop(call.cancel_flag());
    let handler = found.handler;
    let request = new_request(app, found, peer, head, token, call);
    let (outcome, request) = match request.route.body {
        BodyShape::Bytes => handle_upload(app, request, handler, body).await?,
        _ => {
            let request = read_body(app, request, body).await?;
            let (work, request) = work_of(app, request).await?;
            handle(app, request, handler, work).await?
        }
    };
    finish(request, outcome, cancel).await
}

fn new_request(
    app: &Arc<App>,
    found: FoundRoute,
    peer: IpAddr,
    head: Parts,
    token: Option<String>,
    call: Call,
) -> Box<HttpRequest> {
    Box::new(HttpRequest {
        app: Arc::clone(app),
        route: found.route,
        peer: trusted_proxies::client(&app.settings.trusted_proxies, peer, &head.headers),
        query: query_of(head.uri.query().unwrap_or_default()),
        params: found.params,
        token,
        body: RequestBody::default(),
        body_memory: BodyMemory::default(),
        caller: Caller::Anonymous,
        chunks: Chunks::default(),
        call,
        head,
    })
}

/// Runs the handler of an upload while its body comes.
async fn handle_upload(
    app: &Arc<App>,
    request: Box<HttpRequest>,
    handler: Handler,
    body: &mut Incoming,
) -> Result<(Outcome, Box<HttpRequest>), Problem> {
    let mut request = authorize(app, request).await?;
    let (chunks, pump) = upload::incoming(body, Arc::clone(app.admin.world()));
    request.chunks = chunks;
    let work = request.route.work;
    let both = async { tokio::join!(handle(app, request, handler, work), pump) };
    Box::pin(both).await.0
}

/// The request with its body. The caller is authorized before a large body is read, and before anything else counts for the
/// workspace that the path names.
async fn read_body(
    app: &Arc<App>,
    mut request: Box<HttpRequest>,
    body: &mut Incoming,
) -> Result<Box<HttpRequest>, Problem> {
    let max_bytes = request.route.max_bytes;
    let reader = BodyReader::begin(request.headers(), body, max_bytes).await?;
    if request.route.access != RouteAccess::Anyone {
        request = authorize(app, request).await?;
    }
    let owner = request.share_owner();
    let (bytes, memory) = reader.finish(request.headers(), &app.body_budget, &owner).await?;
    check_media_type(&request.route, request.headers(), &bytes)?;
    request.body = match &request.route.body {
        BodyShape::Json(_) if bytes.len() <= body::SMALL_BYTES => RequestBody::json(bytes)?,
        _ => RequestBody::raw(bytes),
    };
    request.body_memory = memory;
    Ok(request)
}

/// The kind of work of a request: that of its route, of the tool that it calls, or of the call that it approves.
async fn work_of(
    app: &Arc<App>,
    request: Box<HttpRequest>,
) -> Result<(WorkKind, Box<HttpRequest>), Problem> {
    if approvals::is_yes(&request) || decide::is_yes(&request) {
        let owner = request.share_owner();
        let look = move || (approvals::work(&request), request);
        let done = app.pools.try_run(&owner, WorkKind::Look, look).await;
        return done.map_err(Problem::from)?.ok_or_else(Problem::internal);
    }
    let work = tools::work(&request).unwrap_or(request.route.work);
    Ok((idempotency::work(&request, work), request))
}

/// Runs the handler on a thread of the pool.
async fn handle(
    app: &Arc<App>,
    request: Box<HttpRequest>,
    handler: Handler,
    work: WorkKind,
) -> Result<(Outcome, Box<HttpRequest>), Problem> {
    let owner = request.share_owner();
    let done = app.pools.try_run(&owner, work, move || {
        let outcome = idempotency::once(&request, handler)?;
        Ok((outcome, request))
    });
    done.await.map_err(Problem::from)?.unwrap_or_else(|| {
        tracing::error!("a handler panicked");
        Err(Problem::internal())
    })
}

/// Does what the handler left.
async fn finish(
    mut request: Box<HttpRequest>,
    outcome: Outcome,
    cancel: CancelOnDrop,
) -> Result<Reply, Problem> {
    Ok(match outcome {
        Outcome::Reply(reply) => reply,
        Outcome::Waiting { status, body, call } => {
            // A person may take minutes, and the body was read by the handler.
            request.body = RequestBody::default();
            request.body_memory.release();
            let request = Arc::from(request);
            Box::pin(waiting::wait_for_answer(&request, *call, status, body)).await
        }
        Outcome::Mcp(caller) => Box::pin(mcp::answer(request, *caller)).await,
        Outcome::Events(cursor) => Reply::events(events::body(request.into(), cursor, cancel)),
        Outcome::AllEvents(since) => Reply::events(all_events::body(request.into(), since, cancel)),
        Outcome::Download(download) => download.into_reply(request.into(), cancel),
    })
}

/// The token of the header or, for browsers, of the cookie.
fn credentials(head: &Parts, cookie_name: &str) -> Result<Option<String>, Problem> {
    if let Some(header) = head.headers.get(AUTHORIZATION) {
        let text = header.to_str().unwrap_or_default();
        return match text.split_at_checked("bearer ".len()) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer ") => {
                Ok(Some(token.trim().to_owned()))
            }
            _ => Err(Problem::unknown_caller("expected the header Authorization: Bearer <token>")),
        };
    }
    let Some(token) = cookie::sent(&head.headers, cookie_name) else { return Ok(None) };
    guard::check_cookie_write(&head.method, &head.headers)?;
    Ok(Some(token.to_owned()))
}

/// The query as an object of strings; of a name that comes twice, the last.
fn query_of(query: &str) -> Value {
    let pairs = form_urlencoded::parse(query.as_bytes());
    Value::Object(
        pairs.map(|(name, value)| (name.into_owned(), value.into())).collect::<Map<_, _>>(),
    )
}

/// Refuses a body of another media type than the route takes.
fn check_media_type(route: &Route, headers: &HeaderMap, bytes: &[u8]) -> Result<(), Problem> {
    match &route.body {
        BodyShape::Json(_) => guard::check_json(headers),
        BodyShape::OptionalJson(_) if !bytes.is_empty() => guard::check_json(headers),
        BodyShape::Form => guard::check_form(headers),
        _ => Ok(()),
    }
}

/// Authorizes the caller, who counts for itself until then.
async fn authorize(
    app: &Arc<App>,
    mut request: Box<HttpRequest>,
) -> Result<Box<HttpRequest>, Problem> {
    let owner = request.token_owner();
    let authorize = move || request.authorize().map(|()| request);
    let done = app.pools.try_run(&owner, WorkKind::Look, authorize).await;
    done.map_err(Problem::from)?.unwrap_or_else(|| Err(Problem::internal()))
}
