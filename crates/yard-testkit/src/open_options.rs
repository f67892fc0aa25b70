//! The options with which a test opens a workspace. Every workspace of a test is opened here.

use std::path::Path;
use std::sync::Arc;

use yard_core::{Limits, Result, World};
use yard_disk::{Probe, Resolution};
use yard_gate::{CallerHints, Net, OpenWorkspace, Resolve, TranscriptFiles, Web};
use yard_kernel::{CommandBox, Opening, VirtualFiles, Workspace};
use yard_store::{SqliteStore, Store, WorkspaceRecords};

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
    /// Wraps the real records.
    pub records: Box<dyn Fn(Arc<SqliteStore>) -> Arc<dyn WorkspaceRecords>>,
    /// Files that are not on disk, instead of the transcripts of chats.
    pub virtual_files: Option<Arc<dyn VirtualFiles>>,
    /// The box of commands, if they can run.
    pub boxed: Option<CommandBox>,
    /// The access to the web. By default no name resolves.
    pub web: Web,
}

impl OpenOptions {
    /// Opens the workspace with this root and this state folder, for the dialects and doors with these hints.
    pub fn open(self, root: &Path, state: &Path, hints: CallerHints) -> Result<Arc<OpenWorkspace>> {
        let store = SqliteStore::open(state).unwrap_or_else(|error| panic!("the store: {error}"));
        let store = Arc::new(store);
        let (records, web) = ((self.records)(Arc::clone(&store)), self.web.clone());
        let transcripts = TranscriptFiles::new(Arc::clone(&records)) as Arc<dyn VirtualFiles>;
        let opening = self.opening(root, state, store);
        let virtual_files = opening.virtual_files.or(Some(transcripts));
        let workspace = Workspace::open(Opening { virtual_files, ..opening })?;
        Ok(OpenWorkspace::with_web(Arc::new(workspace), records, hints, web))
    }

    /// What the kernel opens a workspace with.
    pub fn opening(self, root: &Path, state: &Path, store: Arc<SqliteStore>) -> Opening {
        Opening {
            root: root.to_owned(),
            state_dir: state.to_owned(),
            store: (self.store)(store),
            limits: self.limits,
            world: self.world,
            probe: self.probe,
            resolution: self.resolution,
            virtual_files: self.virtual_files,
            boxed: self.boxed,
        }
    }
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
            records: Box::new(|store| store),
            virtual_files: None,
            boxed: None,
            web: Web::new(Net::default().resolving_by(Arc::new(NoNames))),
        }
    }
}
