//! A request as handlers get it: its caller is authorized and its body is read.

use std::mem;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use yard_core::op::Operation;
use yard_core::{Call, ContentHash, Role, WorkspaceId};
use yard_gate::admin::{Entered, Identity};
use yard_gate::{Asks, Completion, Execute, Origin, Session};

use super::app::App;
use super::problem::Problem;
use super::route::{BodyShape, Route, RouteAccess};
use super::upload::Chunks;
use crate::body_memory::BodyMemory;
use crate::pool::NO_WORKSPACE;

/// The toolset that audit rows name for operations of the HTTP API.
const DOOR: &str = "http";
/// The header under which a client sends a change again.
pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// One request.
pub(crate) struct HttpRequest {
    pub(crate) app: Arc<App>,
    pub(crate) route: Arc<Route>,
    pub(crate) peer: IpAddr,
    /// Method, address and headers.
    pub(crate) head: Parts,
    /// The names of the path, with their values.
    pub(crate) params: Vec<(String, String)>,
    /// The query as an object of strings.
    pub(crate) query: Value,
    pub(crate) body: RequestBody,
    /// The memory of a large body.
    pub(crate) body_memory: BodyMemory,
    /// The token or key that the client sent.
    pub(crate) token: Option<String>,
    pub(crate) caller: Caller,
    /// The pieces of an upload.
    pub(crate) chunks: Chunks,
    pub(crate) call: Call,
}

/// The body of a request.
#[derive(Default)]
pub(crate) struct RequestBody {
    bytes: Bytes,
    /// The body as JSON, if it was parsed before the handler runs, until the handler takes it.
    json: Mutex<Option<Value>>,
}

impl RequestBody {
    /// A body that is not parsed yet.
    pub(crate) fn raw(bytes: Bytes) -> Self {
        Self { bytes, json: Mutex::default() }
    }

    /// A body that is JSON, parsed now.
    pub(crate) fn json(bytes: Bytes) -> Result<Self, Problem> {
        let json = Mutex::new(Some(parse(&bytes)?));
        Ok(Self { bytes, json })
    }

    /// Takes the bytes of a body.
    pub(crate) fn take_bytes(&mut self) -> Bytes {
        mem::take(self).bytes
    }

    /// Some members of a body, which stays as it is. A body that is not parsed is scanned for them.
    pub(crate) fn peek<T: DeserializeOwned>(&self) -> Option<T> {
        match &*self.json.lock() {
            Some(value) => T::deserialize(value).ok(),
            None => serde_json::from_slice(&self.bytes).ok(),
        }
    }

    /// The body in a form that can be compared: parsed JSON is compact.
    pub(crate) fn to_comparable(&self) -> Vec<u8> {
        let compact = self.json.lock().as_ref().map(Value::to_string);
        compact.map_or_else(|| self.bytes.to_vec(), String::into_bytes)
    }

    /// The body as JSON, which is parsed only once.
    fn take_json(&self) -> Result<Value, Problem> {
        let parsed = self.json.lock().take();
        parsed.map_or_else(|| parse(&self.bytes), Ok)
    }
}

/// The caller, as far as the route needs one.
pub(crate) enum Caller {
    /// Not authorized: the route needs no caller, or it has not been checked yet.
    Anonymous,
    /// A caller with a valid token or key.
    Known(Identity),
    /// A caller with access to the workspace that the path names.
    Inside(Entered),
}

impl HttpRequest {
    /// Identifies the caller, and refuses it if it may not use the route.
    pub(crate) fn authorize(&mut self) -> Result<(), Problem> {
        let (least, people_only) = match self.route.access {
            RouteAccess::Anyone => return Ok(()),
            RouteAccess::Caller => (None, false),
            RouteAccess::Person => (None, true),
            RouteAccess::Inside(least) => (Some(least), false),
            RouteAccess::PersonInside(least) => (Some(least), true),
        };
        let identity = self.identify()?;
        let is_agent = matches!(identity, Identity::Agent(_));
        self.caller = match least {
            None => Caller::Known(identity),
            Some(least) => {
                // A text that is no id is answered like the id of a missing workspace.
                let id = self.param("id").parse().unwrap_or(WorkspaceId::from_bytes([0; 16]));
                Caller::Inside(self.app.admin.enter(identity, id, least)?)
            }
        };
        if people_only && is_agent {
            return Err(Problem::forbidden("an agent's key cannot do this; a person can"));
        }
        Ok(())
    }

    /// The headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Whether it has an `Idempotency-Key`, under which its client can come back for the answer.
    pub(crate) fn can_be_retried(&self) -> bool {
        self.route.stores_answers() && self.headers().contains_key(IDEMPOTENCY_KEY)
    }

    /// Fails once the caller has lost access to the workspace.
    pub(crate) fn recheck_access(&self) -> Result<(), Problem> {
        let Caller::Inside(entered) = &self.caller else { return Ok(()) };
        let identity = self.identify()?;
        self.app.admin.enter(identity, entered.workspace, Role::Viewer)?;
        Ok(())
    }

    /// Who is calling.
    pub(super) fn identify(&self) -> Result<Identity, Problem> {
        let token = self.token.as_deref().ok_or_else(no_token)?;
        Ok(self.app.admin.identify(token)?)
    }

    /// The caller, if there is one, of a route that anyone may use.
    pub(crate) fn optional_identity(&self) -> Option<Identity> {
        self.identify().ok()
    }

