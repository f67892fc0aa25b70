//! The state that all requests share.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::Notify;
use tracing::Span;
use yard_dialects::Catalog;
use yard_gate::Level;
use yard_gate::admin::Server;

use super::box_report::Doctor;
use super::in_flight::InFlight;
use super::route::Route;
use super::shutdown::Shutdown;
use super::trusted_proxies::ProxyNetwork;
use crate::body_memory::BodyBudget;
use crate::mcp::{McpExtension, McpServer, Streamable};
use crate::metrics::Metrics;
use crate::pool::Pools;

/// The purpose of the key that signs the states of MCP clients.
const MCP_STATE: &str = "mcp request state";
/// How long a call over MCP waits for a person whom its client cannot ask (R16).
const WAIT: Duration = Duration::from_secs(30);

/// Reads a file of the page by its path below the folder of the page.
type ReadPageFile = dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync;

/// The files of the page as they are now.
#[derive(Clone)]
pub struct PageFiles(Arc<ReadPageFile>);

impl PageFiles {
    /// Files that a function reads, by their paths below the folder of the page.
    pub fn new(read: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(super) fn read(&self, path: &str) -> Option<Vec<u8>> {
        (self.0)(path)
    }
}

impl fmt::Debug for PageFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PageFiles")
    }
}

/// The operator's settings of the HTTP server.
#[derive(Clone, Debug, Default)]
pub struct ServerSettings {
    /// Host names of the server, in addition to loopback names and addresses.
    pub hosts: Vec<String>,
    /// Origins of other sites whose pages may call, as `https://example.com`.
    pub origins: Vec<String>,
    /// Cookies are sent over TLS only.
    pub secure_cookies: bool,
    /// Proxies whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<ProxyNetwork>,
    /// Reads a file of the page anew for each request, for whoever works on the page. Without it, they are those that the
    /// program was built with.
    pub page_files: Option<PageFiles>,
    /// The only person is that of this machine, who logs in with a code.
    pub is_local: bool,
    /// `/metrics` answers others than this machine.
    pub public_metrics: bool,
    /// How commands are confined.
    pub commands: Level,
    /// Finds out what the box around commands can do.
    pub doctor: Option<Doctor>,
    /// The largest number of connections, if the machine's limit of open files is low.
    pub connections: Option<usize>,
    /// Links the span of a request to the trace that its headers name, where traces are exported.
    pub continue_trace: Option<ContinueTrace>,
}

/// Reads a trace from a request's headers and makes it the span's own.
pub type ContinueTrace = fn(&Span, &HeaderMap);

/// One server.
pub struct App {
    pub(crate) admin: Server,
    pub(super) catalog: Catalog,
    pub(crate) settings: ServerSettings,
    pub(crate) pools: Arc<Pools>,
    /// The MCP server.
    pub(super) mcp: Streamable,
    pub(super) metrics: Arc<Metrics>,
    pub(super) in_flight: InFlight,
    pub(super) body_budget: BodyBudget,
    /// The routes of the table, for the documents about them.
    routes: OnceLock<Vec<Route>>,
    /// The OpenAPI document and the page of it, which are made when they are first asked for.
    pub(super) openapi: OnceLock<Bytes>,
    pub(super) docs: OnceLock<Bytes>,
    /// The server received a stop signal.
    pub(super) shutdown: Shutdown,
    /// Wakes the open streams after a login ended, so that they look whether it was theirs.
    pub(super) access_changed: Notify,
}

impl App {
    /// A server for the workspaces of `admin` and the tools of a catalog, and an extension of MCP if there is one.
    pub fn new(
        admin: Server,
        catalog: Catalog,
        settings: ServerSettings,
        extension: Option<Arc<dyn McpExtension>>,
    ) -> Arc<Self> {
        let pools = Arc::new(Pools::new());
        let (world, secret) = (Arc::clone(admin.world()), admin.secret_for(MCP_STATE));
        let metrics = Arc::new(Metrics::new());
        let server = McpServer::new(catalog.clone(), world, secret, WAIT)
            .sharing(Arc::clone(&pools), Arc::clone(&metrics));
        Arc::new(Self {
            admin,
            catalog,
            settings,
            pools,
            mcp: Streamable::new(server, extension),
            metrics,
            in_flight: InFlight::default(),
            body_budget: BodyBudget::default(),
            routes: OnceLock::new(),
            openapi: OnceLock::new(),
            docs: OnceLock::new(),
            shutdown: Shutdown::default(),
            access_changed: Notify::new(),
        })
    }

    /// Makes the routes of the table known to the documents.
    pub(super) fn set_routes(&self, routes: Vec<Route>) {
        // Another table of the same catalog has the same routes.
        let _ = self.routes.set(routes);
    }

    /// The routes of the table.
    pub(super) fn routes(&self) -> &[Route] {
        self.routes.get().map_or(&[], Vec::as_slice)
    }

    /// Ends all answers that do not end by themselves, such as event streams.
    pub(crate) fn begin_shutdown(&self) {
        self.shutdown.begin();
    }
}
