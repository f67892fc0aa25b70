//! The callers of HTTP: the route handler has authorized each request before the protocol parses it.

use http::request::Parts;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use yard_core::{Fault, FaultCode};
use yard_gate::Session;

use super::callers::{Callers, DecisionChannel, PageOf, ToolCaller, WorkspaceView};
use crate::body_memory::BodyMemory;

/// The caller of a request, which the HTTP request carries as an extension.
#[derive(Clone)]
pub(crate) struct McpCaller {
    /// The caller in the workspace of the path.
    pub(crate) session: Session,
    /// The toolset that the address names.
    pub(crate) toolset: String,
    /// The workspace that the work is counted for, as every other route counts it.
    pub(crate) workspace_key: String,
    /// The page on which a person decides, under the host name that the request used.
    pub(crate) pages: PageOf,
    /// The memory of the request's body.
    pub(crate) body_memory: BodyMemory,
}

/// The callers of all HTTP requests.
pub(crate) struct RemoteCallers;

impl RemoteCallers {
    fn of(context: &RequestContext<RoleServer>) -> Result<&McpCaller, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get::<McpCaller>());
        caller.ok_or_else(|| ErrorData::internal_error("this request has no known caller", None))
    }
}

impl Callers for RemoteCallers {
    const TAKES_ROOTS: bool = false;
    const KEEPS_OPEN: bool = false;

    fn caller(
        &self,
        context: &RequestContext<RoleServer>,
        _: &Map<String, Value>,
    ) -> yard_core::Result<ToolCaller> {
        let caller = Self::of(context);
        let McpCaller { session, toolset, workspace_key, pages, body_memory } =
            caller.map_err(|error| Fault::new(FaultCode::Io, error.message.into_owned()))?.clone();
        // An answer from the client counts as a person's only if the token is that person's.
        let person = session.actor().is_person().then(|| session.clone());
        let decision_channel = DecisionChannel::Pages(pages);
        let transcript = None;
        Ok(ToolCaller {
            session,
            person,
            toolset,
            workspace_key,
            decision_channel,
            transcript,
            body_memory,
        })
    }

    fn has_to_look(&self, _: &Map<String, Value>) -> bool {
        false
    }

    fn caller_in(
        &self,
        context: &RequestContext<RoleServer>,
        _: &str,
    ) -> yard_core::Result<ToolCaller> {
        self.caller(context, &Map::new())
    }

    fn toolset(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        Ok(Self::of(context)?.toolset.clone())
    }

    fn workspaces(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<WorkspaceView>, ErrorData> {
        let McpCaller { session, workspace_key, .. } = Self::of(context)?.clone();
        Ok(vec![WorkspaceView { name: None, workspace_key, session }])
    }

    fn restrict_to_roots(&self, _: &[Vec<u8>]) {}
}
