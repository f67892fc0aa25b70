//! The helper's process, as the server holds it: a socket for orders and reports, and the group that its
//! command is counted in.

#![allow(clippy::disallowed_methods, reason = "the sandbox is the one place that starts processes")]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::group::{Group, Groups};
use super::{HELPER, Order};

/// What the helper calls itself.
const NAME: &str = "toolyard";

/// A helper without an order. Dropped, it ends: the socket goes first, and nothing is left of it when its
/// group goes.
pub(super) struct Helper {
    pub(super) socket: UnixStream,
    pub(super) process: Reaped,
    pub(super) group: Option<Group>,
}

/// A helper that is waited for, whatever happens to who started it. Its socket must be closed before.
pub(super) struct Reaped(pub(super) Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

impl Helper {
    /// Starts one. Its group is made while its program is being loaded.
    pub(super) fn start(
        program: &Path,
        groups: Option<&Groups>,
        order: &Order<'_>,
    ) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let process = Command::new(program)
            // What it is called can be read in the box: where it is on this machine is nobody's business.
            .arg0(NAME)
            .arg(HELPER)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(words(order)?)
            .stderr(words(order)?)
            .spawn()?;
        let mut helper = Self { socket, process: Reaped(process), group: None };
        if let Some(groups) = groups {
            let group = helper.group.insert(groups.make()?);
            group.limit(&order.limits)?;
            group.take_in(helper.process.0.id())?;
        }
        Ok(helper)
    }
}

/// Where a command's words go.
fn words(order: &Order<'_>) -> io::Result<Stdio> {
    Ok(match order.terminal {
        Some(terminal) => Stdio::from(terminal.programs_end()?),
        None => Stdio::piped(),
    })
}
