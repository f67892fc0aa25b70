//! The one way that every request takes: checked, read, known, let in, done, told, logged. Handlers run
//! where the pools say; nothing here blocks.

use std::net::IpAddr;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH,
    CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, EXPECT, HeaderName, HeaderValue,
    LOCATION, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};
use serde_json::{Map, Value};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field};
use yard_core::Call;
use yard_gate::LOG_TARGET;

use super::afterwards::{Left, answer_first};
use super::app::App;
use super::ask::{Ask, Caller, Sent, no_token};
use super::body::{self, Reading};
use super::problem::Problem;
use super::reply::{Content, Raw, Reply};
use super::route::{Access, BodyShape, Route};
use super::stream::{self, Body, Chunks};
use super::table::{Meant, Table};
use super::{cookie, decide, events, forwarded, guard, idempotency, mcp, routes, tools, waiting};
use crate::pool::Work;
use crate::request_id::RequestId;

/// No script, nothing from elsewhere, no frame of another page, no form that leads away.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The name of the span around a request.
pub const REQUEST_SPAN: &str = "request";

/// Every route.
pub(crate) fn table(app: &App) -> Table {
    Table::of(routes(&app.catalog))
}

/// The answer to a request from `peer`: JSON also for what no route answers.
pub(crate) async fn respond(
    app: Arc<App>,
    table: Arc<Table>,
    peer: IpAddr,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, mut body) = request.into_parts();
    if let Some(workspace) = mcp::workspace_of(parts.uri.path()).map(str::to_owned) {
        return Box::pin(mcp::respond(app, &workspace, parts, body)).await;
    }
    // Who asks first whether to send the body has not sent it.
    let comes = !parts.headers.contains_key(EXPECT);
    let response = match table.find(&parts.method, parts.uri.path()) {
        Meant::Route(route, params) => answer(app, route, params, peer, parts, &mut body).await,
        Meant::OtherMethods(allowed) => {
            let message = "this route takes other methods; the header Allow names them";
            let problem = Problem::new(405, "METHOD_NOT_ALLOWED", message);
            let mut response = outside(&app, &parts, problem);
            set(response.headers_mut(), ALLOW, Some(allowed));
            response
        }
        Meant::Nothing => {
            let message = "no such route; GET /openapi.json lists all of them";
            outside(&app, &parts, Problem::not_found(message))
        }
    };
    if comes && !body.is_end_stream() {
        Box::pin(body::hear_out(&mut body)).await;
    }
    response
}

/// A request that went no further than this.
pub(super) fn told_problem(app: &App, parts: &Parts, problem: Problem) -> Response<Body> {
    told(app, &request_id(app, &parts.headers), Err(problem), None)
}

/// What no route answers.
fn outside(app: &App, parts: &Parts, problem: Problem) -> Response<Body> {
    let checked = guard::check(&app.settings, &parts.uri, &parts.headers);
    let problem = checked.err().unwrap_or(problem);
    let id = request_id(app, &parts.headers);
    let method = parts.method.as_str();
    tracing::info!(request_id = id.as_str(), method, status = problem.status, "no route");
    told(app, &id, Err(problem), None)
}

async fn answer(
    app: Arc<App>,
    route: Arc<Route>,
    params: Vec<(String, String)>,
    peer: IpAddr,
    parts: Parts,
    body: &mut Incoming,
) -> Response<Body> {
    let began = Instant::now();
    let id = request_id(&app, &parts.headers);
    let span = request_span(&app, &route, &id, &parts.headers);
    let page = route.is_page().then(|| parts.uri.path().to_owned());
    let left = Arc::new(Left::by(&id));
    let work = pin!(run(&app, &route, left, params, peer, parts, body));
    let result = id.within(work).instrument(span.clone()).await;
    let status = result.as_ref().map_or_else(|problem| problem.status, |(reply, _)| reply.status);
    let took = began.elapsed();
    app.metrics.answered(&route, status, took);
    // Signed, because traces know no other numbers.
    span.record("http.response.status_code", i64::from(status));
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let method = route.method.as_str();
    // A call has a line of its own, which says what it did: one is enough.
    span.in_scope(|| {
        if tools::is_call(&route) && result.is_ok() {
            tracing::debug!(method, route = route.path, status, micros, "request");
        } else {
            tracing::info!(method, route = route.path, status, micros, "request");
        }
    });
    told(&app, &id, result, page.as_deref())
}

/// What the trace of a request knows of it. Its name there is the route, never an id or a path.
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

