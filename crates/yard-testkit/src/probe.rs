//! A fuse that blows at the n-th call, a disk that fails when it does, and how tests look at a yard from
//! outside: without the kernel, as another program would.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use yard_core::op::{self, Operation};
use yard_core::{Call, ContentHash, Result, World, WsPath};
use yard_disk::{DiskCall, Probe};
use yard_gate::{
    Actor, Asks, Completion, Execute, OpenWorkspace, Origin, Policy, Session, TranscriptFiles,
};
use yard_kernel::{Opening, Workspace};
use yard_store::SqliteStore;

use crate::Plan;

/// Whether the full counts are asked for.
pub fn soak() -> bool {
    std::env::var_os("YARD_SOAK").is_some_and(|value| value == "1")
}

/// A count: all of it in a soak, a tenth in a plain run.
pub fn scaled(full: usize) -> usize {
    if soak() { full } else { full.div_ceil(10) }
}

/// Which calls after the chosen one fail too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only that one.
    Once,
    /// That one and every later one.
    Onwards,
}

/// Counts calls, and says which of them must fail.
#[derive(Debug, Default)]
pub struct Fuse {
    armed: Mutex<Option<(u64, Reach)>>,
    calls: AtomicU64,
    blown: AtomicU64,
}

impl Fuse {
    /// A fuse that never blows until it is armed.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The `nth` call from now (counted from 0) fails.
    pub fn arm(&self, nth: u64, reach: Reach) {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        self.calls.store(0, Ordering::SeqCst);
        self.blown.store(0, Ordering::SeqCst);
        *armed = Some((nth, reach));
    }

    /// Nothing fails any more; how many calls did.
    pub fn disarm(&self) -> u64 {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.blown.load(Ordering::SeqCst)
    }

    /// One call: whether it must fail.
    pub fn call(&self) -> bool {
        let armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((nth, reach)) = *armed else { return false };
        let now = self.calls.fetch_add(1, Ordering::SeqCst);
        let blows = match reach {
            Reach::Once => now == nth,
            Reach::Onwards => now >= nth,
        };
        if blows {
            self.blown.fetch_add(1, Ordering::SeqCst);
        }
        blows
    }
}

/// What a blown fuse does to a disk call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// It answers this error number.
    Errno(i32),
    /// The process ends at once, as by a power cut.
    Abort,
    /// The thread panics.
    Panic,
}

/// A disk whose n-th call fails.
#[derive(Debug)]
pub struct FailingProbe {
    fuse: Arc<Fuse>,
    blow: Blow,
    last: Mutex<Option<DiskCall>>,
}

impl FailingProbe {
    /// Disk calls that fail as `fuse` says.
    pub fn new(fuse: Arc<Fuse>, blow: Blow) -> Self {
        Self { fuse, blow, last: Mutex::default() }
    }

    /// The first call that failed last time.
    pub fn last(&self) -> Option<DiskCall> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Probe for FailingProbe {
    fn before(&self, call: DiskCall) -> io::Result<()> {
        if !self.fuse.call() {
            return Ok(());
        }
        self.last.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(call);
        match self.blow {
            Blow::Errno(errno) => Err(io::Error::from_raw_os_error(errno)),
            Blow::Abort => std::process::abort(),
            Blow::Panic => panic!("on purpose"),
        }
    }
}

/// One entry of a directory as any program sees it; times are left out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// A directory and its mode.
    Folder(u32),
    /// A file, its mode and its bytes.
    File(u32, Vec<u8>),
    /// A link and its target.
    Link(Vec<u8>),
    /// Anything else.
    Other,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(mode) => write!(f, "folder {mode:o}"),
            Self::File(mode, bytes) => {
                let text = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
                write!(f, "file {mode:o} {} bytes {text:?}", bytes.len())
            }
            Self::Link(target) => write!(f, "link {:?}", String::from_utf8_lossy(target)),
            Self::Other => write!(f, "special"),
        }
    }
}

/// Everything below a directory, by its path relative to it.
pub type Tree = BTreeMap<String, Seen>;

/// Everything below `root`.
pub fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    look(root, "", &mut found);
    found
}

fn look(folder: &Path, prefix: &str, found: &mut Tree) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let entry = entry.expect("an entry");
        let name = format!("{prefix}/{}", entry.file_name().as_bytes().escape_ascii());
        let path = entry.path();
        let meta = path.symlink_metadata().expect("its metadata");
        let mode = meta.permissions().mode() & 0o7777;
        let kind = meta.file_type();
        let seen = if kind.is_dir() {
            look(&path, &name, found);
            Seen::Folder(mode)
        } else if kind.is_file() {
            Seen::File(mode, std::fs::read(&path).expect("its bytes"))
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).expect("its target");
            Seen::Link(target.as_os_str().as_bytes().to_vec())
        } else {
            Seen::Other
        };
        found.insert(name, seen);
    }
}

