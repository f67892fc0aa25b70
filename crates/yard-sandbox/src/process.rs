//! The helper's process, as the server holds it: a socket for its task and its reports, and the control group of its
//! command.

#![allow(clippy::disallowed_methods, reason = "the sandbox is the one place that starts processes")]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::group::{Group, Groups};
use crate::{CommandSpec, HELPER};

/// The name of the helper's process.
const NAME: &str = "toolyard";

/// A helper that has no task yet. Dropping it closes the socket first, which ends the process, and then removes the
/// group.
pub(crate) struct Helper {
    pub(crate) socket: UnixStream,
    pub(crate) process: Reaped,
    pub(crate) group: Option<Group>,
}

/// A process that is waited for when this is dropped. Its socket must be closed before.
pub(crate) struct Reaped(pub(crate) Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

impl Helper {
    /// Starts a helper. Its group is made while its program is being loaded.
    pub(crate) fn start(
        program: &Path,
        groups: Option<&Groups>,
        spec: &CommandSpec<'_>,
    ) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let process = Command::new(program)
            // Processes in the box can read this name, which must not reveal a path of the host.
            .arg0(NAME)
            .arg(HELPER)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(output_end(spec)?)
            .stderr(output_end(spec)?)
            .spawn()?;
        let mut helper = Self { socket, process: Reaped(process), group: None };
        if let Some(groups) = groups {
            let group = helper.group.insert(groups.make()?);
            group.limit(&spec.limits)?;
            group.add_process(helper.process.0.id())?;
        }
        Ok(helper)
    }
}

/// Where a command writes its output.
fn output_end(spec: &CommandSpec<'_>) -> io::Result<Stdio> {
    Ok(match spec.terminal {
        Some(terminal) => Stdio::from(terminal.programs_end()?),
        None => Stdio::piped(),
    })
}
