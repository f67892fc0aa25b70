//! Who sends a request, and what may be done in their name. Each transport finds that out in its own way;
//! everything behind it is the same.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};
use yard_gate::{Awaited, Session};

use super::scribe::Scribe;

/// One caller's place in one workspace.
#[derive(Clone)]
pub(super) struct Seat {
    /// What tools are called with.
    pub(super) session: Session,
    /// Whose word it is when the client says what a person answered; `None` where the client's word is
    /// no person's.
    pub(super) person: Option<Session>,
    /// The dialect that is spoken.
    pub(super) toolset: String,
    /// How a person can decide elsewhere.
    pub(super) elsewhere: Elsewhere,
    /// Who keeps what was called; without one it is kept before it is answered.
    pub(super) scribe: Option<Arc<Scribe>>,
}

/// The address of the page on which this is decided.
pub(crate) type PageOf = Arc<dyn Fn(&Awaited) -> String + Send + Sync>;

/// One workspace of a caller, to look at.
#[derive(Clone)]
pub(super) struct Room {
    /// What tells it from others, where there are several (R15).
    pub(super) name: Option<String>,
    /// The caller's session in it.
    pub(super) session: Session,
}

/// Where a person who is not at the client can speak.
#[derive(Clone)]
pub(super) enum Elsewhere {
    /// At this machine, on the command line, in this folder.
    CommandLine(String),
    /// Over HTTP: by the routes for programs, or on a page.
    Pages(PageOf),
}

/// The places of one transport.
pub(super) trait Seats: Send + Sync + 'static {
    /// The place of whoever sends this request; with several workspaces, in the one that these arguments
    /// are about. A fault is for the caller to read.
    fn seat(
        &self,
        context: &RequestContext<RoleServer>,
        arguments: &Map<String, Value>,
    ) -> yard_core::Result<Seat>;

    /// The same place in the workspace of that name, where there are several (R15).
    fn seat_in(&self, context: &RequestContext<RoleServer>, root: &str) -> yard_core::Result<Seat>;

    /// The dialect that whoever sends this request speaks.
    fn toolset(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData>;

    /// The workspaces that whoever sends this request can look at.
    fn rooms(&self, context: &RequestContext<RoleServer>) -> Result<Vec<Room>, ErrorData>;

    /// What the client offers; only what is at or below one of these folders of the host is touched from
    /// now on. Nothing that lies outside of every workspace counts.
    fn narrow(&self, offered: &[Vec<u8>]);

    /// Whether a client may narrow what it is let into.
    const TAKES_ROOTS: bool;
}
