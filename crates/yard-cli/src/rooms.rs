//! How a server's workspaces are opened: each has a folder of its own below the data folder, or one of
//! the host that the operator allowed. Their histories are kept apart from both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yard_core::{Fault, FaultCode, Limits, Result, World};
use yard_gate::admin::Opener;
use yard_gate::registry::WorkspaceRow;
use yard_gate::{OpenWorkspace, Transcripts, Workspace};
use yard_kernel::{Opening, Resolution};
use yard_store::SqliteStore;

use crate::failure::Failure;
use crate::place::{DataFolder, Place, allowed_folder};

/// Opens a server's workspaces.
pub(crate) struct Rooms {
    pub(crate) data: DataFolder,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) world: Arc<dyn World>,
}

impl Rooms {
    fn place(&self, workspace: &WorkspaceRow) -> std::result::Result<Place, Failure> {
        match &workspace.folder {
            None => self.data.workspace(&workspace.id.to_string()),
            // The same history as `toolyard` has on this machine for that folder.
            Some(folder) => Place::prepare(Path::new(folder), Some(self.data.path())),
        }
    }
}

impl Opener for Rooms {
    fn admit_folder(&self, folder: &str) -> Result<String> {
        let denied = || {
            // What is there, or not, is nothing that a stranger learns from us (R13).
            Fault::new(
                FaultCode::Denied,
                "the operator of this server does not allow workspaces in this folder \
                 (workspaces.folders in the configuration)",
            )
        };
        let found = allowed_folder(Path::new(folder), &self.folders).ok_or_else(denied)?;
        found.into_os_string().into_string().map_err(|_| denied())
    }

    fn open(&self, workspace: &WorkspaceRow) -> Result<Arc<OpenWorkspace>> {
        let failed = |failure: Failure| Fault::new(FaultCode::Io, failure.message());
        if let Some(folder) = &workspace.folder {
            // The operator may have changed his mind since.
            self.admit_folder(folder)?;
        }
        let place = self.place(workspace).map_err(failed)?;
        let store = SqliteStore::open(&place.state_dir).map_err(|error| failed(error.into()))?;
        let store = Arc::new(store);
        let workspace = Workspace::open(Opening {
            root: place.root,
            state_dir: place.state_dir,
            store: Arc::clone(&store) as _,
            limits: Limits::default(),
            world: Arc::clone(&self.world),
            probe: None,
            resolution: Resolution::Auto,
            virtual_files: Some(Transcripts::new(Arc::clone(&store) as _)),
        })?;
        Ok(OpenWorkspace::new(Arc::new(workspace), store))
    }
}
