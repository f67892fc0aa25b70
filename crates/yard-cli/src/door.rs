//! The way from a command to a workspace: opens the store and the kernel, seats the caller in a
//! session, and performs operations through it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yard_core::op::Operation;
use yard_core::{Call, FaultCode, Limits, World, WsPath};
use yard_dialects::AnyTool;
use yard_gate::Web;
use yard_gate::{
    Actor, Asks, Completion, Execute, OpenWorkspace, Origin, Policy, Session, TranscriptFiles,
    Workspace,
};
use yard_kernel::{Adopted, Boxed, Opening, Resolution, adopt};
use yard_store::{SqliteStore, StoreError};

use crate::boxes;
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::place::{self, DataFolder, Place};
use crate::terminal::Terminal;
use crate::world::Machine;

/// The toolset that audit rows name for the command line's own operations.
const TOOLSET: &str = "cli";

/// What a command is handed.
#[derive(Clone)]
pub(crate) struct Door {
    roots: Vec<PathBuf>,
    data_dir: Option<PathBuf>,
    world: Arc<dyn World>,
    /// What standard output is.
    pub(crate) terminal: Terminal,
}

impl Door {
    /// A door to the workspaces at `roots`; nothing is opened yet.
    pub(crate) fn new(roots: Vec<PathBuf>, data_dir: Option<PathBuf>, terminal: Terminal) -> Self {
        Self { roots, data_dir, world: Arc::new(Machine::new()), terminal }
    }

    /// The folders that the command line names.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The one folder to work on: what is named, or the current one.
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

    /// Clock, dice and boot.
    pub(crate) fn world(&self) -> Arc<dyn World> {
        Arc::clone(&self.world)
    }

    /// Opens the workspace for `actor`. Recovery, if a crash left work, happens here.
    pub(crate) fn open(&self, actor: Actor) -> Result<Seat, Failure> {
        let links = place::given_by_link(self.root()?).into_iter().collect();
        let (open, root) = self.workspace(self.root()?)?;
        let session = Session::new(open, actor, Policy::Open).given_as(links);
        Ok(Seat { session, root, world: Arc::clone(&self.world) })
    }

    /// Opens the workspace for `actor` if it has a history.
    pub(crate) fn open_existing(&self, actor: Actor) -> Result<Option<Seat>, Failure> {
        let root = self.root()?;
        match Place::has_history(root, self.data_dir.as_deref()) {
            true => self.open(actor).map(Some),
            false => Ok(None),
        }
    }

    /// Opens the workspace at `root`; with the canonical path of that.
    pub(crate) fn workspace(&self, root: &Path) -> Result<(Arc<OpenWorkspace>, PathBuf), Failure> {
        let place = Place::prepare(root, self.data_dir.as_deref())?;
        let file = DataFolder::prepare(self.data_dir.as_deref())?.config(None)?;
        let config = Config::read(file.as_deref(), config::variables())?;
        let boxed = boxes::local(&place.state_dir, &config.commands);
        let open = open_workspace(&place, boxed, config.way_out()?, Arc::clone(&self.world))?;
        Ok((open, place.root))
    }
}

/// What came of adopting a folder.
pub(crate) struct AdoptedFolder {
    /// What the kernel found.
    pub(crate) adopted: Adopted,
    /// The name under which a damaged journal was kept.
    pub(crate) damaged: Option<String>,
}

impl Door {
    /// Goes on with the folder as it is, with the history of where it was before if that is named.
    pub(crate) fn adopt(&self, from: Option<&Path>) -> Result<AdoptedFolder, Failure> {
        let data_dir = self.data_dir.as_deref();
        let place = match from {
            Some(from) => Place::prepare_moved(self.root()?, from, data_dir)?,
            None => Place::prepare(self.root()?, data_dir)?,
        };
        let checked = SqliteStore::open(&place.state_dir)
            .and_then(|store| store.check_database().map(|()| store));
        let (store, damaged) = match checked {
            Err(StoreError::Corrupt(_)) => {
                let name = place.set_damaged_journal_aside(self.world.now())?;
                (SqliteStore::open(&place.state_dir)?, Some(name))
            }
            opened => (opened?, None),
        };
        let opening = opening(&place, Arc::new(store), None, self.world());
        Ok(AdoptedFolder { adopted: adopt(&opening)?, damaged })
    }
}

fn opening(
    place: &Place,
    store: Arc<SqliteStore>,
    boxed: Option<Boxed>,
    world: Arc<dyn World>,
) -> Opening {
    Opening {
        root: place.root.clone(),
        state_dir: place.state_dir.clone(),
        store: Arc::clone(&store) as _,
        limits: limits(boxed.as_ref()),
        world,
        probe: None,
        resolution: Resolution::Auto,
        virtual_files: Some(TranscriptFiles::new(store as _)),
        boxed,
    }
}

/// The bounds of a workspace whose commands run in this box.
fn limits(boxed: Option<&Boxed>) -> Limits {
    let usual = Limits::default();
    let longest = boxed.and_then(|boxed| i64::try_from(boxed.limits.wall.as_millis()).ok());
    Limits { run_millis: longest.unwrap_or(usual.run_millis), ..usual }
}

/// Opens the workspace at a place with everything that a session of it needs, for every door of this
/// program.
pub(crate) fn open_workspace(
    place: &Place,
    boxed: Boxed,
    web: Web,
    world: Arc<dyn World>,
) -> Result<Arc<OpenWorkspace>, Failure> {
    let store = Arc::new(SqliteStore::open(&place.state_dir)?);
    let workspace = Workspace::open(opening(place, Arc::clone(&store), Some(boxed), world))?;
    Ok(OpenWorkspace::with_web(Arc::new(workspace), store, yard_dialects::CALLER_WORDS, web))
}

/// One caller in one workspace.
pub(crate) struct Seat {
    /// The way in.
    pub(crate) session: Session,
    root: PathBuf,
    world: Arc<dyn World>,
}

impl Seat {
    /// The surroundings of a call that answers soon or not at all.
    pub(crate) fn call(&self) -> Call {
        self.patient_call().within_millis(self.session.limits().call_millis)
    }

    /// The surroundings of a call of a tool.
    pub(crate) fn call_of(&self, tool: Option<&AnyTool>) -> Call {
        let limits = self.session.limits();
        let millis = tool.map_or(limits.call_millis, |tool| tool.millis(limits));
        self.patient_call().within_millis(millis)
    }

    /// The surroundings of a call that may take as long as it needs.
    pub(crate) fn patient_call(&self) -> Call {
        Call::new(Arc::clone(&self.world))
    }

    /// Performs one operation.
    pub(crate) fn perform<O: Execute>(&self, op: O) -> Result<O::Answer, Failure> {
        self.perform_in(&self.call(), op)
    }

    /// Performs one operation in these surroundings.
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

    /// Reads a path as a person types it: a path of the workspace with or without its leading slash,
    /// a path of the host below the root, or one relative to the current folder when only that is
    /// there.
    pub(crate) fn path(&self, text: &str) -> Result<WsPath, Failure> {
        let text = &*self.session.with_real_root(text);
        let exact = WsPath::under_shown(text, self.session.host_root());
        if let Some(path) = exact.ok().filter(|path| place::is_there(&self.root, path)) {
            return Ok(path);
        }
        let path = WsPath::parse_under(text, self.session.host_root())
            .map_err(|error| Failure::new(FaultCode::BadPath, format!("{text}: {error}")))?;
        if text.starts_with('/') || place::is_there(&self.root, &path) {
            return Ok(path);
        }
        Ok(place::below_current_folder(&self.root, Path::new(text)).unwrap_or(path))
    }
}
