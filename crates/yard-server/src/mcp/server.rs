//! The state that all connections of an MCP server share: the catalog with its lists of tools, the pools, and the key
//! that signs the states which clients send back.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::model::{RequestStateCodec, Tool};
use yard_core::{Call, World};
use yard_dialects::Catalog;

use super::tools;
use crate::metrics::Metrics;
use crate::pool::Pools;

/// The state that all connections share.
#[derive(Clone)]
pub struct McpServer {
    catalog: Arc<Catalog>,
    /// The tools of each dialect, listed on first use: a connection speaks only one of them.
    tool_list: HashMap<&'static str, OnceLock<Vec<Tool>>>,
    pools: Arc<Pools>,
    /// Counts the calls, where something reads the counts.
    metrics: Option<Arc<Metrics>>,
    world: Arc<dyn World>,
    state_codec: RequestStateCodec,
    /// How long a call waits for a person whom its client cannot ask (R16).
    person_wait: Duration,
}

impl McpServer {
    /// A server for a catalog. `secret` signs what clients bring back; `person_wait` is how long a call waits
    /// for a person whom its client cannot ask (R16).
    pub fn new(
        catalog: Catalog,
        world: Arc<dyn World>,
        secret: [u8; 32],
        person_wait: Duration,
    ) -> Self {
        let tool_list = unlisted(&catalog);
        let state_codec = RequestStateCodec::new_unchecked(secret.to_vec());
        let (catalog, pools) = (Arc::new(catalog), Arc::new(Pools::new()));
        Self { catalog, tool_list, pools, metrics: None, world, state_codec, person_wait }
    }

    /// The same server as a part of an HTTP server, with the pools and the metrics of that one.
    pub(crate) fn sharing(self, pools: Arc<Pools>, metrics: Arc<Metrics>) -> Self {
        Self { pools, metrics: Some(metrics), ..self }
    }

    /// The same server, with the history's tools in every toolset.
    pub(super) fn with_history(&self) -> Self {
        let catalog = Catalog::clone(&self.catalog).with_history();
        Self { tool_list: unlisted(&catalog), catalog: Arc::new(catalog), ..self.clone() }
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog)
    }

    /// The tools of a toolset; none if there is no such toolset.
    pub(super) fn tool_list(&self, toolset: &str) -> &[Tool] {
        let list = || tools::tool_list(&self.catalog, toolset);
        self.tool_list.get(toolset).map_or(&[], |tools| tools.get_or_init(list))
    }

    pub(super) fn pools(&self) -> &Pools {
        &self.pools
    }

    pub(super) fn shared_pools(&self) -> Arc<Pools> {
        Arc::clone(&self.pools)
    }

    pub(super) fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_deref()
    }

    pub(super) fn state_codec(&self) -> &RequestStateCodec {
        &self.state_codec
    }

    pub(super) fn person_wait(&self) -> Duration {
        self.person_wait
    }

    /// The context of a call, without a deadline.
    pub(super) fn call_context(&self) -> Call {
        Call::new(Arc::clone(&self.world))
    }

    /// The context of an approved call, with a deadline that is long enough for a command.
    pub(super) fn approved_call_context(&self) -> Call {
        let limits = yard_core::Limits::default();
        self.call_context().within_millis(limits.run_millis.saturating_add(limits.call_millis))
    }
}

/// A place for the tools of each dialect.
fn unlisted(catalog: &Catalog) -> HashMap<&'static str, OnceLock<Vec<Tool>>> {
    catalog.dialects().map(|dialect| (dialect.name, OnceLock::new())).collect()
}
