//! Opens the workspaces of a server. Each has a folder below the data folder, or a folder of the host that the operator
//! allowed. Their histories lie in other folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yard_core::{Fault, FaultCode, Result, World};
use yard_gate::admin::Opener;
use yard_gate::registry::WorkspaceRow;
use yard_gate::{LastEvent, OpenWorkspace, Web};

use crate::box_config::ServerBoxes;
use crate::context::open_workspace;
use crate::failure::Failure;
use crate::last_events::LastEvents;
use crate::location::{self, DataFolder, WorkspaceLocation, allowed_folder};
use crate::overlap::overlap;

/// Opens a server's workspaces.
pub(crate) struct ServerWorkspaces {
    pub(crate) data: DataFolder,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) boxes: ServerBoxes,
    pub(crate) web: Web,
    pub(crate) world: Arc<dyn World>,
    pub(crate) last_events: LastEvents,
}

impl ServerWorkspaces {
    fn location(
        &self,
        workspace: &WorkspaceRow,
    ) -> std::result::Result<WorkspaceLocation, Failure> {
        match &workspace.folder {
            None => self.data.workspace(&workspace.id.to_string()),
            // The same history as `toolyard` has on this machine for that folder.
            Some(folder) => WorkspaceLocation::prepare(Path::new(folder), Some(self.data.path())),
        }
    }
}

impl Opener for ServerWorkspaces {
    fn admit_folder(&self, folder: &str) -> Result<String> {
        let denied = || {
            // The answer must not tell a stranger which folders of the host exist (R13).
            Fault::new(
                FaultCode::Denied,
                "the operator of this server does not allow workspaces in this folder \
                 (workspaces.folders in the configuration)",
            )
        };
        let found = allowed_folder(Path::new(folder), &self.folders).ok_or_else(denied)?;
        if overlap(&found, self.data.path()) {
            return Err(denied());
        }
        found.into_os_string().into_string().map_err(|_| denied())
    }

    fn overlap(&self, one: &str, other: &str) -> bool {
        overlap(Path::new(one), Path::new(other))
    }

    fn open(&self, workspace: &WorkspaceRow) -> Result<Arc<OpenWorkspace>> {
        if let Some(folder) = &workspace.folder {
            // The configuration may have changed since, and the folder may be a link to another one now.
            if self.admit_folder(folder)? != *folder {
                let message = "the folder of this workspace was replaced by a link to another one";
                return Err(Fault::new(FaultCode::Denied, message));
            }
        }
        let location = self.location(workspace);
        let open = |location| {
            let boxed = self.boxes.for_workspace().map_err(|error| {
                Failure::io("the memory of this workspace's commands cannot be bounded", &error)
            })?;
            open_workspace(&location, boxed, self.web.clone(), Arc::clone(&self.world))
        };
        let open = location.and_then(open);
        // A message may name paths of the host, which the log may show and an answer may not (R13).
        open.map_err(|failure| Fault::new(FaultCode::Io, failure.message()))
    }

    fn last_event(&self, workspace: &WorkspaceRow) -> Result<LastEvent> {
        let root = workspace.folder.as_deref().map(Path::new);
        let state_dir = location::state_dir_of(self.data.path(), workspace.id, root);
        self.last_events.of(workspace.id, &state_dir)
    }
}