/// The caller's id for a request if it is a plain one, else a new one.
fn request_id(app: &App, headers: &HeaderMap) -> RequestId {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let sent = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    match sent {
        Some(id) if (1..=64).contains(&id.len()) && id.bytes().all(plain) => RequestId::new(id),
        _ => RequestId::fresh(app.house.world().as_ref()),
    }
}

async fn run(
    app: &Arc<App>,
    route: &Arc<Route>,
    left: Arc<Left>,
    params: Vec<(String, String)>,
    peer: IpAddr,
    parts: Parts,
    body: &mut Incoming,
) -> Result<(Reply, Option<Alive>), Problem> {
    guard::check(&app.settings, &parts.uri, &parts.headers)?;
    let peer = forwarded::client(&app.settings.trusted_proxies, peer, &parts.headers);
    let token = credentials(&parts)?;
    if route.access != Access::Anyone && token.is_none() {
        return Err(no_token());
    }
    let call = Call::new(Arc::clone(app.house.world())).leaving_to(Arc::<Left>::clone(&left));
    let stop = StopWhenDropped(call.cancel_flag());
    let mut ask = Box::new(Ask {
        app: Arc::clone(app),
        route: Arc::clone(route),
        peer,
        query: query_of(parts.uri.query().unwrap_or_default()),
        params,
        token,
        body: Sent::default(),
        caller: Caller::Unasked,
        chunks: Chunks::default(),
        call,
        headers: parts.headers,
    });
    if matches!(route.body, BodyShape::Bytes) {
        ask = let_in_early(app, ask).await?;
        let (chunks, pump) = stream::incoming(body);
        ask.chunks = chunks;
        let both = async { tokio::join!(handle(app, ask, route.work), pump) };
        let (done, ()) = Box::pin(both).await;
        return done.map(|(reply, ask)| (reply, Some(Alive { ask, stop })));
    }
    let reading = Reading::begin(&ask.headers, body, route.most_bytes).await?;
    if reading.is_large() {
        ask = let_in_early(app, ask).await?;
    }
    let (bytes, _room) = reading.finish(&ask.headers, &app.room).await?;
    check_shape(route, &ask.headers, &bytes)?;
    ask.body = match &route.body {
        BodyShape::Json(_) if bytes.len() > body::SMALL => Sent::raw(bytes),
        BodyShape::Json(_) if tools::is_call(route) => Sent::call(bytes)?,
        BodyShape::Json(_) => Sent::json(bytes)?,
        _ => Sent::raw(bytes),
    };
    let work = idempotency::work(&ask, tools::work(&ask).unwrap_or(route.work));
    let (reply, ask) = handle(app, ask, work).await?;
    match reply.content {
        Content::Waiting(now, waiting) => {
            left.catch_up();
            let answered = Box::pin(waiting::answered(&Arc::from(ask), *waiting)).await;
            let reply = answered.unwrap_or(Reply { content: Content::Json(now), ..reply });
            Ok((reply, None))
        }
        content => Ok((Reply { content, ..reply }, Some(Alive { ask, stop }))),
    }
}

/// What an answer that is still being made of pieces needs to go on.
struct Alive {
    ask: Box<Ask>,
    stop: StopWhenDropped,
}

/// Lets the caller in and answers, on a thread of the pool.
async fn handle(
    app: &Arc<App>,
    mut ask: Box<Ask>,
    work: Work,
) -> Result<(Reply, Box<Ask>), Problem> {
    let whose = ask.whose();
    let done = app.pools.try_run(&whose, work, move || {
        if matches!(ask.caller, Caller::Unasked) {
            ask.let_in()?;
        }
        let reply = idempotency::once(&ask, ask.route.handler)?;
        Ok((reply, ask))
    });
    done.await.map_err(Problem::from)?.unwrap_or_else(|| {
        tracing::error!("a handler broke off");
        Err(Problem::internal())
    })
}

/// Ends the work of a request whose caller went away.
pub(super) struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The token of the header or, for browsers, of the cookie.
pub(super) fn credentials(parts: &Parts) -> Result<Option<String>, Problem> {
    if let Some(header) = parts.headers.get(AUTHORIZATION) {
        let text = header.to_str().unwrap_or_default();
        return match text.split_at_checked("bearer ".len()) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer ") => {
                Ok(Some(token.trim().to_owned()))
            }
            _ => Err(Problem::unknown_caller("expected the header Authorization: Bearer <token>")),
        };
    }
    let Some(token) = cookie::sent(&parts.headers, cookie::ACCESS) else { return Ok(None) };
    guard::check_cookie_write(&parts.method, &parts.headers)?;
    Ok(Some(token.to_owned()))
}

