//! The seats of HTTP: each request brings its own, found out before the protocol is looked at.

use http::request::Parts;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use yard_core::{Fault, FaultCode};
use yard_gate::Session;

use super::seat::{Elsewhere, PageOf, Room, Seat, Seats};

/// Who sends a request, as its transport found out.
#[derive(Clone)]
pub(crate) struct McpCaller {
    /// The caller in the workspace of the path.
    pub(crate) session: Session,
    /// The dialect that is asked for.
    pub(crate) toolset: String,
    /// Where a person decides, under the name by which this server was asked for.
    pub(crate) pages: PageOf,
}

/// The seats of all requests.
pub(crate) struct Remote;

impl Remote {
    fn caller(context: &RequestContext<RoleServer>) -> Result<&McpCaller, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get::<McpCaller>());
        caller.ok_or_else(|| ErrorData::internal_error("nobody is known to have sent this", None))
    }
}

impl Seats for Remote {
    const TAKES_ROOTS: bool = false;

    fn seat(
        &self,
        context: &RequestContext<RoleServer>,
        _: &Map<String, Value>,
    ) -> yard_core::Result<Seat> {
        let caller = Self::caller(context);
        let McpCaller { session, toolset, pages } =
            caller.map_err(|error| Fault::new(FaultCode::Io, error.message.into_owned()))?.clone();
        // What a client says that a person said is a person's word only where the token is that person's.
        let person = session.actor().is_person().then(|| session.clone());
        Ok(Seat { session, person, toolset, elsewhere: Elsewhere::Pages(pages), scribe: None })
    }

    fn seat_in(&self, context: &RequestContext<RoleServer>, _: &str) -> yard_core::Result<Seat> {
        self.seat(context, &Map::new())
    }

    fn toolset(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        Ok(Self::caller(context)?.toolset.clone())
    }

    fn rooms(&self, context: &RequestContext<RoleServer>) -> Result<Vec<Room>, ErrorData> {
        let session = Self::caller(context)?.session.clone();
        Ok(vec![Room { name: None, session }])
    }

    fn narrow(&self, _: &[Vec<u8>]) {}
}
