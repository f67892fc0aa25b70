//! Where there is no box: nothing runs, unless the operator configured that it may run unconfined, which
//! this platform does not offer either.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use yard_core::Call;

use super::{Cache, Ended, Finding, Hear, Level, Order, Size, Waiting, Wish};

/// Refuses every command.
#[derive(Clone)]
pub struct Sandbox {
    findings: Vec<Finding>,
}

impl Sandbox {
    /// Nothing to find out.
    pub fn probe(_: PathBuf, _: Wish) -> Self {
        let finding = Finding {
            name: "Linux",
            ok: false,
            needed: true,
            found: "commands run in a box on Linux only".to_owned(),
            remedy: "run the server on Linux".to_owned(),
        };
        Self { findings: vec![finding] }
    }

    /// Always [`Level::Refuse`].
    pub fn level(&self) -> Level {
        Level::Refuse
    }

    /// Why.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// No command works on any folder.
    pub fn finding_about(&self, _: &Path) -> Finding {
        Finding { name: "this folder", ..self.findings[0].clone() }
    }

    /// No file system is at fault.
    pub(crate) fn unfit_file_system(&self, _: &io::Error, _: &Path) -> Option<String> {
        None
    }

    /// No box has any.
    pub fn caches(&self) -> &[Cache] {
        &[]
    }

    /// Nothing is shown, so that nothing is covered.
    pub fn masked(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Refuses.
    pub fn run(&self, _: &Order<'_>, _: &Call, _: &mut dyn Hear) -> io::Result<Ended> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// There is no helper.
pub fn inner(_: Option<&str>) -> ExitCode {
    ExitCode::FAILURE
}

/// No file is handed over.
pub(crate) fn send_file(_: &UnixStream, _: BorrowedFd<'_>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// No file is handed over.
pub(crate) fn receive_file(_: &UnixStream) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// There is no network of a box.
#[derive(Clone, Debug)]
pub enum BoxNetwork {}

impl BoxNetwork {
    /// Of none.
    pub fn listening(&self) -> io::Result<Vec<SocketAddr>> {
        match *self {}
    }

    /// Of none.
    pub fn connect(&self, _: SocketAddr) -> io::Result<TcpStream> {
        match *self {}
    }

    /// Of none.
    pub fn listen(&self, _: u16) -> io::Result<TcpListener> {
        match *self {}
    }
}

/// There is no terminal.
#[derive(Debug)]
pub enum Pty {}

impl Pty {
    /// Refuses.
    pub fn open(_: Size) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Of none.
    pub fn resize(&self, _: Size) -> io::Result<()> {
        match *self {}
    }

    /// Of none.
    pub fn speaks_within(&self, _: i64) -> bool {
        match *self {}
    }

    /// Of none.
    pub fn hear(&self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    /// Of none.
    pub fn types(&self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    /// Of none.
    pub fn has_room_within(&self, _: i64) -> bool {
        match *self {}
    }

    /// Of none.
    pub fn takes_lines(&self) -> bool {
        match *self {}
    }

    /// Of none.
    pub fn echoes(&self) -> bool {
        match *self {}
    }

    /// Of none.
    pub fn waiting(&self) -> Waiting {
        match *self {}
    }
}
