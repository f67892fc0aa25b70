//! The context of commands: the folders that the command line names, and a session in the workspace of one of them.
//! Commands open the store and the kernel here, and perform their operations through a session of the gate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yard_core::op::Operation;
use yard_core::{Call, FaultCode, Limits, World, WsPath};
use yard_dialects::AnyTool;
use yard_disk::Resolution;
use yard_gate::Web;
use yard_gate::{
    Actor, Asks, CallerPolicy, Completion, Execute, OpenWorkspace, Origin, Session,
    TranscriptFiles, Workspace,
};
use yard_kernel::{AdoptReport, CommandBox, Opening, adopt};
use yard_store::{SqliteStore, StoreError};

use crate::box_config;
use crate::config::Config;
use crate::failure::Failure;
use crate::location::{self, DataFolder, WorkspaceLocation};
use crate::system_world::SystemWorld;
use crate::terminal::Terminal;

/// The toolset that audit rows name for the command line's own operations.
const TOOLSET: &str = "cli";

/// The folders, the terminal and the system that a command runs with.
#[derive(Clone)]
pub(crate) struct CommandContext {
    roots: Vec<PathBuf>,
    data_dir: Option<PathBuf>,
    world: Arc<dyn World>,
    /// Whether standard output is a terminal, and whether it shows colours.
    pub(crate) terminal: Terminal,
}

impl CommandContext {
    /// The context of a command on the workspaces at `roots`. It opens nothing.
    pub(crate) fn new(roots: Vec<PathBuf>, data_dir: Option<PathBuf>, terminal: Terminal) -> Self {
        Self { roots, data_dir, world: Arc::new(SystemWorld::new()), terminal }
    }

    /// The folders that the command line names.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The one folder to work on: the one that the command line names, or the current one.
    fn root(&self) -> Result<&Path, Failure> {
        match self.roots.as_slice() {
            [] => Ok(Path::new(".")),
            [root] => Ok(root),
            _ => Err(Failure::misuse(
                FaultCode::BadArgument,
                "this command works on one folder; --root was given several times",
            )),
        }
    }

    /// The data folder that the command line or the environment names.
    pub(crate) fn data_dir(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }

    /// The clock, the random numbers and the boot id of this system.
    pub(crate) fn world(&self) -> Arc<dyn World> {
        Arc::clone(&self.world)
    }

    /// Opens the workspace for `actor`. This also recovers what a crash interrupted.
    pub(crate) fn open(&self, actor: Actor) -> Result<LocalSession, Failure> {
        let links = location::link_and_target(self.root()?).into_iter().collect();
        let (open, root) = self.workspace(self.root()?)?;
        let session = Session::new(open, actor, CallerPolicy::Open).given_as(links);
        Ok(LocalSession { session, root, world: Arc::clone(&self.world) })
    }

    /// Opens the workspace for `actor` if it has a history.
    pub(crate) fn open_existing(&self, actor: Actor) -> Result<Option<LocalSession>, Failure> {
        let root = self.root()?;
        match WorkspaceLocation::has_history(root, self.data_dir.as_deref()) {
            true => self.open(actor).map(Some),
            false => Ok(None),
        }
    }

    /// Opens the workspace at `root`. Returns it with the canonical path of `root`.
    pub(crate) fn workspace(&self, root: &Path) -> Result<(Arc<OpenWorkspace>, PathBuf), Failure> {
        let location = WorkspaceLocation::prepare(root, self.data_dir.as_deref())?;
        let file = DataFolder::prepare(self.data_dir.as_deref())?.config(None)?;
        let config = Config::read_for_local_command(file.as_deref())?;
        let boxed = box_config::local(&location.state_dir, &config.commands);
        let open = open_workspace(&location, boxed, config.web_access()?, Arc::clone(&self.world))?;
        Ok((open, location.root))
    }
}

/// The result of adopting a folder.
pub(crate) struct AdoptedFolder {
    /// The result of the kernel.
    pub(crate) adopted: AdoptReport,
    /// The new name of a damaged journal.
    pub(crate) damaged: Option<String>,
}

