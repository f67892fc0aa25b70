//! One workspace: a folder, its store, and everything that keeps the two in agreement.

use std::path::PathBuf;
use std::sync::Arc;

use yard_code::CodeIndex;
use yard_core::{Call, Fault, FaultCode, FileKind, Limits, ProcessId, Result, WsPath};
use yard_disk::{
    Caches, Disk, Homes, Locks, OutputStore, Processes, ResolvedPath, Runs, Sockets, Stage,
};
use yard_sandbox::CommandLimits;
use yard_store::{AuditEntry, Store};

use crate::command_box::CommandBox;
use crate::content_cache::{RangeReadCache, WrittenContents};
use crate::flusher::Flusher;
use crate::foreign_changes::ForeignChangeCache;
use crate::git_config_cache::GitConfigCache;
use crate::journal::Journal;
use crate::opening::Opening;
use crate::root_identity::check_root_identity;
use crate::signatures::Signatures;
use crate::upload::{Upload, Uploads};
use crate::virtual_files::VirtualFiles;

/// One workspace.
pub struct Workspace {
    pub(crate) disk: Arc<Disk>,
    pub(crate) stage: Arc<Stage>,
    pub(crate) locks: Locks,
    processes: Processes,
    pub(crate) journal: Journal,
    pub(crate) flusher: Flusher,
    pub(crate) written_contents: WrittenContents,
    pub(crate) range_reads: RangeReadCache,
    pub(crate) foreign_changes: ForeignChangeCache,
    pub(crate) git_configs: GitConfigCache,
    pub(crate) code: CodeIndex,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) runs: Runs,
    pub(crate) homes: Homes,
    pub(crate) port_sockets: Sockets,
    pub(crate) caches: Arc<Caches>,
    pub(crate) command_outputs: OutputStore,
    pub(crate) boxed: Option<CommandBox>,
    pub(crate) folder_mode: u32,
    pub(crate) virtual_files: Option<Arc<dyn VirtualFiles>>,
    store: Arc<dyn Store>,
    limits: Limits,
    pub(crate) signatures: Signatures,
}

impl Workspace {
    /// Opens a workspace without recovering from a crash.
    pub(crate) fn open_unrecovered(opening: Opening) -> Result<Self> {
        let disk = Disk::open(&opening.root, opening.resolution, opening.probe.clone())?;
        let disk = Arc::new(disk);
        check_apart(&disk, &opening.state_dir)?;
        check_root_identity(&disk, &opening)?;
        let locks = Locks::open(&opening.state_dir)?;
        let stage = Arc::new(Stage::open(&disk, &opening.state_dir, opening.world.random())?);
        let runs = Runs::open(&opening.state_dir)?;
        Ok(Self {
            folder_mode: stage.folder_mode()?,
            flusher: Flusher::new(Arc::clone(&disk), Arc::clone(&opening.store)),
            disk,
            stage,
            locks,
            processes: Processes::new(&opening.state_dir),
            journal: Journal::default(),
            written_contents: WrittenContents::default(),
            range_reads: RangeReadCache::default(),
            foreign_changes: ForeignChangeCache::default(),
            git_configs: GitConfigCache::default(),
            code: CodeIndex::default(),
            uploads: Arc::default(),
            homes: Homes::open(&opening.state_dir, runs.dropped())?,
            port_sockets: Sockets::open(&opening.state_dir)?,
            caches: Arc::new(Caches::open(&opening.state_dir, runs.dropped())?),
            runs,
            command_outputs: OutputStore::open(&opening.state_dir, opening.resolution)?,
            boxed: opening.boxed,
            virtual_files: opening.virtual_files,
            signatures: Signatures::new(Arc::clone(&opening.store)),
            store: opening.store,
            limits: opening.limits,
        })
    }

    /// The id of this process in the store. [`Workspace::is_alive`] is true for it, in every process, until this process
    /// ends or closes the workspace.
    pub fn process(&self, call: &Call) -> Result<ProcessId> {
        self.processes.own(call.world())
    }

    /// Whether a process still has the workspace open.
    pub fn is_alive(&self, process: ProcessId) -> bool {
        self.processes.is_alive(process)
    }

    /// Whether no process commits at the moment: a small change then waits only for its own flush.
    pub fn is_free(&self) -> bool {
        self.locks.is_free()
    }

    /// Begins an upload, to which bytes can be added in pieces.
    pub fn upload(&self, call: &Call) -> Result<Upload> {
        self.uploads.begin(&self.stage, &self.disk, call)
    }

    /// The bounds of this workspace.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The folder of a program that is installed on this machine and not visible in the box. `None` where callers may not
    /// know paths of the machine.
    pub fn hidden_program(&self, name: &str) -> Option<PathBuf> {
        let find = self.boxed.as_ref()?.hidden_programs.as_ref()?;
        find(name)
    }

    /// What a command may use here.
    pub fn command_limits(&self) -> CommandLimits {
        self.boxed.as_ref().map_or_else(CommandLimits::default, |boxed| boxed.limits)
    }

    /// The canonical path of the root on this machine.
    pub fn host_root(&self) -> &[u8] {
        self.disk.host_root()
    }

    /// The path that a path leads to when its links are followed, if anything is there.
    pub fn leads_to(&self, path: &WsPath) -> Option<WsPath> {
        match self.disk.locate(path, true) {
            Ok(ResolvedPath::Present { path, .. }) => Some(path),
            _ => None,
        }
    }

    /// A fault if the root was moved or replaced.
    pub fn check_root(&self) -> Result<()> {
        self.disk.check_in_place()
    }

    /// Whether something is at a path, be it a link that leads nowhere.
    pub fn is_there(&self, path: &WsPath) -> bool {
        self.disk.locate(path, false).is_ok_and(|spot| matches!(spot, ResolvedPath::Present { .. }))
    }

    /// The kind of the entry at a path, with links followed. A special file counts as a file. A link that leaves the
    /// workspace is a fault.
    pub fn kind_at(&self, path: &WsPath) -> Result<Option<FileKind>> {
        Ok(match self.disk.locate(path, true)? {
            ResolvedPath::Present { stat, .. } => Some(stat.kind.known().unwrap_or(FileKind::File)),
            ResolvedPath::Missing { .. } | ResolvedPath::Blocked { .. } => None,
        })
    }

    /// Adds a row to the audit chain for an event that is no step, such as a denial or the start of a command.
    pub fn record_audit(&self, entry: &AuditEntry) -> Result<()> {
        self.store.append_audit(entry).map_err(Fault::from)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }
}

/// A fault if the data folder is inside of the root, where tools could see it.
fn check_apart(disk: &Disk, state_dir: &std::path::Path) -> Result<()> {
    if !disk.holds(state_dir)? {
        return Ok(());
    }
    let message = format!(
        "the data folder {} lies inside the root {}; choose another with --data-dir",
        state_dir.display(),
        String::from_utf8_lossy(disk.host_root())
    );
    Err(Fault::new(FaultCode::BadArgument, message))
}
