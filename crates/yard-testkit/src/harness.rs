//! Failure injection: a trigger for the n-th call, and a disk that fails then. Snapshots of folders as another program
//! sees them, short constructors of operations, and the workspace of a child process.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use yard_core::op::{self, Operation};
use yard_core::{Call, ContentHash, Result, World, WsPath};
use yard_disk::{DiskCall, Probe};
use yard_gate::{
    Actor, Asks, Completion, Execute, OpenWorkspace, Origin, Policy, Session, TranscriptFiles,
};
use yard_kernel::{Opening, Workspace};
use yard_store::SqliteStore;

use crate::OpenOptions;

/// Whether the tests run with their full counts.
pub fn soak() -> bool {
    std::env::var_os("YARD_SOAK").is_some_and(|value| value == "1")
}

/// The full count in a soak, a tenth of it in an ordinary run.
pub fn scaled(full: usize) -> usize {
    if soak() { full } else { full.div_ceil(10) }
}

/// Which calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailingCalls {
    /// Only the chosen one.
    Once,
    /// The chosen one and all later ones.
    Onwards,
}

/// Counts calls and decides which of them fail.
#[derive(Debug, Default)]
pub struct FailureTrigger {
    plan: Mutex<Option<(u64, FailingCalls)>>,
    calls: AtomicU64,
    failed: AtomicU64,
}

impl FailureTrigger {
    /// A trigger that is not armed.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The `nth` call from now (counted from 0) fails.
    pub fn arm(&self, nth: u64, reach: FailingCalls) {
        let mut plan = self.plan.lock();
        self.calls.store(0, Ordering::SeqCst);
        self.failed.store(0, Ordering::SeqCst);
        *plan = Some((nth, reach));
    }

    /// Disarms it. Returns how many calls failed.
    pub fn disarm(&self) -> u64 {
        *self.plan.lock() = None;
        self.failed.load(Ordering::SeqCst)
    }

    /// Counts a call. Whether it has to fail.
    pub fn call(&self) -> bool {
        let plan = self.plan.lock();
        let Some((nth, reach)) = *plan else { return false };
        let now = self.calls.fetch_add(1, Ordering::SeqCst);
        let fails = match reach {
            FailingCalls::Once => now == nth,
            FailingCalls::Onwards => now >= nth,
        };
        if fails {
            self.failed.fetch_add(1, Ordering::SeqCst);
        }
        fails
    }
}

/// How a triggered disk call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFailure {
    /// It returns this error number.
    Errno(i32),
    /// The process ends at once, as in a power cut.
    Abort,
    /// The thread panics.
    Panic,
}

/// A disk whose n-th call fails.
#[derive(Debug)]
pub struct FailingProbe {
    trigger: Arc<FailureTrigger>,
    failure: InjectedFailure,
    last: Mutex<Option<DiskCall>>,
}

impl FailingProbe {
    /// Disk calls that fail as `trigger` says.
    pub fn new(trigger: Arc<FailureTrigger>, failure: InjectedFailure) -> Self {
        Self { trigger, failure, last: Mutex::default() }
    }

    /// The first call that failed since it was armed.
    pub fn last(&self) -> Option<DiskCall> {
        *self.last.lock()
    }
}

impl Probe for FailingProbe {
    fn before(&self, call: DiskCall) -> io::Result<()> {
        if !self.trigger.call() {
            return Ok(());
        }
        self.last.lock().get_or_insert(call);
        match self.failure {
            InjectedFailure::Errno(errno) => Err(io::Error::from_raw_os_error(errno)),
            InjectedFailure::Abort => std::process::abort(),
            InjectedFailure::Panic => panic!("on purpose"),
        }
    }
}

/// One entry of a directory as any program sees it; times are left out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntrySnapshot {
    /// A directory and its mode.
    Folder(u32),
    /// A file, its mode and its bytes.
    File(u32, Vec<u8>),
    /// A link and its target.
    Link(Vec<u8>),
    /// Anything else.
    Other,
}

impl std::fmt::Debug for EntrySnapshot {
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

/// The entries below a folder, by relative path.
pub type FolderSnapshot = BTreeMap<String, EntrySnapshot>;

/// A snapshot of everything below `root`.
pub fn tree(root: &Path) -> FolderSnapshot {
    let mut found = FolderSnapshot::new();
    read_folder(root, "", &mut found);
    found
}

fn read_folder(folder: &Path, prefix: &str, found: &mut FolderSnapshot) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let entry = entry.expect("an entry");
        let name = format!("{prefix}/{}", entry.file_name().as_bytes().escape_ascii());
        let path = entry.path();
        let meta = path.symlink_metadata().expect("its metadata");
        let mode = meta.permissions().mode() & 0o7777;
        let kind = meta.file_type();
        let seen = if kind.is_dir() {
            read_folder(&path, &name, found);
            EntrySnapshot::Folder(mode)
        } else if kind.is_file() {
            EntrySnapshot::File(mode, std::fs::read(&path).expect("its bytes"))
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).expect("its target");
            EntrySnapshot::Link(target.as_os_str().as_bytes().to_vec())
        } else {
            EntrySnapshot::Other
        };
        found.insert(name, seen);
    }
}

/// Copies a folder with modes and links into an existing one.
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

/// The entries of the staging folder below a state folder, or below a root that has its own.
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

/// A write that replaces an existing file.
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

/// A move to a path, or into a folder.
pub fn mv(from: &str, to: &str) -> op::Move {
    op::Move { from: at(from), to: at(to), into_folder: false, on_existing: op::OnExisting::Refuse }
}

/// A removal with everything below.
pub fn rm(path: &str) -> op::Remove {
    op::Remove { path: at(path), on_folder: op::OnFolder::WithContents }
}

/// The workspace of a child process, whose folders belong to the parent.
#[derive(Clone)]
pub struct ChildWorkspace {
    open: Arc<OpenWorkspace>,
    world: Arc<dyn World>,
}

impl ChildWorkspace {
    /// Opens the workspace at `root` with its state in `state`, as `plan` says.
    pub fn open(root: &Path, state: &Path, plan: OpenOptions) -> Result<Self> {
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

    /// Verifies the history and panics on damage. Returns the paths that other programs changed.
    pub fn verified(&self) -> Vec<String> {
        let found = self.perform(op::Verify).unwrap_or_else(|fault| panic!("verify: {fault}"));
        assert!(found.problems.is_empty(), "verify: {:?}", found.problems);
        found.unsynced.iter().map(ToString::to_string).collect()
    }
}
