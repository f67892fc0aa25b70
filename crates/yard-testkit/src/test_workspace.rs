//! The workspace of one test: a temporary root and data folder, the real SQLite store, the kernel, the gate and the
//! catalog. Nothing is mocked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use yard_core::op::Operation;
use yard_core::{Call, Result, World};
use yard_dialects::{Answer, CALLER_HINTS, Catalog};
use yard_gate::{Actor, Asks, CallerPolicy, Completion, Execute, OpenWorkspace, Origin, Session};
use yard_kernel::Workspace;
use yard_store::SqliteStore;

use crate::ChildWorkspace;
use crate::open_options::OpenOptions;

/// A test workspace, which is removed when it is dropped.
pub struct TestWorkspace {
    folders: Arc<Folders>,
    open: Arc<OpenWorkspace>,
    catalog: Catalog,
    world: Arc<dyn World>,
}

/// The root and the data folder of a test workspace. They remain while it is closed and opened again.
pub struct Folders {
    _home: TempDir,
    root: PathBuf,
    state: PathBuf,
}

impl Folders {
    /// An empty root and an empty data folder.
    pub fn new() -> Arc<Self> {
        Self::within(tempfile::tempdir().expect("a temporary folder"))
    }

    /// The same in memory, where a flush costs nothing: for thousands of histories that need no disk. If the memory file
    /// system has no creation times, they are on disk.
    pub fn in_memory() -> Arc<Self> {
        let home = tempfile::tempdir_in("/dev/shm").ok();
        let has_creation_times =
            |home: &TempDir| home.path().metadata().is_ok_and(|one| one.created().is_ok());
        home.filter(has_creation_times).map_or_else(Self::new, Self::within)
    }

    fn within(home: TempDir) -> Arc<Self> {
        let (root, state) = (home.path().join("root"), home.path().join("data/ws"));
        std::fs::create_dir_all(&root).expect("a root");
        std::fs::create_dir_all(&state).expect("a data folder");
        let root = root.canonicalize().expect("a canonical root");
        Arc::new(Self { _home: home, root, state })
    }

    /// The root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace's state folder.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Lets the history in the state folder go on with this root, as `toolyard adopt` does.
    pub fn adopt(&self) {
        let store = Arc::new(SqliteStore::open(&self.state).expect("the store opens"));
        let opening = OpenOptions::default().opening(&self.root, &self.state, store);
        yard_kernel::adopt(&opening).unwrap_or_else(|fault| panic!("not adopted: {fault}"));
    }

    /// Opens the workspace as another process does.
    pub fn open_as_child(&self, plan: OpenOptions) -> ChildWorkspace {
        let opened = ChildWorkspace::open(&self.root, &self.state, plan);
        opened.unwrap_or_else(|fault| panic!("the workspace does not open: {fault}"))
    }
}

impl Default for TestWorkspace {
    fn default() -> Self {
        Self::new()
    }
}

impl TestWorkspace {
    /// A new test workspace.
    pub fn new() -> Self {
        Self::open(&Folders::new(), OpenOptions::default()).expect("a fresh workspace opens")
    }

    /// A test workspace on existing folders.
    pub fn open(folders: &Arc<Folders>, plan: OpenOptions) -> Result<Self> {
        let (catalog, world) = (Catalog::standard(), Arc::clone(&plan.world));
        let open = plan.open(&folders.root, &folders.state, CALLER_HINTS)?;
        Ok(Self { folders: Arc::clone(folders), open, catalog, world })
    }

    /// Closes it and opens it again, as another process would.
    pub fn reopen(self) -> Self {
        self.reopen_as(OpenOptions::default())
    }

    /// The same, with options.
    pub fn reopen_as(self, plan: OpenOptions) -> Self {
        let folders = Arc::clone(&self.folders);
        drop(self);
        Self::open(&folders, plan).expect("a workspace opens again")
    }

    /// The directory that agents work in.
    pub fn root(&self) -> &Path {
        &self.folders.root
    }

    /// Root and data folder.
    pub fn folders(&self) -> &Arc<Folders> {
        &self.folders
    }

    /// The workspace of the kernel.
    pub fn kernel(&self) -> &Arc<Workspace> {
        &self.open.workspace
    }

    /// The open workspace with its records.
    pub fn opened(&self) -> &Arc<OpenWorkspace> {
        &self.open
    }

    /// The catalog that calls go to.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// A session of the local agent under the open policy.
    pub fn session(&self) -> Session {
        self.session_of(Actor::LocalAgent, CallerPolicy::Open)
    }

    /// A session of an actor.
    pub fn session_of(&self, actor: Actor, policy: CallerPolicy) -> Session {
        Session::new(Arc::clone(&self.open), actor, policy)
    }

    /// A session of the local person.
    pub fn person(&self) -> Session {
        self.session_of(Actor::LocalPerson, CallerPolicy::Open)
    }

    /// The context of one call.
    pub fn call_context(&self) -> Call {
        Call::new(Arc::clone(&self.world)).within_millis(120_000)
    }

    /// Calls a tool of the `workspace` dialect.
    pub fn call(&self, tool: &str, args: Value) -> Answer {
        self.call_of("workspace", tool, args)
    }

    /// Calls a tool of a dialect.
    pub fn call_of(&self, toolset: &str, tool: &str, args: Value) -> Answer {
        self.call_as(&self.session(), toolset, tool, args)
    }

    /// Calls a tool of a dialect in a session.
    pub fn call_as(&self, session: &Session, toolset: &str, tool: &str, args: Value) -> Answer {
        self.catalog.call(toolset, tool, args, session, &self.call_context())
    }

    /// Performs an operation through the gate.
    pub fn perform<O: Execute>(&self, op: O) -> Result<<O as Operation>::Answer> {
        let origin = Origin { toolset: "test", tool: O::VERB, asks: Asks::Never };
        match self.session().perform(origin, &self.call_context(), op)? {
            Completion::Done(answer) => Ok(answer),
            Completion::Pending(pending) => {
                panic!("nothing asks under the open policy: {pending:?}")
            }
        }
    }

    /// Writes a file as another program would.
    pub fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("its folders");
        std::fs::write(path, bytes).expect("a file");
    }

    /// The bytes of a file on disk.
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        let path = self.root().join(path.trim_start_matches('/'));
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether a path exists on disk.
    pub fn has(&self, path: &str) -> bool {
        self.root().join(path.trim_start_matches('/')).symlink_metadata().is_ok()
    }
}
