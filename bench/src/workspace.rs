//! The folders and workspaces of measurements: folders beside the build that are removed when they are dropped, and
//! workspaces on them with the real store, kernel and gate.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use yard_core::op::Operation;
use yard_core::{Call, Limits, WsPath};
use yard_dialects::{CALLER_HINTS, Catalog};
use yard_disk::Resolution;
use yard_gate::{
    Actor, Asks, CallerPolicy, CommandBox, Completion, Execute, Finished, OpenWorkspace, Origin,
    Session, TranscriptFiles,
};
use yard_kernel::{Opening, Workspace};
use yard_store::sqlite::Options;
use yard_store::{SqliteStore, Store};
use yard_testkit::RealWorld;

/// The build folder, which this program is in.
pub(crate) fn target() -> PathBuf {
    let program = std::env::current_exe().expect("this program's path");
    program.ancestors().nth(2).expect("a build folder").to_owned()
}

/// Where everything is measured, and data is kept between runs: beside the build, or where
/// `YARD_BENCH_DATA` says, to measure another file system.
pub(crate) fn data() -> PathBuf {
    std::env::var_os("YARD_BENCH_DATA").map_or_else(|| target().join("bench-data"), PathBuf::from)
}

/// A folder of one measurement.
pub(crate) struct Scratch {
    path: PathBuf,
    mark: String,
}

impl Scratch {
    /// An empty one.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let path = data().join(format!("run-{mark}"));
        std::fs::create_dir_all(&path).expect("a scratch folder");
        spread(&path);
        Self { path, mark }
    }

    /// A folder in it. Its whole name is its own, because ext4 chooses the block group by the name.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.path.join(format!("{name}-{}", self.mark));
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }
}

/// Asks the file system to put each folder made in `folder` into a block group of its own, where it
/// knows how. An ext4 without a journal looks past every recently deleted inode of a group whenever it
/// makes a file there: without this, one contestant would pay for what the other one deleted.
fn spread(folder: &Path) {
    let _ = Command::new("chattr").arg("+T").arg(folder).stderr(Stdio::null()).status();
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// How a workspace is opened.
pub(crate) struct Plan<'a> {
    pub(crate) limits: Limits,
    pub(crate) flush: bool,
    pub(crate) store: &'a dyn Fn(Arc<SqliteStore>) -> Arc<dyn Store>,
    pub(crate) boxed: Option<CommandBox>,
}

impl Default for Plan<'_> {
    fn default() -> Self {
        Self { limits: Limits::default(), flush: true, store: &|store| store, boxed: None }
    }
}

/// An open workspace, with the session of an agent.
#[derive(Clone)]
pub(crate) struct Bench {
    session: Session,
    world: Arc<RealWorld>,
}

impl Bench {
    /// A workspace at `root` whose history is in `state`.
    pub(crate) fn open(root: &Path, state: &Path, plan: &Plan<'_>) -> Self {
        let options = Options { flush: plan.flush };
        let store = Arc::new(SqliteStore::open_with(state, options).expect("a store"));
        let world = Arc::new(RealWorld);
        let workspace = Workspace::open(Opening {
            root: root.to_owned(),
            state_dir: state.to_owned(),
            store: (plan.store)(Arc::clone(&store)),
            limits: plan.limits.clone(),
            world: Arc::clone(&world) as _,
            probe: None,
            resolution: Resolution::Auto,
            virtual_files: Some(TranscriptFiles::new(Arc::clone(&store) as _)),
            boxed: plan.boxed.clone(),
        });
        let open =
            OpenWorkspace::new(Arc::new(workspace.expect("a workspace")), store, CALLER_HINTS);
        Self { session: Session::new(open, Actor::LocalAgent, CallerPolicy::Open), world }
    }

    /// Calls a tool, as an agent does; its answer.
    pub(crate) fn call(&self, catalog: &Catalog, tool: (&str, &str)) -> serde_json::Value {
        let call = Call::new(Arc::clone(&self.world) as _).within_millis(600_000);
        let (toolset, tool) = tool;
        let answer = catalog.call(toolset, tool, serde_json::json!({}), &self.session, &call);
        assert!(answer.ok, "{tool}: {}", answer.body);
        answer.body.into_value()
    }

    /// Runs a command through the gate.
    pub(crate) fn run(&self, command: &yard_gate::Command) -> Finished {
        let origin = Origin { toolset: "bench", tool: "run", asks: Asks::Never };
        let call = Call::new(Arc::clone(&self.world) as _).within_millis(600_000);
        match self.session.attempt(origin, &call).run(command) {
            Ok(Completion::Done(finished)) => finished,
            Ok(Completion::Pending(_)) => panic!("the open policy asks nobody"),
            Err(fault) => panic!("run: {}", fault.message()),
        }
    }

    /// Opens a terminal through the gate.
    pub(crate) fn terminal(&self, command: &yard_gate::Command) -> OnTerminal<'_> {
        let call = Call::new(Arc::clone(&self.world) as _);
        let attempt = self.session.attempt(ON_TERMINAL, &call);
        let opened = attempt.open_terminal(TERMINAL, command, LOOK);
        assert!(matches!(opened, Ok(Completion::Done(_))), "a terminal opens");
        OnTerminal { session: &self.session, call }
    }

    /// Performs one operation through the gate.
    pub(crate) fn perform<O: Execute>(&self, op: O) -> <O as Operation>::Answer {
        let origin = Origin { toolset: "bench", tool: O::VERB, asks: Asks::Never };
        let call = Call::new(Arc::clone(&self.world) as _).within_millis(600_000);
        match self.session.perform(origin, &call, op) {
            Ok(Completion::Done(answer)) => answer,
            Ok(Completion::Pending(_)) => panic!("the open policy asks nobody"),
            Err(fault) => panic!("{}: {}", O::VERB, fault.message()),
        }
    }
}

const TERMINAL: &str = "terminal";
const ON_TERMINAL: Origin<'_> = Origin { toolset: "bench", tool: "terminal", asks: Asks::Never };
const LOOK: Duration = Duration::from_secs(10);

/// An open terminal, which ends with this.
pub(crate) struct OnTerminal<'a> {
    session: &'a Session,
    call: Call,
}

impl OnTerminal<'_> {
    /// Types input, and compares the output.
    pub(crate) fn types(&mut self, text: &str, expected: &str) {
        let attempt = self.session.attempt(ON_TERMINAL, &self.call);
        let seen = attempt.send_input(TERMINAL, text, LOOK).expect("a look");
        assert_eq!(seen.update.output.head, expected.as_bytes());
    }
}

impl Drop for OnTerminal<'_> {
    fn drop(&mut self) {
        self.session.stop_all_terminals();
    }
}

/// A path of the workspace.
pub(crate) fn at(path: &str) -> WsPath {
    WsPath::parse(path).expect("a path")
}

/// Bounds that nothing here reaches.
pub(crate) fn unbounded() -> Limits {
    Limits { answer_bytes: u64::MAX, answer_entries: usize::MAX, ..Limits::default() }
}

/// Bytes of all files below a folder.
pub(crate) fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let about = entry.metadata().expect("metadata");
            if about.is_dir() { size(&entry.path()) } else { about.len() }
        })
        .sum()
}