/// Copies a directory with modes and links into one that exists.
pub fn copy_tree(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a readable folder") {
        let entry = entry.expect("an entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let meta = source.symlink_metadata().expect("its metadata");
        if meta.is_dir() {
            let _ = std::fs::create_dir(&target);
            copy_tree(&source, &target);
            std::fs::set_permissions(&target, meta.permissions()).expect("its mode");
        } else if meta.is_symlink() {
            let link = std::fs::read_link(&source).expect("its target");
            std::os::unix::fs::symlink(link, &target).expect("a link");
        } else {
            std::fs::copy(&source, &target).expect("a copy");
        }
    }
}

/// What is in the staging folder below a state folder (or a root that has its own).
pub fn staged(home: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(home.join("stage")) else { return Vec::new() };
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

/// A path of the workspace.
pub fn at(path: &str) -> WsPath {
    WsPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A write that replaces what is there.
pub fn write(path: &str, content: impl AsRef<[u8]>, expected: Option<ContentHash>) -> op::Write {
    op::Write {
        path: at(path),
        content: content.as_ref().to_vec(),
        json: false,
        file_type: None,
        on_existing: op::OnExisting::Replace,
        on_missing_folder: op::OnMissingFolder::Make,
        expected,
    }
}

/// An insertion of whole lines.
pub fn insert(path: &str, line: u64, text: &str) -> op::Edit {
    let action = op::EditAction::Insert { line, text: text.to_owned() };
    op::Edit { path: at(path), actions: vec![action], expected: None }
}

/// A replacement of one text by another.
pub fn replace(path: &str, old: &str, new: &str) -> op::Edit {
    let action = op::EditAction::Replace { old: old.to_owned(), new: new.to_owned(), all: false };
    op::Edit { path: at(path), actions: vec![action], expected: None }
}

/// A move to exactly that path (or into that folder).
pub fn mv(from: &str, to: &str) -> op::Move {
    op::Move { from: at(from), to: at(to), into_folder: false, on_existing: op::OnExisting::Refuse }
}

/// A removal with everything below.
pub fn rm(path: &str) -> op::Remove {
    op::Remove { path: at(path), on_folder: op::OnFolder::WithContents }
}

/// One process's hand on a workspace whose folders belong to somebody else: what a child process has.
#[derive(Clone)]
pub struct Hand {
    open: Arc<OpenWorkspace>,
    world: Arc<dyn World>,
}

impl Hand {
    /// Opens the workspace at `root` with its state in `state`, as `plan` says.
    pub fn open(root: &Path, state: &Path, plan: Plan) -> Result<Self> {
        let store = SqliteStore::open(state).unwrap_or_else(|error| panic!("the store: {error}"));
        let store = Arc::new(store);
        let world = Arc::clone(&plan.world);
        let workspace = Workspace::open(Opening {
            root: root.to_owned(),
            state_dir: state.to_owned(),
            store: (plan.store)(Arc::clone(&store)),
            limits: plan.limits,
            world: plan.world,
            probe: plan.probe,
            resolution: plan.resolution,
            virtual_files: Some(TranscriptFiles::new(Arc::clone(&store) as _)),
            boxed: None,
        })?;
        Ok(Self {
            open: OpenWorkspace::new(Arc::new(workspace), store, yard_dialects::CALLER_HINTS),
            world,
        })
    }

    /// Performs an operation through the gate.
    pub fn perform<O: Execute>(&self, op: O) -> Result<<O as Operation>::Answer> {
        let session = Session::new(Arc::clone(&self.open), Actor::LocalAgent, Policy::Open);
        let call = Call::new(Arc::clone(&self.world)).within_millis(120_000);
        let origin = Origin { toolset: "test", tool: O::VERB, asks: Asks::Never };
        match session.perform(origin, &call, op)? {
            Completion::Done(answer) => Ok(answer),
            Completion::Pending(pending) => {
                panic!("nothing asks under the open policy: {pending:?}")
            }
        }
    }

    /// Steps, newest first.
    pub fn history(&self, path: Option<&str>, limit: usize) -> Vec<op::HistoryEntry> {
        let of = path.map_or(op::HistoryOf::Workspace, |path| op::HistoryOf::Path(at(path)));
        let history = op::History { of, limit, before: None };
        self.perform(history).unwrap_or_else(|fault| panic!("history: {fault}")).steps
    }

    /// Checks everything; panics on damage. What changed behind the store's back.
    pub fn verified(&self) -> Vec<String> {
        let found = self.perform(op::Verify).unwrap_or_else(|fault| panic!("verify: {fault}"));
        assert!(found.problems.is_empty(), "verify: {:?}", found.problems);
        found.unsynced.iter().map(ToString::to_string).collect()
    }
}
