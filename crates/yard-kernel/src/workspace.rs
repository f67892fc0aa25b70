//! One workspace: a directory, its store, and the one way in which a change lands on both.

use std::path::PathBuf;
use std::sync::Arc;

use yard_code::CodeIndex;
use yard_core::{Call, Fault, FaultCode, FileKind, Limits, ProcessId, Result, WsPath};
use yard_disk::{
    Caches, Disk, Homes, Locks, OutputStore, Processes, ResolvedPath, Runs, Sockets, Stage,
};
use yard_sandbox::CommandLimits;
use yard_store::{AuditEntry, Store};

use crate::belonging::check_root;
use crate::boxed::Boxed;
use crate::flusher::Flusher;
use crate::journal::Journal;
use crate::opening::Opening;
use crate::others_seen::OthersSeen;
use crate::pointers::Pointers;
use crate::recent::{InParts, Recent};
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
    pub(crate) recent: Recent,
    pub(crate) in_parts: InParts,
    pub(crate) others_seen: OthersSeen,
    pub(crate) pointers: Pointers,
    pub(crate) code: CodeIndex,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) runs: Runs,
    pub(crate) homes: Homes,
    pub(crate) port_sockets: Sockets,
    pub(crate) caches: Arc<Caches>,
    pub(crate) spills: OutputStore,
    pub(crate) boxed: Option<Boxed>,
    pub(crate) folder_mode: u32,
    pub(crate) virtual_files: Option<Arc<dyn VirtualFiles>>,
    store: Arc<dyn Store>,
    limits: Limits,
    pub(crate) signatures: Signatures,
}

impl Workspace {
    /// A workspace as it is found: what a crash left unfinished is still to be finished.
    pub(crate) fn found(opening: Opening) -> Result<Self> {
        let disk = Disk::open(&opening.root, opening.resolution, opening.probe.clone())?;
        let disk = Arc::new(disk);
        check_apart(&disk, &opening.state_dir)?;
        check_root(&disk, &opening)?;
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
            recent: Recent::default(),
            in_parts: InParts::default(),
            others_seen: OthersSeen::default(),
            pointers: Pointers::default(),
            code: CodeIndex::default(),
            uploads: Arc::default(),
            homes: Homes::open(&opening.state_dir, runs.dropped())?,
            port_sockets: Sockets::open(&opening.state_dir)?,
            caches: Arc::new(Caches::open(&opening.state_dir, runs.dropped())?),
            runs,
            spills: OutputStore::open(&opening.state_dir, opening.resolution)?,
            boxed: opening.boxed,
            virtual_files: opening.virtual_files,
            signatures: Signatures::new(Arc::clone(&opening.store)),
            store: opening.store,
            limits: opening.limits,
        })
    }

    /// This process, as the store names it from now on: [`Workspace::is_alive`] is true of it, in every
    /// process, until it ends or closes the workspace.
    pub fn process(&self, call: &Call) -> Result<ProcessId> {
        self.processes.own(call.world())
    }

    /// Whether a process still has the workspace open.
    pub fn is_alive(&self, process: ProcessId) -> bool {
        self.processes.is_alive(process)
    }

    /// Whether nobody changes anything at the moment: then a small change waits for its own flush only.
    pub fn is_free(&self) -> bool {
        self.locks.is_free()
    }

    /// Begins an upload: room in the staging folder for bytes that come in pieces.
    pub fn upload(&self, call: &Call) -> Result<Upload> {
        self.uploads.begin(&self.stage, &self.disk, call)
    }

    /// The bounds of this workspace.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The folder of a program that is on this machine and not in the box, where callers may know that.
    pub fn hidden_program(&self, name: &str) -> Option<PathBuf> {
        let find = self.boxed.as_ref()?.hidden_programs.as_ref()?;
        find(name)
    }

    /// What a command may use here.
    pub fn command_limits(&self) -> CommandLimits {
        self.boxed.as_ref().map_or_else(CommandLimits::default, |boxed| boxed.limits)
    }

    /// The canonical path of the directory on this machine.
    pub fn host_root(&self) -> &[u8] {
        self.disk.host_root()
    }

    /// Where a path leads when its links are followed, if anything is there.
    pub fn leads_to(&self, path: &WsPath) -> Option<WsPath> {
        match self.disk.locate(path, true) {
            Ok(ResolvedPath::Present { path, .. }) => Some(path),
            _ => None,
        }
    }

    /// A fault if the folder of this workspace is not at its path any more.
    pub fn check_root(&self) -> Result<()> {
        self.disk.check_in_place()
    }

    /// Whether something is at a path, be it a link that leads nowhere.
    pub fn is_there(&self, path: &WsPath) -> bool {
        self.disk.locate(path, false).is_ok_and(|spot| matches!(spot, ResolvedPath::Present { .. }))
    }

    /// What is at a path, its links followed, if something is; what is neither folder nor link counts as a
    /// file. A link that leaves the workspace is a fault.
    pub fn kind_at(&self, path: &WsPath) -> Result<Option<FileKind>> {
        Ok(match self.disk.locate(path, true)? {
            ResolvedPath::Present { stat, .. } => Some(stat.kind.known().unwrap_or(FileKind::File)),
            ResolvedPath::Missing { .. } | ResolvedPath::Blocked { .. } => None,
        })
    }

    /// Leaves the audit row of something that is no step: a denial, the start of a command.
    pub fn record_audit(&self, entry: &AuditEntry) -> Result<()> {
        self.store.append_audit(entry).map_err(Fault::from)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }
}

/// No tool may ever see the data folder: it must not lie inside the root.
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
