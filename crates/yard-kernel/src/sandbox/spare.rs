//! Helpers that wait for an order: started, and moved into their control group, before anybody asks. The
//! first of these takes the time of an exec, the second that of all processors passing a quiet moment.
//!
//! One thread starts them all and lives as long as the sandbox does: a helper ends with the thread that
//! started it. A spare that gets no order ends when its socket closes.

#![allow(clippy::disallowed_methods, reason = "the sandbox is the one place that starts processes")]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::HELPER;
use super::group::{Group, Groups};

/// A helper without an order. Dropped, it ends: the socket goes first, and nothing is left of it when its
/// group goes.
pub(super) struct Waiting {
    pub(super) socket: UnixStream,
    pub(super) helper: Reaped,
    pub(super) group: Option<Group>,
}

/// A helper that is waited for, whatever happens to who started it. Its socket must be closed before.
pub(super) struct Reaped(pub(super) Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

impl Waiting {
    /// Starts one.
    pub(super) fn start(program: &Path, groups: Option<&Groups>) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let helper = Command::new(program)
            .arg(HELPER)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut waiting = Self { socket, helper: Reaped(helper), group: None };
        if let Some(groups) = groups {
            waiting.group = Some(groups.join(waiting.helper.0.id())?);
        }
        Ok(waiting)
    }
}

/// A few helpers that wait.
pub(super) struct Spares {
    ready: Arc<Mutex<Vec<Waiting>>>,
    /// Each word asks for one more; none is left when this is dropped.
    asks: Option<Sender<()>>,
    starter: Option<JoinHandle<()>>,
}

impl Spares {
    /// Keeps `count` of them ready.
    pub(super) fn keep(count: usize, program: PathBuf, groups: Option<Arc<Groups>>) -> Self {
        let ready: Arc<Mutex<Vec<Waiting>>> = Arc::default();
        let (asks, asked) = channel();
        for _ in 0..count {
            let _ = asks.send(());
        }
        let shelf = Arc::clone(&ready);
        let starter = move || fill(&asked, &shelf, &program, groups.as_deref());
        let starter = thread::Builder::new().name("box-spares".to_owned()).spawn(starter).ok();
        Self { ready, asks: Some(asks), starter }
    }

    /// One that waits, if there is one; another takes its place.
    pub(super) fn take(&self) -> Option<Waiting> {
        let mut waiting = self.ready.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        if let Some(asks) = &self.asks {
            let _ = asks.send(());
        }
        // One that somebody ended meanwhile is no good.
        let waits = matches!(waiting.helper.0.try_wait(), Ok(None));
        waits.then_some(waiting)
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(starter) = self.starter.take() {
            let _ = starter.join();
        }
    }
}

fn fill(
    asked: &Receiver<()>,
    shelf: &Mutex<Vec<Waiting>>,
    program: &Path,
    groups: Option<&Groups>,
) {
    while asked.recv().is_ok() {
        // Whoever finds none starts one, and hears why it cannot be.
        if let Ok(waiting) = Waiting::start(program, groups) {
            shelf.lock().unwrap_or_else(PoisonError::into_inner).push(waiting);
        }
    }
}
