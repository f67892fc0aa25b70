//! Tells of changes that were made behind our back: by an editor, a shell, another program.
//!
//! What the operating system says is a hint. Every path of it is looked at before it is told: a file
//! that is what the store's newest version says is ours, and so is one that is gone because a step took
//! it away, whichever process made the step. What is told is no promise that the store knows of it: it
//! becomes a version when something is about to be written over it, at undo, or at `import`.
//!
//! Never told: our own steps, what happens in `.git`, the staging folder, and what changes a file's mode
//! or times alone. Links are not followed. One thread looks, on the read path of disk and store; it takes
//! none of the locks that a writer waits for. Without a [`Watch`] there is no thread and no cost.

mod ear;
mod own;
mod tree;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use yard_core::{Call, Fault, FaultCode, Result, World, WsPath};

use crate::workspace::Workspace;
use ear::{Ear, Heard};
use own::{Own, Verdict};
use tree::Tree;

/// After so much silence, what was heard is looked at.
const QUIET: Duration = Duration::from_millis(100);
/// What goes on without a pause is looked at after so many milliseconds.
const PATIENCE: i64 = 1_000;
/// Most paths that are told at once.
const BATCH: usize = 256;
/// Most paths that wait to be looked at; what comes on top is told as `more`.
const WAITING: usize = 8_192;
/// Most hints between the operating system's thread and ours.
const HINTS: usize = 16_384;
/// How often a path is looked at that a step is just about to change.
const LOOKS: u8 = 20;

/// Hears of changes that were made behind our back.
pub type Told = Arc<dyn Fn(Outside) + Send + Sync>;

/// Changes that were made behind our back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// Files, folders and links that came to be, changed or went: at most 256, ordered by path.
    pub changed: Vec<WsPath>,
    /// Others changed that cannot be named, because there were too many: look at everything again.
    pub more: bool,
}

/// Watches for as long as it is held.
pub struct Watch {
    stopped: Arc<AtomicBool>,
    wake: SyncSender<Heard>,
    thread: Option<JoinHandle<()>>,
}

impl Workspace {
    /// Begins to watch the folders below the root, and tells `told` of what others change there, on a
    /// thread of its own. A fault where the operating system watches no more folders.
    pub fn watch(self: &Arc<Self>, world: Arc<dyn World>, told: Told) -> Result<Watch> {
        let (wake, hints) = sync_channel(HINTS);
        let lost = Arc::new(AtomicBool::new(false));
        let ear = Ear::new(self.host_root(), wake.clone(), Arc::clone(&lost));
        let call = Call::new(world);
        let mut tree = Tree::new(ear)?;
        tree.cover(self, &WsPath::root(), &call, &mut |_| {})?;
        let stopped = call.cancel_flag();
        let own = Own::new(self)?;
        let workspace = Arc::downgrade(self);
        let watching =
            Watching { workspace, call, told, tree, hints, lost, own, waiting: BTreeMap::new() };
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
        // Where there is no room, the thread is awake and sees the flag.
        let _ = self.wake.try_send(Heard::Nothing);
        // Whoever is told may drop the watch: a thread cannot wait for itself.
        let thread =
            self.thread.take().filter(|thread| thread.thread().id() != thread::current().id());
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// What was first heard of a path since it was last looked at.
#[derive(Clone, Debug)]
enum How {
    /// It came to be, or to its place.
    Came,
    /// It was found in this folder, which came to be or to its place.
    FoundIn(WsPath),
    /// It changed or went: it had been there before.
    Changed,
}

#[derive(Clone, Debug)]
struct Waiting {
    how: How,
    looks: u8,
}

struct Watching {
    /// Not held while nothing is looked at: the workspace may be closed under a watch.
    workspace: Weak<Workspace>,
    call: Call,
    told: Told,
    tree: Tree,
    hints: Receiver<Heard>,
    /// Hints were lost.
    lost: Arc<AtomicBool>,
    own: Own,
    waiting: BTreeMap<WsPath, Waiting>,
}

impl Watching {
    fn run(mut self) {
        while let Some(workspace) = self.gather().and_then(|()| self.workspace.upgrade()) {
            if self.lost.load(Ordering::Relaxed) {
                // Folders may have come unheard.
                self.cover(&workspace, &WsPath::root());
            }
            self.look(&workspace);
        }
    }

    /// Takes hints until there are none for a while; `None` once the watch ends.
    fn gather(&mut self) -> Option<()> {
        if self.waiting.is_empty() {
            let heard = self.hints.recv().ok()?;
            self.take(heard);
        }
        let until = self.call.world().now().as_millis() + PATIENCE;
        loop {
            self.call.check().ok()?;
            match self.hints.recv_timeout(QUIET) {
                Ok(heard) => self.take(heard),
                Err(RecvTimeoutError::Timeout) => return Some(()),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            if self.call.world().now().as_millis() > until {
                return Some(());
            }
        }
    }

    fn take(&mut self, heard: Heard) {
        match heard {
            Heard::Came { path, maybe_folder } => {
                let workspace = self.workspace.upgrade().filter(|_| maybe_folder);
                let found = workspace.map(|workspace| self.cover(&workspace, &path));
                for below in found.unwrap_or_default() {
                    self.wait_for(below, How::FoundIn(path.clone()));
                }
                self.wait_for(path, How::Came);
            }
            Heard::Changed(path) => self.wait_for(path, How::Changed),
            Heard::Nothing => {}
        }
    }

    fn wait_for(&mut self, path: WsPath, how: How) {
        if self.waiting.len() < WAITING {
            self.waiting.entry(path).or_insert(Waiting { how, looks: 0 });
        } else if !self.waiting.contains_key(&path) {
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    /// Watches a folder that came, with everything below it. What was in it before it was watched was
    /// heard by nobody: it is looked for.
    fn cover(&mut self, workspace: &Workspace, folder: &WsPath) -> Vec<WsPath> {
        let mut found = Vec::new();
        let covered = self.tree.cover(workspace, folder, &self.call, &mut |path| {
            if found.len() <= WAITING {
                found.push(path);
            }
        });
        // What is watched already stays so; the rest changes unheard.
        if covered.is_err() {
            self.lost.store(true, Ordering::Relaxed);
        }
        found
    }

    /// Looks at all that waits, and tells of what others did.
    fn look(&mut self, workspace: &Workspace) {
        let more = self.lost.swap(false, Ordering::Relaxed);
        let mut changed = Vec::new();
        self.own.begin();
        for (path, mut waiting) in std::mem::take(&mut self.waiting) {
            if self.call.check().is_err() {
                return;
            }
            waiting.looks += 1;
            match self.own.judge(workspace, &path, &waiting.how, &self.call) {
                Verdict::Ours => {}
                Verdict::Unsettled if waiting.looks < LOOKS => {
                    self.waiting.insert(path, waiting);
                }
                Verdict::Outside | Verdict::Unsettled => changed.push(path),
            }
        }
        self.tell(changed, more);
    }

    fn tell(&self, changed: Vec<WsPath>, more: bool) {
        let mut batches: Vec<Vec<WsPath>> = changed.chunks(BATCH).map(<[WsPath]>::to_vec).collect();
        if more && batches.is_empty() {
            batches.push(Vec::new());
        }
        let last = batches.len();
        for (number, changed) in batches.into_iter().enumerate() {
            (self.told)(Outside { changed, more: more && number + 1 == last });
        }
    }
}
