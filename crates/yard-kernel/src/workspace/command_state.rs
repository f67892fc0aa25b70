//! The part of a workspace that commands and terminals need: the box that they run in, and their folders in the data folder.
//! It starts no command.

use std::sync::Arc;

use yard_core::Result;
use yard_disk::{Homes, OutputStore, PORT_SOCKETS, PackageCaches, Runs, Sockets, TERMINAL_SOCKETS};

use crate::workspace::command_box::CommandBox;
use crate::workspace::opening::Opening;

/// The box of a workspace's commands, and their folders.
pub(crate) struct CommandState {
    /// `None` where no commands run.
    pub(crate) boxed: Option<CommandBox>,
    pub(crate) runs: Runs,
    pub(crate) homes: Homes,
    pub(crate) package_caches: Arc<PackageCaches>,
    pub(crate) outputs: OutputStore,
    pub(crate) port_sockets: Sockets,
    pub(crate) terminal_sockets: Sockets,
}

impl CommandState {
    /// Opens the folders of a workspace's commands.
    pub(crate) fn open(opening: &Opening) -> Result<Self> {
        let state_dir = &opening.state_dir;
        let runs = Runs::open(state_dir)?;
        Ok(Self {
            boxed: opening.boxed.clone(),
            homes: Homes::open(state_dir, runs.dropped())?,
            package_caches: Arc::new(PackageCaches::open(state_dir, runs.dropped())?),
            runs,
            outputs: OutputStore::open(state_dir, opening.resolution)?,
            port_sockets: Sockets::open(state_dir, PORT_SOCKETS)?,
            terminal_sockets: Sockets::open(state_dir, TERMINAL_SOCKETS)?,
        })
    }
}
