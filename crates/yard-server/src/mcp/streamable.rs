//! MCP over HTTP, for requests that are authorized already: sessions of revision 2025-11-25 and before, and
//! requests without sessions. Callers share nothing: only the caller that opened a session finds it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use super::extension::McpExtension;
use super::invalid_message::InvalidMessage;
use super::remote::RemoteCallers;
use super::server::McpServer;
use super::service::{Ready, Service};

/// How long a session may be idle.
const SESSION_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Callers that the map holds. When there are more, those without open sessions are removed from it.
const MAX_CALLERS: usize = 1_024;
/// Open sessions of one caller.
const MAX_SESSIONS: usize = 1_024;
/// The headers of a request. Without a session's id it opens a session, unless it names another method than
/// `initialize`; only later revisions than 2025-11-25 name the method.
const SESSION_ID: &str = "mcp-session-id";
const METHOD: &str = "mcp-method";
const JSON: &str = "application/json";

type Http = StreamableHttpService<Service<RemoteCallers>, LocalSessionManager>;

/// One caller's sessions.
struct CallerSessions {
    http: Http,
    sessions: Arc<LocalSessionManager>,
}

/// The sessions of all callers.
pub(crate) struct Streamable {
    server: Arc<McpServer>,
    /// The same with the tools of the history, for callers that want them.
    with_history: Arc<McpServer>,
    extension: Option<Arc<dyn McpExtension>>,
    callers: Mutex<HashMap<String, CallerSessions>>,
}

impl Streamable {
    pub(crate) fn new(server: McpServer, extension: Option<Arc<dyn McpExtension>>) -> Self {
        let with_history = Arc::new(server.with_history());
        Self { server: Arc::new(server), with_history, extension, callers: Mutex::default() }
    }

    /// Whether there is such a dialect.
    pub(crate) fn has_toolset(&self, toolset: &str) -> bool {
        self.server.catalog().dialects().any(|dialect| dialect.name == toolset)
    }

    /// Answers a request of `caller`, which carries its `McpCaller` as an extension.
    pub(crate) async fn respond(
        &self,
        caller: String,
        history: bool,
        request: Request<Bytes>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let (http, sessions) = self.sessions_of(format!("{caller} {history}"), history);
        if opens_session(request.headers()) && sessions.sessions.read().await.len() >= MAX_SESSIONS
        {
            return too_many();
        }
        let (is_json, sent) = (is_json(request.headers()), request.body().clone());
        let answer = http.handle(request.map(Full::new)).await;
        match answer.status() {
            // The SDK answers so to every message that it cannot parse.
            StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => invalid_message(&sent),
            _ => answer,
        }
    }

    fn sessions_of(&self, caller: String, history: bool) -> (Http, Arc<LocalSessionManager>) {
        let mut callers = self.callers.lock();
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&caller) {
            callers.retain(|_, known| has_sessions(&known.sessions));
        }
        let own = callers.entry(caller).or_insert_with(|| self.new_sessions(history));
        (own.http.clone(), Arc::clone(&own.sessions))
    }

    fn new_sessions(&self, history: bool) -> CallerSessions {
        let server = Arc::clone(if history { &self.with_history } else { &self.server });
        let mut sessions = LocalSessionManager::default();
        // Longer than a person or a command may take: a call of an idle session may still be running.
        sessions.session_config.keep_alive = Some(SESSION_TIMEOUT);
        let sessions = Arc::new(sessions);
        // The HTTP guard has checked Host, Origin and the length of the body by the operator's settings.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX);
        let (callers, extension) = (Arc::new(RemoteCallers), self.extension.clone());
        let make = move || {
            let (server, callers) = (Arc::clone(&server), Arc::clone(&callers));
            Ok(Service::new(Ready { server, callers }, extension.clone()))
        };
        let http = StreamableHttpService::new(make, Arc::clone(&sessions), config);
        CallerSessions { http, sessions }
    }
}

fn opens_session(headers: &HeaderMap) -> bool {
    let method = headers.get(METHOD).map(HeaderValue::as_bytes);
    !headers.contains_key(SESSION_ID) && method.is_none_or(|method| method == b"initialize")
}

/// Whether the SDK reads the body at all.
fn is_json(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
    media.is_some_and(|media| media.starts_with(JSON))
}

fn too_many() -> Response<BoxBody<Bytes, Infallible>> {
    let why = format!(
        "{MAX_SESSIONS} sessions of this caller are open: end one (DELETE with its Mcp-Session-Id), or use one again"
    );
    let body = json!({"success": false, "error": why, "code": "RATE_LIMITED"});
    json_response(StatusCode::TOO_MANY_REQUESTS, &body)
}

/// The answer to a body that is no message.
fn invalid_message(sent: &[u8]) -> Response<BoxBody<Bytes, Infallible>> {
    let InvalidMessage { id, error, .. } = InvalidMessage::of(sent, "body");
    let message = TxJsonRpcMessage::<RoleServer>::error(error, id);
    json_response(StatusCode::BAD_REQUEST, &json!(message))
}

fn json_response(status: StatusCode, body: &Value) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::from(body.to_string()).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// Whether a session is open. Where the list is locked, one is being opened or closed, which counts.
fn has_sessions(sessions: &LocalSessionManager) -> bool {
    sessions.sessions.try_read().map_or(true, |sessions| !sessions.is_empty())
}
