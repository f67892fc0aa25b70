//! How a yard is opened.

use std::sync::Arc;

use yard_core::{Limits, World};
use yard_disk::{Probe, Resolution};
use yard_gate::{Net, Resolve, Web};
use yard_kernel::{CommandBox, VirtualFiles};
use yard_store::{SqliteStore, Store};

use crate::RealWorld;

/// How a yard is opened; the default is what `toolyard call` does.
pub struct Plan {
    /// Bounds.
    pub limits: Limits,
    /// Clock, dice and boot.
    pub world: Arc<dyn World>,
    /// Lets disk calls fail.
    pub probe: Option<Arc<dyn Probe>>,
    /// How paths are resolved.
    pub resolution: Resolution,
    /// What stands between the kernel and the real store.
    pub store: Box<dyn Fn(Arc<SqliteStore>) -> Arc<dyn Store>>,
    /// Files that are not on disk, instead of the transcripts of chats.
    pub virtual_files: Option<Arc<dyn VirtualFiles>>,
    /// Where commands run, if they do.
    pub boxed: Option<CommandBox>,
    /// The way to the web. By default no name is known there.
    pub web: Web,
}

/// Knows no name: no test reaches the web by accident.
struct Nowhere;

impl Resolve for Nowhere {
    fn resolve(&self, _: &str, _: u16) -> std::io::Result<Vec<std::net::SocketAddr>> {
        Ok(Vec::new())
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            world: Arc::new(RealWorld),
            probe: None,
            resolution: Resolution::Auto,
            store: Box::new(|store| store),
            virtual_files: None,
            boxed: None,
            web: Web::new(Net::default().resolving_by(Arc::new(Nowhere))),
        }
    }
}