    /// The caller of a route that needs one.
    pub(crate) fn identity(&self) -> Result<&Identity, Problem> {
        match &self.caller {
            Caller::Known(identity) => Ok(identity),
            Caller::Inside(entered) => Ok(&entered.identity),
            Caller::Anonymous => Err(no_token()),
        }
    }

    /// The caller inside the workspace of the path.
    pub(crate) fn entered(&self) -> Result<&Entered, Problem> {
        match &self.caller {
            Caller::Inside(entered) => Ok(entered),
            _ => Err(Problem::internal()),
        }
    }

    /// The caller's session in the workspace.
    pub(crate) fn session(&self) -> Result<Session, Problem> {
        Ok(self.app.admin.session(self.entered()?)?)
    }

    /// Performs one operation as the caller.
    pub(super) fn perform<O: Execute>(&self, op: O) -> Result<<O as Operation>::Answer, Problem> {
        self.perform_in(&self.call, op)
    }

    /// The same within another call, such as one that a client that disconnects does not cancel.
    pub(super) fn perform_in<O: Execute>(
        &self,
        call: &Call,
        op: O,
    ) -> Result<<O as Operation>::Answer, Problem> {
        let session = self.session()?;
        let call = call.clone().within_millis(session.limits().call_millis);
        let origin = Origin { toolset: DOOR, tool: O::VERB, asks: Asks::Never };
        match session.perform(origin, &call, op)? {
            Completion::Done(answer) => Ok(answer),
            Completion::Pending(_) => Err(Problem::internal()),
        }
    }

    /// The text of a name in the path.
    pub(crate) fn param(&self, name: &str) -> &str {
        let param = self.params.iter().find(|(other, _)| other == name);
        param.map_or("", |(_, value)| value.as_str())
    }

    /// Whose share authorizing the request uses: that of the token, because the caller is not known yet. A path that names a
    /// workspace proves nothing: its members must not wait for strangers.
    pub(crate) fn token_owner(&self) -> String {
        match &self.token {
            Some(token) => ContentHash::of(token.as_bytes()).to_string(),
            None => self.peer.to_string(),
        }
    }

    /// The key by which the request counts for its workspace: the id in the path, normalised.
    pub(crate) fn workspace_key(&self) -> String {
        let id = self.param("id").parse::<WorkspaceId>();
        id.map_or_else(|_| NO_WORKSPACE.to_owned(), |id| id.to_string())
    }

    /// Whose share of the threads the request uses: that of the workspace that the caller is in, else that of the caller,
    /// else that of the client's address.
    pub(crate) fn share_owner(&self) -> String {
        match &self.caller {
            Caller::Inside(_) => self.workspace_key(),
            Caller::Known(identity) => identity.actor().name(),
            Caller::Anonymous => self.peer.to_string(),
        }
    }

    /// An id in the path. A text that is no id is answered like the id of something missing.
    pub(crate) fn id<T: FromStr>(&self, name: &str, what: &str) -> Result<T, Problem> {
        self.param(name).parse().map_err(|_| Problem::not_found(format!("no such {what}")))
    }

    /// The query.
    pub(crate) fn query<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let form = self.route.query.as_ref().ok_or_else(Problem::internal)?;
        Ok(form.read(self.query.clone())?)
    }

    /// The body, checked by the schema of the route.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        match &self.route.body {
            BodyShape::Json(form) => Ok(form.read(self.body.take_json()?)?),
            BodyShape::OptionalJson(form) => {
                let is_empty = self.body.bytes.is_empty();
                Ok(form.read(if is_empty { json!({}) } else { self.body.take_json()? })?)
            }
            _ => Err(Problem::internal()),
        }
    }

    /// The body without one member, and that member.
    pub(crate) fn json_around<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<(T, Value), Problem> {
        match &self.route.body {
            BodyShape::Json(form) => Ok(form.read_around(name, self.body.take_json()?)?),
            _ => Err(Problem::internal()),
        }
    }

    /// The fields of a form, in its order.
    pub(crate) fn pairs(&self) -> Result<Vec<(String, String)>, Problem> {
        match &self.route.body {
            BodyShape::Form => Ok(form_urlencoded::parse(&self.body.bytes).into_owned().collect()),
            _ => Err(Problem::internal()),
        }
    }
}

/// Parses JSON.
fn parse(bytes: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(bytes)
        .map_err(|error| Problem::invalid("body", format!("not valid JSON: {error}")))
}

pub(crate) fn no_token() -> Problem {
    Problem::unknown_caller("No valid token found in Authorization header or cookie")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn the_tool_of_a_call_is_known_whether_or_not_the_body_is_parsed() {
        #[derive(Debug, PartialEq, Eq, Deserialize)]
        struct CalledTool {
            tool: String,
            toolset: Option<String>,
        }
        let call =
            json!({"args": {"command": "x".repeat(100_000)}, "tool": "shell", "toolset": "codex"});
        let bytes = Bytes::from(call.to_string());
        let expected = CalledTool { tool: "shell".to_owned(), toolset: Some("codex".to_owned()) };
        assert_eq!(RequestBody::raw(bytes.clone()).peek::<CalledTool>(), Some(expected));
        let parsed = RequestBody::json(bytes).unwrap_or_default();
        assert_eq!(parsed.peek::<CalledTool>().map(|call| call.tool).as_deref(), Some("shell"));
        assert_eq!(RequestBody::raw(Bytes::from_static(b"{")).peek::<CalledTool>(), None);
    }
}
