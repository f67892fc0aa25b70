//! How a server's workspaces are opened: each has a folder of its own below the data folder, or one of
//! the host that the operator allowed. Their histories are kept apart from both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yard_core::{Fault, FaultCode, Result, World};
use yard_gate::admin::Opener;
use yard_gate::registry::WorkspaceRow;
use yard_gate::{OpenWorkspace, Web};

use crate::boxes::Served;
use crate::door::open_workspace;
use crate::failure::Failure;
use crate::overlap::overlap;
use crate::place::{DataFolder, Place, allowed_folder};

/// Opens a server's workspaces.
pub(crate) struct Rooms {
    pub(crate) data: DataFolder,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) boxes: Served,
    pub(crate) web: Web,
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
            // The operator may have changed his mind since. And what was a folder may lead elsewhere now.
            if self.admit_folder(folder)? != *folder {
                let message = "the folder of this workspace was replaced by a link to another one";
                return Err(Fault::new(FaultCode::Denied, message));
            }
        }
        let place = self.place(workspace);
        let open = |place| {
            let boxed = self.boxes.for_workspace().map_err(|error| {
                Failure::io("the memory of this workspace's commands cannot be bounded", &error)
            })?;
            open_workspace(&place, boxed, self.web.clone(), Arc::clone(&self.world))
        };
        let open = place.and_then(open);
        // What is wrong may name paths of the host: that is for the log, not for the caller (R13).
        open.map_err(|failure| Fault::new(FaultCode::Io, failure.message()))
    }
}
