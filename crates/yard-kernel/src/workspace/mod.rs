//! One workspace: a folder, its store, and the state that keeps the two in agreement, each part with its own module. What it
//! is opened with is in `opening.rs`, and whether the history belongs to the folder is checked in `root_identity.rs`.
//!
//! Nothing here plans, commits or projects a change: that is done by modules above this one, in `impl Workspace` blocks of
//! their own.

pub(crate) mod caches;
pub(crate) mod command_box;
mod command_state;
pub(crate) mod commit_queue;
mod flusher;
mod history_state;
pub(crate) mod opening;
pub(crate) mod root_identity;
pub(crate) mod upload;

use std::path::PathBuf;
use std::sync::Arc;

use yard_code::CodeIndex;
use yard_core::{Call, Fault, FaultCode, FileKind, Limits, ProcessId, Remedy, Result, WsPath};
use yard_disk::{Disk, Stage, StateUsage};
use yard_sandbox::CommandLimits;
use yard_store::{AuditEntry, Store, StoredCounts};

use crate::virtual_files::VirtualFiles;
use crate::workspace::caches::WorkspaceCaches;
use crate::workspace::command_state::CommandState;
use crate::workspace::history_state::HistoryState;
use crate::workspace::opening::Opening;
use crate::workspace::root_identity::check_root_identity;
use crate::workspace::upload::{Upload, Uploads};

/// One workspace.
pub struct Workspace {
    pub(crate) disk: Arc<Disk>,
    pub(crate) stage: Arc<Stage>,
    pub(crate) folder_mode: u32,
    pub(crate) history: HistoryState,
    pub(crate) caches: WorkspaceCaches,
    pub(crate) commands: CommandState,
    pub(crate) code: CodeIndex,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) virtual_files: Option<Arc<dyn VirtualFiles>>,
    limits: Limits,
    /// The folder with everything that is stored for the workspace.
    state_dir: PathBuf,
}

impl Workspace {
    /// Opens a workspace without recovering from a crash.
    pub(crate) fn open_unrecovered(opening: Opening) -> Result<Self> {
        let disk = Disk::open(&opening.root, opening.resolution, opening.probe.clone())?;
        let disk = Arc::new(disk);
        check_apart(&disk, &opening.state_dir)?;
        check_root_identity(&disk, &opening)?;
        let stage = Arc::new(Stage::open(&disk, &opening.state_dir, opening.world.random())?);
        Ok(Self {
            folder_mode: stage.folder_mode()?,
            history: HistoryState::open(&opening, &disk)?,
            caches: WorkspaceCaches::new(&opening.store),
            commands: CommandState::open(&opening)?,
            disk,
            stage,
            code: CodeIndex::default(),
            uploads: Arc::default(),
            virtual_files: opening.virtual_files,
            limits: opening.limits,
            state_dir: opening.state_dir,
        })
    }

    /// The id of this process in the store. [`Workspace::is_alive`] is true for it, in every process, until this process
    /// ends or closes the workspace.
    pub fn process(&self, call: &Call) -> Result<ProcessId> {
        self.history.processes.own(call.world())
    }

    /// Whether a process still has the workspace open.
    pub fn is_alive(&self, process: ProcessId) -> bool {
        self.history.processes.is_alive(process)
    }

    /// Begins an upload, to which bytes can be added in pieces.
    pub fn upload(&self, call: &Call) -> Result<Upload> {
        self.uploads.begin(&self.stage, &self.disk, call)
    }

    /// How much of the disk the history takes, and how much there is in it.
    pub fn storage(&self) -> Result<(StateUsage, StoredCounts)> {
        Ok((StateUsage::measure(&self.state_dir), self.store().counts()?))
    }

    /// The bounds of this workspace.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The folder of a program that is installed on this machine and not visible in the box. `None` where callers may not
    /// know paths of the machine.
    pub fn hidden_program(&self, name: &str) -> Option<PathBuf> {
        let find = self.commands.boxed.as_ref()?.hidden_programs.as_ref()?;
        find(name)
    }

    /// What a command may use here.
    pub fn command_limits(&self) -> CommandLimits {
        self.commands.boxed.as_ref().map_or_else(CommandLimits::default, |boxed| boxed.limits)
    }

    /// The canonical path of the root on this machine.
    pub fn host_root(&self) -> &[u8] {
        self.disk.host_root()
    }

    /// The path that a path leads to when its links are followed, if anything is there.
    pub fn leads_to(&self, path: &WsPath) -> Option<WsPath> {
        self.disk.locate(path, true).ok()?.present().map(|(path, _)| path)
    }

    /// A fault if the root was moved or replaced.
    pub fn check_root(&self) -> Result<()> {
        self.disk.check_in_place()
    }

    /// Whether something is at a path, be it a link that leads nowhere.
    pub fn is_there(&self, path: &WsPath) -> bool {
        self.disk.locate(path, false).is_ok_and(|spot| spot.present().is_some())
    }

    /// The kind of the entry at a path, with links followed. A special file counts as a file. A link that leaves the
    /// workspace is a fault.
    pub fn kind_at(&self, path: &WsPath) -> Result<Option<FileKind>> {
        let present = self.disk.locate(path, true)?.present();
        Ok(present.map(|(_, stat)| stat.kind.known().unwrap_or(FileKind::File)))
    }

    /// Adds a row to the audit chain for an event that is no step, such as a denial or the start of a command.
    pub fn record_audit(&self, entry: &AuditEntry) -> Result<()> {
        self.history.store.append_audit(entry).map_err(Fault::from)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.history.store.as_ref()
    }
}

/// A fault if the data folder is inside of the root, where tools could see it.
fn check_apart(disk: &Disk, state_dir: &std::path::Path) -> Result<()> {
    if !disk.holds(state_dir)? {
        return Ok(());
    }
    let message = format!(
        "the data folder {} lies inside the root {}",
        state_dir.display(),
        String::from_utf8_lossy(disk.host_root())
    );
    Err(Fault::new(FaultCode::BadArgument, message).with_remedy(Remedy::MoveDataFolder))
}
