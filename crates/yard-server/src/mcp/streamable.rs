//! MCP over HTTP, behind a door that has let the caller in: sessions of 2025-11-25 and before, and requests
//! without sessions. Callers share nothing: a session is found only by whom it was opened for.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::RoleServer;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use super::door::Door;
use super::extras::Extras;
use super::remote::Remote;
use super::service::{Ready, Service};
use super::wrong::Wrong;

/// How long a session may be quiet.
const QUIET: Duration = Duration::from_secs(3_600);
/// Callers whose sessions are kept apart at once; of more, those without any are forgotten.
const CALLERS: usize = 1_024;
/// Sessions of one caller at once.
const SESSIONS: usize = 1_024;
/// What a request of a session brings. One that brings none opens one, unless it says that it does not: up to
/// 2025-11-25 none says anything, from then on each names its method.
const SESSION_ID: &str = "mcp-session-id";
const METHOD: &str = "mcp-method";
const JSON: &str = "application/json";

type Http = StreamableHttpService<Service<Remote>, LocalSessionManager>;

/// One caller's sessions.
struct Place {
    http: Http,
    sessions: Arc<LocalSessionManager>,
}

/// The sessions of all callers.
pub(crate) struct Streamable {
    door: Arc<Door>,
    /// The same, for who wants the history's tools besides.
    with_history: Arc<Door>,
    extras: Option<Arc<dyn Extras>>,
    places: Mutex<HashMap<String, Place>>,
}

impl Streamable {
    pub(crate) fn new(door: Door, extras: Option<Arc<dyn Extras>>) -> Self {
        let with_history = Arc::new(door.with_history());
        Self { door: Arc::new(door), with_history, extras, places: Mutex::default() }
    }

    /// Whether there is such a dialect.
    pub(crate) fn speaks(&self, toolset: &str) -> bool {
        self.door.catalog().dialects().any(|dialect| dialect.name == toolset)
    }

    /// Answers a request of `caller`, which brings its guest along.
    pub(crate) async fn respond(
        &self,
        caller: String,
        history: bool,
        request: Request<Bytes>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let (http, sessions) = self.place_of(format!("{caller} {history}"), history);
        if opens_session(request.headers()) && sessions.sessions.read().await.len() >= SESSIONS {
            return too_many();
        }
        let (is_json, sent) = (says_json(request.headers()), request.body().clone());
        let answer = http.handle(request.map(Full::new)).await;
        match answer.status() {
            // To the SDK a message that it cannot read is of another media type.
            StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => unreadable(&sent),
            _ => answer,
        }
    }

    fn place_of(&self, caller: String, history: bool) -> (Http, Arc<LocalSessionManager>) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= CALLERS && !places.contains_key(&caller) {
            places.retain(|_, place| has_sessions(&place.sessions));
        }
        let place = places.entry(caller).or_insert_with(|| self.place(history));
        (place.http.clone(), Arc::clone(&place.sessions))
    }

    fn place(&self, history: bool) -> Place {
        let door = Arc::clone(if history { &self.with_history } else { &self.door });
        let mut sessions = LocalSessionManager::default();
        // Longer than a person or a command may take: what is quiet may be waited for.
        sessions.session_config.keep_alive = Some(QUIET);
        let sessions = Arc::new(sessions);
        // Host, Origin and the body's length were checked by the door in front of this one, by the operator's settings.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX);
        let (seats, extras) = (Arc::new(Remote), self.extras.clone());
        let make = move || {
            let (door, seats) = (Arc::clone(&door), Arc::clone(&seats));
            Ok(Service::new(Ready { door, seats }, extras.clone()))
        };
        let http = StreamableHttpService::new(make, Arc::clone(&sessions), config);
        Place { http, sessions }
    }
}

fn opens_session(headers: &HeaderMap) -> bool {
    let method = headers.get(METHOD).map(HeaderValue::as_bytes);
    !headers.contains_key(SESSION_ID) && method.is_none_or(|method| method == b"initialize")
}

/// Whether the SDK reads the body at all.
fn says_json(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
    media.is_some_and(|media| media.starts_with(JSON))
}

fn too_many() -> Response<BoxBody<Bytes, Infallible>> {
    let why = format!(
        "{SESSIONS} sessions of this caller are open: end one (DELETE with its Mcp-Session-Id), or use one again"
    );
    let body = json!({"success": false, "error": why, "code": "RATE_LIMITED"});
    told(StatusCode::TOO_MANY_REQUESTS, &body)
}

/// The answer to a body that is no message.
fn unreadable(sent: &[u8]) -> Response<BoxBody<Bytes, Infallible>> {
    let Wrong { id, error, .. } = Wrong::of(sent, "body");
    let message = TxJsonRpcMessage::<RoleServer>::error(error, id);
    told(StatusCode::BAD_REQUEST, &json!(message))
}

fn told(status: StatusCode, body: &Value) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::from(body.to_string()).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// Whether anybody is connected. Who is just coming or going counts as connected.
fn has_sessions(sessions: &LocalSessionManager) -> bool {
    sessions.sessions.try_read().map_or(true, |sessions| !sessions.is_empty())
}
