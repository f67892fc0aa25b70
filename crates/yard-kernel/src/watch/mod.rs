//! Reports changes of the workspace by other programs, such as an editor or a shell.
//!
//! An event of the operating system is only a hint. Every path is checked before it is reported: a file that equals the
//! store's newest version was changed by a step, and so was a file that is gone because a step of any process removed it. A
//! reported change is not recorded yet: it becomes a version when the file is about to be overwritten, at undo, or at
//! `import`.
//!
//! Not reported are steps, changes in `.git` and in the staging folder, and changes of only the mode or times of a file.
//! Links are not followed. One thread checks paths by reading disk and store; it takes none of the locks that a writer waits
//! for. Without a [`Watch`] there is no thread and no cost.

mod events;
mod own_steps;
mod tree;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use yard_core::{Call, Fault, FaultCode, Result, World, WsPath};

use crate::workspace::Workspace;
use events::{EventQueue, Hint};
use own_steps::{Origin, StepFilter};
use tree::WatchedTree;

/// Paths are checked after this time without a hint.
const QUIET: Duration = Duration::from_millis(100);
/// If hints arrive without a pause, paths are checked after this number of milliseconds.
const MAX_GATHERING_MILLIS: i64 = 1_000;
/// Most paths of one report.
const MAX_BATCH: usize = 256;
/// Most paths that wait to be checked. If there are more, the next report sets `more`.
const MAX_WAITING: usize = 8_192;
/// Most hints in the queue to the watching thread.
const MAX_HINTS: usize = 16_384;
/// How often a path is checked again while a step is about to change it.
const MAX_CHECKS: u8 = 20;

/// Is called with changes by other programs.
pub type ChangeListener = Arc<dyn Fn(ExternalChanges) + Send + Sync>;

/// Changes by other programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalChanges {
    /// Files, folders and links that were created, changed or removed: at most 256, ordered by path.
    pub changed: Vec<WsPath>,
    /// Whether there were too many changes to name all of them: any other path may have changed.
    pub more: bool,
}

/// Watches the workspace until it is dropped.
pub struct Watch {
    stopped: Arc<AtomicBool>,
    wake: SyncSender<Hint>,
    thread: Option<JoinHandle<()>>,
}

