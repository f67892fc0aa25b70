//! What every request shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::HeaderMap;
use tokio::sync::Notify;
use tracing::Span;
use yard_dialects::Catalog;
use yard_gate::Level;
use yard_gate::admin::Server;

use super::body::Room;
use super::forwarded::Network;
use super::idempotency::UnderWay;
use super::metrics::Metrics;
use crate::mcp::{Extras, McpDoor, Streamable};
use crate::pool::Pools;

/// What a key is for that signs what clients of MCP bring back.
const MCP_STATE: &str = "mcp request state";
/// How long a call over MCP waits for a person whom its client cannot ask (R16).
const WAIT: Duration = Duration::from_secs(30);

/// What the operator decided about this door.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Names under which the server may be asked for, beside loopback and addresses.
    pub hosts: Vec<String>,
    /// Origins of other sites whose pages may call, as `https://example.com`.
    pub origins: Vec<String>,
    /// Cookies are sent over TLS only.
    pub secure_cookies: bool,
    /// Proxies whose word about who asks is believed.
    pub trusted_proxies: Vec<Network>,
    /// `/metrics` answers others than this machine.
    pub public_metrics: bool,
    /// How much holds commands.
    pub commands: Level,
    /// Most connections at once, where this machine allows fewer open files than there may be.
    pub connections: Option<usize>,
    /// Tells the span of a request which trace it continues, where traces are exported.
    pub continue_trace: Option<ContinueTrace>,
}

/// Reads a trace from a request's headers and makes it the span's own.
pub type ContinueTrace = fn(&Span, &HeaderMap);

/// One server.
pub struct App {
    pub(crate) house: Server,
    pub(super) catalog: Catalog,
    pub(crate) settings: Settings,
    pub(crate) pools: Arc<Pools>,
    /// The MCP door.
    pub(super) mcp: Streamable,
    pub(super) metrics: Metrics,
    pub(super) under_way: UnderWay,
    pub(super) room: Room,
    closing: AtomicBool,
    pub(super) closed: Notify,
}

impl App {
    /// A server over a house and a catalog.
    pub fn new(house: Server, catalog: Catalog, settings: Settings) -> Arc<Self> {
        Self::built(house, catalog, settings, None)
    }

    /// The same, which offers more over MCP than a catalog can say.
    pub fn with_extras(
        house: Server,
        catalog: Catalog,
        settings: Settings,
        extras: Arc<dyn Extras>,
    ) -> Arc<Self> {
        Self::built(house, catalog, settings, Some(extras))
    }

    fn built(
        house: Server,
        catalog: Catalog,
        settings: Settings,
        extras: Option<Arc<dyn Extras>>,
    ) -> Arc<Self> {
        let pools = Arc::new(Pools::new());
        let (world, secret) = (Arc::clone(house.world()), house.secret_for(MCP_STATE));
        let door = McpDoor::with_pools(catalog.clone(), world, secret, WAIT, Arc::clone(&pools));
        Arc::new(Self {
            house,
            catalog,
            settings,
            pools,
            mcp: Streamable::new(door, extras),
            metrics: Metrics::new(),
            under_way: UnderWay::default(),
            room: Room::default(),
            closing: AtomicBool::new(false),
            closed: Notify::new(),
        })
    }

    /// What never ends by itself (an event stream) shall end now.
    pub(crate) fn is_closing(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.closed.notify_waiters();
    }

    /// Whether the server was told to stop.
    pub(super) fn closes(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }
}
