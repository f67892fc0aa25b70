//! Converts events of `notify` to hints with workspace paths. This runs on the thread that drains the system's queue, and so
//! never waits: if the queue of hints is full, a hint is dropped, and a flag says so.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use notify::event::{CreateKind, ModifyKind, RenameMode};
use notify::{Event, EventHandler, EventKind};
use yard_core::WsPath;

/// A folder of which nothing is reported.
pub(super) const IGNORED_FOLDER: &[u8] = yard_core::git::FOLDER;

/// A hint that an entry may have changed.
#[derive(Debug)]
pub(super) enum Hint {
    /// The entry was created, or moved here.
    Added { path: WsPath, maybe_folder: bool },
    /// An existing entry was changed or removed.
    Changed(WsPath),
    /// No entry: only wakes the watching thread.
    Wake,
}

/// The sending end of the queue of hints.
pub(super) struct EventQueue {
    root: PathBuf,
    hints: SyncSender<Hint>,
    lost: Arc<AtomicBool>,
}

impl EventQueue {
    pub(super) fn new(root: &[u8], hints: SyncSender<Hint>, lost: Arc<AtomicBool>) -> Self {
        let root = Path::new(std::ffi::OsStr::from_bytes(root)).to_owned();
        Self { root, hints, lost }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The path in the workspace, if changes of it are reported. Changes of the root itself are not: the workspace has an open
    /// handle of it, whatever its path is now.
    fn reported_path(&self, path: &Path) -> Option<WsPath> {
        let below = path.strip_prefix(&self.root).ok()?.as_os_str().as_bytes();
        let path = WsPath::from_bytes(below).ok()?;
        let is_ignored =
            path.is_root() || path.names().any(|name| name.as_bytes() == IGNORED_FOLDER);
        (!is_ignored).then_some(path)
    }

    fn send(&self, hint: Hint) {
        if self.hints.try_send(hint).is_err() {
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    fn note_lost(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.send(Hint::Wake);
    }
}

impl EventHandler for EventQueue {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        let Ok(event) = event else { return self.note_lost() };
        if event.need_rescan() {
            return self.note_lost();
        }
        let Some(to_hint) = hint_for(event.kind) else { return };
        for path in event.paths.iter().filter_map(|path| self.reported_path(path)) {
            self.send(to_hint(path));
        }
    }
}

/// Makes the hint of a kind of event; `None` if the event is no change.
fn hint_for(kind: EventKind) -> Option<fn(WsPath) -> Hint> {
    match kind {
        // Both ends of a move have events of their own.
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => None,
        EventKind::Create(CreateKind::File) => {
            Some(|path| Hint::Added { path, maybe_folder: false })
        }
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
            Some(|path| Hint::Added { path, maybe_folder: true })
        }
        EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Any | EventKind::Other => {
            Some(Hint::Changed)
        }
    }
}
