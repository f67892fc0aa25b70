//! What a workspace is opened with.

use std::path::PathBuf;
use std::sync::Arc;

use yard_core::{Limits, World};
use yard_disk::{Probe, Resolution};
use yard_store::Store;

use crate::boxed::Boxed;
use crate::virtual_files::VirtualFiles;

/// What a workspace is opened with.
pub struct Opening {
    /// The directory that agents work in.
    pub root: PathBuf,
    /// This workspace's own folder in the data folder; it exists and is not inside the root.
    pub state_dir: PathBuf,
    /// What survives.
    pub store: Arc<dyn Store>,
    /// Bounds.
    pub limits: Limits,
    /// Clock, dice and boot.
    pub world: Arc<dyn World>,
    /// Hears of every disk call; only tests have one.
    pub probe: Option<Arc<dyn Probe>>,
    /// How paths are resolved.
    pub resolution: Resolution,
    /// Files that are not on disk, if there are any.
    pub virtual_files: Option<Arc<dyn VirtualFiles>>,
    /// Where commands run, if they do.
    pub boxed: Option<Boxed>,
}
