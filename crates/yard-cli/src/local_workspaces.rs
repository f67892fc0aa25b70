//! The workspaces of a person on this machine: every folder that has a history in the data folder. The page shows them,
//! beside the processes that work in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yard_core::{Fault, FaultCode, Result, WorkspaceId};
use yard_gate::admin::{MissingFolder, Opener};
use yard_gate::registry::WorkspaceRow;
use yard_gate::{LastEvent, OpenWorkspace};

use crate::context::CommandContext;
use crate::last_events::LastEvents;
use crate::location;

/// Opens the workspaces of this machine, as the commands do.
pub(crate) struct LocalWorkspaces {
    context: CommandContext,
    data: PathBuf,
    last_events: LastEvents,
}

impl LocalWorkspaces {
    /// The workspaces of a data folder.
    pub(crate) fn new(context: CommandContext, data: PathBuf) -> Self {
        let last_events = LastEvents::new(context.world());
        Self { context, data, last_events }
    }
}

impl Opener for LocalWorkspaces {
    fn admit_folder(&self, _folder: &str) -> Result<String> {
        let message =
            "start an agent in the folder with `toolyard mcp`: then its workspace is here";
        Err(Fault::new(FaultCode::Denied, message))
    }

    /// A folder and one inside of it may both have a history: commands allow that, too.
    fn overlap(&self, _one: &str, _other: &str) -> bool {
        false
    }

    fn local_folders(&self) -> Vec<(WorkspaceId, PathBuf)> {
        location::local_histories(&self.data)
    }

    fn missing_folders(&self) -> Vec<MissingFolder> {
        location::missing_roots(&self.data)
    }

    fn open(&self, workspace: &WorkspaceRow) -> Result<Arc<OpenWorkspace>> {
        let root = workspace.folder.as_deref().unwrap_or_default();
        let opened = self.context.workspace(Path::new(root));
        opened.map(|(open, _)| open).map_err(|failure| Fault::new(FaultCode::Io, failure.message()))
    }

    fn last_event(&self, workspace: &WorkspaceRow) -> Result<LastEvent> {
        let root = workspace.folder.as_deref().map(Path::new);
        self.last_events.of(workspace.id, &location::state_dir_of(&self.data, workspace.id, root))
    }
}