impl CommandContext {
    /// Accepts the folder as it is now. With `from`, it takes over the history of the folder that was at that path.
    pub(crate) fn adopt(&self, from: Option<&Path>) -> Result<AdoptedFolder, Failure> {
        let data_dir = self.data_dir.as_deref();
        let location = match from {
            Some(from) => WorkspaceLocation::prepare_moved(self.root()?, from, data_dir)?,
            None => WorkspaceLocation::prepare(self.root()?, data_dir)?,
        };
        let checked = SqliteStore::open(&location.state_dir)
            .and_then(|store| store.check_database().map(|()| store));
        let (store, damaged) = match checked {
            Err(StoreError::Corrupt(_)) => {
                let name = location.set_damaged_journal_aside(self.world.now())?;
                (SqliteStore::open(&location.state_dir)?, Some(name))
            }
            opened => (opened?, None),
        };
        let opening = opening(&location, Arc::new(store), None, self.world());
        Ok(AdoptedFolder { adopted: adopt(&opening)?, damaged })
    }
}

fn opening(
    location: &WorkspaceLocation,
    store: Arc<SqliteStore>,
    boxed: Option<CommandBox>,
    world: Arc<dyn World>,
) -> Opening {
    Opening {
        root: location.root.clone(),
        state_dir: location.state_dir.clone(),
        store: Arc::clone(&store) as _,
        limits: limits(boxed.as_ref()),
        world,
        probe: None,
        resolution: Resolution::Auto,
        virtual_files: Some(TranscriptFiles::new(store as _)),
        boxed,
    }
}

/// The limits of a workspace whose commands run in this box.
fn limits(boxed: Option<&CommandBox>) -> Limits {
    let usual = Limits::default();
    let longest = boxed.and_then(|boxed| i64::try_from(boxed.limits.wall.as_millis()).ok());
    Limits { run_millis: longest.unwrap_or(usual.run_millis), ..usual }
}

/// Opens the workspace at a location, with everything that a session in it needs. Commands, MCP and the server use it.
pub(crate) fn open_workspace(
    location: &WorkspaceLocation,
    boxed: CommandBox,
    web: Web,
    world: Arc<dyn World>,
) -> Result<Arc<OpenWorkspace>, Failure> {
    let store = Arc::new(SqliteStore::open(&location.state_dir)?);
    let workspace = Workspace::open(opening(location, Arc::clone(&store), Some(boxed), world))?;
    Ok(OpenWorkspace::with_web(Arc::new(workspace), store, yard_dialects::CALLER_HINTS, web))
}

/// A session of one caller in one local workspace.
pub(crate) struct LocalSession {
    /// The session of the gate, which judges every operation.
    pub(crate) session: Session,
    root: PathBuf,
    world: Arc<dyn World>,
}

impl LocalSession {
    /// A call with the usual deadline.
    pub(crate) fn call(&self) -> Call {
        self.call_without_deadline().within_millis(self.session.limits().call_millis)
    }

    /// A call of a tool, with the deadline of that tool.
    pub(crate) fn call_of(&self, tool: Option<&AnyTool>) -> Call {
        let limits = self.session.limits();
        let millis = tool.map_or(limits.call_millis, |tool| tool.millis(limits));
        self.call_without_deadline().within_millis(millis)
    }

    /// A call without a deadline.
    pub(crate) fn call_without_deadline(&self) -> Call {
        Call::new(Arc::clone(&self.world))
    }

    /// Performs one operation with the usual deadline.
    pub(crate) fn perform<O: Execute>(&self, op: O) -> Result<O::Answer, Failure> {
        self.perform_in(&self.call(), op)
    }

    /// Performs one operation as part of `call`.
    pub(crate) fn perform_in<O: Execute>(&self, call: &Call, op: O) -> Result<O::Answer, Failure> {
        let origin = Origin { toolset: TOOLSET, tool: <O as Operation>::VERB, asks: Asks::Never };
        match self.session.perform(origin, call, op)? {
            Completion::Done(answer) => Ok(answer),
            Completion::Pending(pending) => Err(Failure::new(
                FaultCode::Denied,
                format!("this waits for a person: {:?}", pending.awaited),
            )),
        }
    }

    /// Resolves a path as a person types it: a path of the workspace with or without its leading slash, a path of the
    /// host below the root, or a path relative to the current folder if only that one exists.
    pub(crate) fn path(&self, text: &str) -> Result<WsPath, Failure> {
        let text = &*self.session.with_real_root(text);
        let exact = WsPath::under_shown(text, self.session.host_root());
        if let Some(path) = exact.ok().filter(|path| location::exists_below(&self.root, path)) {
            return Ok(path);
        }
        let path = WsPath::parse_under(text, self.session.host_root())
            .map_err(|error| Failure::new(FaultCode::BadPath, format!("{text}: {error}")))?;
        if text.starts_with('/') || location::exists_below(&self.root, &path) {
            return Ok(path);
        }
        Ok(location::below_current_folder(&self.root, Path::new(text)).unwrap_or(path))
    }
}
