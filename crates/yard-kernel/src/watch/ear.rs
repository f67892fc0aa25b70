//! What the operating system says, in our words. It runs on the thread that drains the system's queue,
//! so it never waits: what there is no room for is lost, and known to be.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use notify::event::{CreateKind, ModifyKind, RenameMode};
use notify::{Event, EventHandler, EventKind};
use yard_core::WsPath;

/// A folder that nothing is told of.
pub(super) const UNTOLD: &[u8] = b".git";

/// One hint.
#[derive(Debug)]
pub(super) enum Heard {
    /// Something came to be, or was moved here.
    Came { path: WsPath, maybe_folder: bool },
    /// Something that was here changed, or went.
    Changed(WsPath),
    /// Look around.
    Nothing,
}

pub(super) struct Ear {
    root: PathBuf,
    hints: SyncSender<Heard>,
    lost: Arc<AtomicBool>,
}

impl Ear {
    pub(super) fn new(root: &[u8], hints: SyncSender<Heard>, lost: Arc<AtomicBool>) -> Self {
        let root = Path::new(std::ffi::OsStr::from_bytes(root)).to_owned();
        Self { root, hints, lost }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The path in the workspace, if anything is told of it. Of the root itself nothing is: whatever it
    /// is called by now, the workspace has a handle on it.
    fn told_of(&self, path: &Path) -> Option<WsPath> {
        let below = path.strip_prefix(&self.root).ok()?.as_os_str().as_bytes();
        let path = WsPath::from_bytes(below).ok()?;
        let untold = path.is_root() || path.names().any(|name| name.as_bytes() == UNTOLD);
        (!untold).then_some(path)
    }

    fn send(&self, heard: Heard) {
        if self.hints.try_send(heard).is_err() {
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.send(Heard::Nothing);
    }
}

impl EventHandler for Ear {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        let Ok(event) = event else { return self.lose() };
        if event.need_rescan() {
            return self.lose();
        }
        let Some(in_words) = words(event.kind) else { return };
        for path in event.paths.iter().filter_map(|path| self.told_of(path)) {
            self.send(in_words(path));
        }
    }
}

/// What a kind of event says of its paths; `None` if nothing that counts.
fn words(kind: EventKind) -> Option<fn(WsPath) -> Heard> {
    match kind {
        // That somebody opened or closed a file; and both ends of a move, which were told already.
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => None,
        EventKind::Create(CreateKind::File) => {
            Some(|path| Heard::Came { path, maybe_folder: false })
        }
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
            Some(|path| Heard::Came { path, maybe_folder: true })
        }
        EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Any | EventKind::Other => {
            Some(Heard::Changed)
        }
    }
}
