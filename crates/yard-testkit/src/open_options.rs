//! The options with which a test opens a workspace.

use std::sync::Arc;

use yard_core::{Limits, World};
use yard_disk::{Probe, Resolution};
use yard_gate::{Net, Resolve, Web};
use yard_kernel::{CommandBox, VirtualFiles};
use yard_store::{SqliteStore, Store};

use crate::RealWorld;

/// The options of a test workspace. The defaults are those of `toolyard call`.
pub struct OpenOptions {
    /// The limits.
    pub limits: Limits,
    /// The clock, the random numbers and the boot id.
    pub world: Arc<dyn World>,
    /// Makes disk calls fail.
    pub probe: Option<Arc<dyn Probe>>,
    /// How paths are resolved.
    pub resolution: Resolution,
    /// Wraps the real store.
    pub store: Box<dyn Fn(Arc<SqliteStore>) -> Arc<dyn Store>>,
    /// Files that are not on disk, instead of the transcripts of chats.
    pub virtual_files: Option<Arc<dyn VirtualFiles>>,
    /// The box of commands, if they can run.
    pub boxed: Option<CommandBox>,
    /// The access to the web. By default no name resolves.
    pub web: Web,
}

/// Resolves no name, so that no test reaches the web by accident.
struct NoNames;

impl Resolve for NoNames {
    fn resolve(&self, _: &str, _: u16) -> std::io::Result<Vec<std::net::SocketAddr>> {
        Ok(Vec::new())
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            world: Arc::new(RealWorld),
            probe: None,
            resolution: Resolution::Auto,
            store: Box::new(|store| store),
            virtual_files: None,
            boxed: None,
            web: Web::new(Net::default().resolving_by(Arc::new(NoNames))),
        }
    }
}
