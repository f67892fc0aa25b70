//! The caller of an MCP request. Each transport identifies it in its own way.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};
use yard_gate::{Awaited, Session};

use super::transcript_writer::TranscriptWriter;
use crate::body_memory::BodyMemory;

/// One caller in one workspace.
#[derive(Clone)]
pub(super) struct ToolCaller {
    /// The session that tools are called with.
    pub(super) session: Session,
    /// The session of the person whose answers the client passes on; `None` where the client's answers do
    /// not count as a person's.
    pub(super) person: Option<Session>,
    /// The caller's toolset.
    pub(super) toolset: String,
    /// The workspace that the work is counted for.
    pub(super) workspace_key: String,
    /// How a person can decide without the client.
    pub(super) decision_channel: DecisionChannel,
    /// Writes the transcript after the answer; without it, the transcript is written before the answer.
    pub(super) transcript: Option<Arc<TranscriptWriter>>,
    /// The memory of the request's body, which is released while a person is asked.
    pub(super) body_memory: BodyMemory,
}

/// The address of the page on which a person decides.
pub(crate) type PageOf = Arc<dyn Fn(&Awaited) -> String + Send + Sync>;

/// One workspace that a caller can read.
#[derive(Clone)]
pub(super) struct WorkspaceView {
    /// Its name, if the caller has several (R15).
    pub(super) name: Option<String>,
    /// The workspace that the work is counted for.
    pub(super) workspace_key: String,
    /// The caller's session in it.
    pub(super) session: Session,
}

/// How a person can decide without the client.
#[derive(Clone)]
pub(super) enum DecisionChannel {
    /// On this machine, on the command line, in this folder.
    CommandLine(String),
    /// Over HTTP: by the routes for programs, or on a page.
    Pages(PageOf),
}

/// The callers of one transport.
pub(super) trait Callers: Send + Sync + 'static {
    /// The caller of this request; with several workspaces, in the one that these arguments are about. A
    /// fault is for the caller to read.
    fn caller(
        &self,
        context: &RequestContext<RoleServer>,
        arguments: &Map<String, Value>,
    ) -> yard_core::Result<ToolCaller>;

    /// Whether the caller of these arguments is found by what stores and terminals say, which may take a while.
    fn has_to_look(&self, arguments: &Map<String, Value>) -> bool;

    /// The same caller in the workspace of that name, where there are several (R15).
    fn caller_in(
        &self,
        context: &RequestContext<RoleServer>,
        root: &str,
    ) -> yard_core::Result<ToolCaller>;

    /// The toolset of the caller of this request.
    fn toolset(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData>;

    /// The workspaces that the caller of this request can read.
    fn workspaces(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<WorkspaceView>, ErrorData>;

    /// Restricts the caller to these folders of the host, which the client offers, and what is below them.
    /// Folders outside of every workspace are ignored.
    fn restrict_to_roots(&self, offered: &[Vec<u8>]);

    /// Whether a client may restrict what the caller can reach.
    const TAKES_ROOTS: bool;

    /// Whether its workspaces are open for as long as it is connected, also while nothing is called.
    const KEEPS_OPEN: bool;
}
