//! What a workspace is opened with.

use std::path::PathBuf;
use std::sync::Arc;

use yard_core::{Limits, World};
use yard_disk::{Probe, Resolution};
use yard_store::Store;

use crate::virtual_files::VirtualFiles;
use crate::workspace::command_box::CommandBox;

/// What a workspace is opened with.
pub struct Opening {
    /// The directory that agents work in.
    pub root: PathBuf,
    /// This workspace's own folder in the data folder; it exists and is not inside the root.
    pub state_dir: PathBuf,
    /// The history of the workspace.
    pub store: Arc<dyn Store>,
    /// Bounds of calls.
    pub limits: Limits,
    /// Clock, randomness and boot id.
    pub world: Arc<dyn World>,
    /// Is called before every disk call; for tests only.
    pub probe: Option<Arc<dyn Probe>>,
    /// How paths are resolved.
    pub resolution: Resolution,
    /// Files that are shown but are not on disk, if there are any.
    pub virtual_files: Option<Arc<dyn VirtualFiles>>,
    /// The box in which commands run, if they can run at all.
    pub boxed: Option<CommandBox>,
}
