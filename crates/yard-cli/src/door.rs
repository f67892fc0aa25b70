//! The way from a command to a workspace: opens the store and the kernel, seats the caller in a
//! session, and performs operations through it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yard_core::op::Operation;
use yard_core::{Call, FaultCode, Limits, World, WsPath};
use yard_dialects::AnyTool;
use yard_gate::{
    Actor, Asks, Execute, OpenWorkspace, Origin, Outcome, Policy, Session, Transcripts, Workspace,
};
use yard_kernel::{Boxed, Opening, Resolution};
use yard_store::SqliteStore;

use crate::boxes;
use crate::failure::Failure;
use crate::place::{self, Place};
use crate::terminal::Terminal;
use crate::world::Machine;

/// The toolset that audit rows name for the command line's own operations.
const TOOLSET: &str = "cli";

/// What a command is handed.
pub(crate) struct Door {
    root: PathBuf,
    data_dir: Option<PathBuf>,
    world: Arc<dyn World>,
    /// What standard output is.
    pub(crate) terminal: Terminal,
}

impl Door {
    /// A door to the workspace at `root`; nothing is opened yet.
    pub(crate) fn new(root: PathBuf, data_dir: Option<PathBuf>, terminal: Terminal) -> Self {
        Self { root, data_dir, world: Arc::new(Machine::new()), terminal }
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
        let place = Place::prepare(&self.root, self.data_dir.as_deref())?;
        let boxed = boxes::local(&place.state_dir);
        let open = open_workspace(&place, boxed, Arc::clone(&self.world))?;
        let session = Session::new(open, actor, Policy::Open);
        Ok(Seat { session, root: place.root, world: Arc::clone(&self.world) })
    }
}

/// Opens the workspace at a place with everything that a session of it needs, for every door of this
/// program.
pub(crate) fn open_workspace(
    place: &Place,
    boxed: Boxed,
    world: Arc<dyn World>,
) -> Result<Arc<OpenWorkspace>, Failure> {
    let store = Arc::new(SqliteStore::open(&place.state_dir)?);
    let workspace = Workspace::open(Opening {
        root: place.root.clone(),
        state_dir: place.state_dir.clone(),
        store: Arc::clone(&store) as _,
        limits: Limits::default(),
        world,
        probe: None,
        resolution: Resolution::Auto,
        virtual_files: Some(Transcripts::new(Arc::clone(&store) as _)),
        boxed: Some(boxed),
    })?;
    Ok(OpenWorkspace::new(Arc::new(workspace), store))
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
            Outcome::Done(answer) => Ok(answer),
            Outcome::Pending(pending) => Err(Failure::new(
                FaultCode::Denied,
                format!("this waits for a person: {:?}", pending.awaited),
            )),
        }
    }

    /// Reads a path as a person types it: a path of the workspace with or without its leading slash,
    /// a path of the host below the root, or one relative to the current folder when only that is
    /// there.
    pub(crate) fn path(&self, text: &str) -> Result<WsPath, Failure> {
        let path = WsPath::parse_under(text, self.session.host_root())
            .map_err(|error| Failure::new(FaultCode::BadPath, format!("{text}: {error}")))?;
        if text.starts_with('/') || place::is_there(&self.root, &path) {
            return Ok(path);
        }
        Ok(place::below_current_folder(&self.root, Path::new(text)).unwrap_or(path))
    }
}
