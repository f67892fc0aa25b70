//! What all connections of one MCP door share: the catalog and its lists, the pools, and the key that
//! states are signed with.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::model::{RequestStateCodec, Tool};
use yard_core::{Call, World};
use yard_dialects::Catalog;

use super::tools;
use crate::pool::Pools;

/// The shared part.
pub struct Door {
    catalog: Arc<Catalog>,
    /// Made when somebody asks: a connection speaks one dialect of many.
    listed: HashMap<&'static str, OnceLock<Vec<Tool>>>,
    pools: Arc<Pools>,
    world: Arc<dyn World>,
    seal: RequestStateCodec,
    wait: Duration,
}

impl Door {
    /// A door over a catalog. `secret` signs what clients bring back; `wait` is how long a call waits for a
    /// person whom its client cannot ask (R16).
    pub fn new(catalog: Catalog, world: Arc<dyn World>, secret: [u8; 32], wait: Duration) -> Self {
        Self::with_pools(catalog, world, secret, wait, Arc::new(Pools::new()))
    }

    pub(crate) fn with_pools(
        catalog: Catalog,
        world: Arc<dyn World>,
        secret: [u8; 32],
        wait: Duration,
        pools: Arc<Pools>,
    ) -> Self {
        let names = catalog.dialects().map(|dialect| dialect.name);
        let listed = names.map(|name| (name, OnceLock::new())).collect();
        let seal = RequestStateCodec::new_unchecked(secret.to_vec());
        Self { catalog: Arc::new(catalog), listed, pools, world, seal, wait }
    }

    /// The same door, with the history's tools in every toolset.
    pub(super) fn with_history(&self) -> Self {
        let names = self.catalog.dialects().map(|dialect| dialect.name);
        Self {
            listed: names.map(|name| (name, OnceLock::new())).collect(),
            catalog: Arc::new((*self.catalog).clone().with_history()),
            pools: Arc::clone(&self.pools),
            world: Arc::clone(&self.world),
            seal: self.seal.clone(),
            wait: self.wait,
        }
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog)
    }

    /// The tools of a toolset; none if there is no such toolset.
    pub(super) fn listed(&self, toolset: &str) -> &[Tool] {
        let made = || tools::listed(&self.catalog, toolset);
        self.listed.get(toolset).map_or(&[], |tools| tools.get_or_init(made))
    }

    pub(super) fn pools(&self) -> &Pools {
        &self.pools
    }

    pub(super) fn shared_pools(&self) -> Arc<Pools> {
        Arc::clone(&self.pools)
    }

    pub(super) fn seal(&self) -> &RequestStateCodec {
        &self.seal
    }

    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    /// Surroundings without a deadline.
    pub(super) fn surroundings(&self) -> Call {
        Call::new(Arc::clone(&self.world))
    }

    /// Surroundings for what a person approved: as long as a command may take.
    pub(super) fn patient(&self) -> Call {
        let limits = yard_core::Limits::default();
        self.surroundings().within_millis(limits.run_millis.saturating_add(limits.call_millis))
    }
}