impl Workspace {
    /// Begins to watch the folders below the root. `listener` is called on a thread of its own with changes by other
    /// programs. A fault if the operating system watches no more folders.
    pub fn watch(
        self: &Arc<Self>,
        world: Arc<dyn World>,
        listener: ChangeListener,
    ) -> Result<Watch> {
        let (wake, hints) = sync_channel(MAX_HINTS);
        let lost = Arc::new(AtomicBool::new(false));
        let events = EventQueue::new(self.host_root(), wake.clone(), Arc::clone(&lost));
        let call = Call::new(world);
        let mut tree = WatchedTree::new(events)?;
        tree.add_all(self, &WsPath::root(), &call, &mut |_| {})?;
        let stopped = call.cancel_flag();
        let own_steps = StepFilter::new(self)?;
        let workspace = Arc::downgrade(self);
        let watching = Watching {
            workspace,
            call,
            listener,
            tree,
            hints,
            lost,
            own_steps,
            waiting: BTreeMap::new(),
        };
        let thread = thread::Builder::new()
            .name("toolyard-watch".to_owned())
            .spawn(move || watching.run())
            .map_err(|error| Fault::new(FaultCode::Io, format!("no thread to watch: {error}")))?;
        Ok(Watch { stopped, wake, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // If the queue is full, the thread is awake and checks the flag.
        let _ = self.wake.try_send(Hint::Wake);
        // The listener may drop the watch, on the watching thread, which cannot wait for itself.
        let thread =
            self.thread.take().filter(|thread| thread.thread().id() != thread::current().id());
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// The first event of a path since it was last checked.
#[derive(Clone, Debug)]
enum PathEvent {
    /// The entry was created, or moved here.
    Added,
    /// The entry was found in this folder, which was created or moved here.
    FoundIn(WsPath),
    /// An existing entry was changed or removed.
    Changed,
}

#[derive(Clone, Debug)]
struct WaitingPath {
    event: PathEvent,
    checks: u8,
}

struct Watching {
    /// Weak, so that the workspace can be closed while it is watched.
    workspace: Weak<Workspace>,
    call: Call,
    listener: ChangeListener,
    tree: WatchedTree,
    hints: Receiver<Hint>,
    /// Hints were lost.
    lost: Arc<AtomicBool>,
    own_steps: StepFilter,
    waiting: BTreeMap<WsPath, WaitingPath>,
}

impl Watching {
    fn run(mut self) {
        while let Some(workspace) = self.gather().and_then(|()| self.workspace.upgrade()) {
            if self.lost.load(Ordering::Relaxed) {
                // The hints of new folders may be among the lost ones.
                self.watch_below(&workspace, &WsPath::root());
            }
            self.check_waiting(&workspace);
        }
    }

    /// Receives hints until none arrives for a while. `None` once the watch ends.
    fn gather(&mut self) -> Option<()> {
        if self.waiting.is_empty() {
            let hint = self.hints.recv().ok()?;
            self.add_hint(hint);
        }
        let until = self.call.world().now().as_millis() + MAX_GATHERING_MILLIS;
        loop {
            self.call.check().ok()?;
            match self.hints.recv_timeout(QUIET) {
                Ok(hint) => self.add_hint(hint),
                Err(RecvTimeoutError::Timeout) => return Some(()),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            if self.call.world().now().as_millis() > until {
                return Some(());
            }
        }
    }

    fn add_hint(&mut self, hint: Hint) {
        match hint {
            Hint::Added { path, maybe_folder } => {
                let workspace = self.workspace.upgrade().filter(|_| maybe_folder);
                let found = workspace.map(|workspace| self.watch_below(&workspace, &path));
                for below in found.unwrap_or_default() {
                    self.add_path(below, PathEvent::FoundIn(path.clone()));
                }
                self.add_path(path, PathEvent::Added);
            }
            Hint::Changed(path) => self.add_path(path, PathEvent::Changed),
            Hint::Wake => {}
        }
    }

    fn add_path(&mut self, path: WsPath, event: PathEvent) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.entry(path).or_insert(WaitingPath { event, checks: 0 });
        } else if !self.waiting.contains_key(&path) {
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    /// Watches a new folder and everything below it. Returns its entries, because there were no hints of those that it had
    /// before it was watched.
    fn watch_below(&mut self, workspace: &Workspace, folder: &WsPath) -> Vec<WsPath> {
        let mut found = Vec::new();
        let added = self.tree.add_all(workspace, folder, &self.call, &mut |path| {
            if found.len() <= MAX_WAITING {
                found.push(path);
            }
        });
        // Folders that could not be watched give no hints.
        if added.is_err() {
            self.lost.store(true, Ordering::Relaxed);
        }
        found
    }

    /// Checks all waiting paths, and reports those that other programs changed.
    fn check_waiting(&mut self, workspace: &Workspace) {
        let more = self.lost.swap(false, Ordering::Relaxed);
        let mut changed = Vec::new();
        self.own_steps.begin_round();
        for (path, mut waiting) in std::mem::take(&mut self.waiting) {
            if self.call.check().is_err() {
                return;
            }
            waiting.checks += 1;
            match self.own_steps.origin_of(workspace, &path, &waiting.event, &self.call) {
                Origin::Step => {}
                Origin::Pending if waiting.checks < MAX_CHECKS => {
                    self.waiting.insert(path, waiting);
                }
                Origin::External | Origin::Pending => changed.push(path),
            }
        }
        self.report(changed, more);
    }

    fn report(&self, changed: Vec<WsPath>, more: bool) {
        let mut batches: Vec<Vec<WsPath>> =
            changed.chunks(MAX_BATCH).map(<[WsPath]>::to_vec).collect();
        if more && batches.is_empty() {
            batches.push(Vec::new());
        }
        let last = batches.len();
        for (number, changed) in batches.into_iter().enumerate() {
            (self.listener)(ExternalChanges { changed, more: more && number + 1 == last });
        }
    }
}