/// The query as an object of strings; of a name that comes twice, the last.
fn query_of(query: &str) -> Value {
    let pairs = form_urlencoded::parse(query.as_bytes());
    Value::Object(
        pairs.map(|(name, value)| (name.into_owned(), value.into())).collect::<Map<_, _>>(),
    )
}

fn check_shape(route: &Route, headers: &HeaderMap, bytes: &[u8]) -> Result<(), Problem> {
    match &route.body {
        BodyShape::Json(_) => guard::check_json(headers),
        BodyShape::OptionalJson(_) if !bytes.is_empty() => guard::check_json(headers),
        BodyShape::Form => guard::check_form(headers),
        _ => Ok(()),
    }
}

/// Asks who is calling before a large body is read.
async fn let_in_early(app: &Arc<App>, mut ask: Box<Ask>) -> Result<Box<Ask>, Problem> {
    let whose = ask.whose();
    let let_in = move || ask.let_in().map(|()| ask);
    app.pools.run(&whose, Work::Look, let_in).await.unwrap_or_else(|| Err(Problem::internal()))
}

/// The answer as it goes over the wire; what is refused at the path of a `page`, as a page.
fn told(
    app: &App,
    id: &RequestId,
    result: Result<(Reply, Option<Alive>), Problem>,
    page: Option<&str>,
) -> Response<Body> {
    let mut headers = HeaderMap::with_capacity(8);
    let (reply, alive) = match result {
        Ok((reply, alive)) => (reply, alive),
        Err(problem) => {
            set(&mut headers, RETRY_AFTER, problem.retry_after.map(|seconds| seconds.to_string()));
            set(&mut headers, CONTENT_RANGE, problem.size.map(|size| format!("bytes */{size}")));
            (
                page.map_or_else(|| Reply::from(&problem), |path| decide::refused(&problem, path)),
                None,
            )
        }
    };
    let Reply { status, content, cookies } = reply;
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set(&mut headers, REQUEST_ID, Some(id.as_str()));
    for cookie in cookies {
        let text = cookie.header(app.settings.secure_cookies);
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.append(SET_COOKIE, value);
        }
    }
    let body = match (content, alive) {
        (Content::Json(bytes), Some(mut alive)) => {
            // Whoever takes an answer slowly keeps no memory that others wait for.
            alive.ask.body = Sent::default();
            typed(&mut headers, "application/json", answer_first(bytes, alive))
        }
        (Content::Json(bytes), None) => typed(&mut headers, "application/json", bytes),
        (Content::Text(media, text), _) => typed(&mut headers, media, text),
        (Content::Page(page), _) => {
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
            // A form says where it comes from, and nobody else learns which page it was.
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
            typed(&mut headers, "text/html; charset=utf-8", page)
        }
        (Content::SeeOther(path), _) => {
            set(&mut headers, LOCATION, Some(path));
            stream::whole(Bytes::new())
        }
        (Content::Raw(raw), Some(alive)) => {
            describe(&mut headers, status, &raw);
            stream::outgoing(alive.ask.into(), raw, alive.stop)
        }
        (Content::Events(cursor), Some(alive)) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            events::body(alive.ask.into(), cursor, alive.stop)
        }
        (Content::Waiting(bytes, _), _) => typed(&mut headers, "application/json", bytes),
        (Content::Empty | Content::Raw(_) | Content::Events(_), _) => stream::whole(Bytes::new()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    *response.headers_mut() = headers;
    response
}

fn typed(headers: &mut HeaderMap, media: &'static str, body: impl Into<Bytes>) -> Body {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    stream::whole(body)
}

/// The headers of a file's bytes. No browser shall ever run what is in a workspace.
fn describe(headers: &mut HeaderMap, status: u16, raw: &Raw) {
    let Range { start, end } = raw.range;
    set(headers, ETAG, Some(raw.etag.clone()));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if status == 304 {
        return;
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers
        .insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    set(headers, CONTENT_LENGTH, Some((end - start).to_string()));
    if status == 206 {
        set(headers, CONTENT_RANGE, Some(format!("bytes {start}-{}/{}", end - 1, raw.size)));
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, text: Option<impl AsRef<str>>) {
    if let Some(value) = text.and_then(|text| HeaderValue::from_str(text.as_ref()).ok()) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of<A, B, C, D, F>(_: impl Fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn what_is_kept_of_a_request_while_it_waits_is_small() {
        let bytes = bytes_of(respond);
        // It is moved at every request, with the room for whatever it may come to wait for.
        assert!(bytes <= 3_072, "{bytes}");
    }
}
