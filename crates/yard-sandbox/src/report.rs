//! The reports of the helper to the server, over the helper's socket and never among the command's output. A report is
//! in the format of `postcard`, which shows where it ends.

use std::fmt;
use std::io::{self, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use crate::{Exit, handles};

/// Most bytes of a report.
const MAX_BYTES: usize = 16;

/// One report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The box could not be made: at this step, for this reason.
    Broken(Step, i32),
    /// The command could not be started, for this reason.
    NotStarted(i32),
    /// The command ended.
    Ended(Exit),
    /// The next of the sockets that are served outside comes with this.
    Opened,
    /// A socket that the server asked for comes with this; without a socket, this is the error.
    NewSocket(i32),
}

macro_rules! steps {
    ($($(#[$about:meta])* $name:ident = $description:literal,)*) => {
        /// A step of making a box.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub(crate) enum Step { $($(#[$about])* $name,)* }

        impl Step {
            /// What the step does, for messages.
            pub(crate) fn description(self) -> &'static str {
                match self { $(Self::$name => $description,)* }
            }
        }
    };
}

steps! {
    ReadTask = "read the task",
    Group = "come into its control group",
    Session = "leave the server's session",
    Folders = "take hold of the folders to show",
    Mapping = "show the workspace's files as its own user's",
    User = "leave the user root",
    Namespaces = "make namespaces",
    Owners = "map the user",
    Network = "bring up the loopback device",
    Name = "name the host",
    Fork = "become the first process",
    Proc = "mount a new /proc",
    Tmp = "make the new root",
    Show = "show the system's folders",
    Devices = "show the devices",
    Etc = "write /etc",
    Overlay = "lay the overlay over the workspace",
    Caches = "lay out the caches of packages",
    Workspace = "show the workspace",
    Hide = "hide what must not be seen",
    Scripts = "write the scripts",
    Pivot = "change into the new root",
    Limits = "set the limits",
    Capabilities = "drop the capabilities",
    Landlock = "raise the wall of Landlock",
    Seccomp = "raise the wall of seccomp",
    Input = "hand over the standard input",
    Folder = "enter the folder to start in",
}

/// A step that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepError {
    pub(crate) step: Step,
    pub(crate) errno: i32,
}

impl fmt::Display for StepError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = io::Error::from_raw_os_error(self.errno);
        write!(out, "the box could not {}: {why}", self.step.description())
    }
}

impl std::error::Error for StepError {}

/// Adds the step to an error.
pub(crate) trait At<T> {
    /// The same result, with the failed step in the error.
    fn at(self, step: Step) -> Result<T, StepError>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: Step) -> Result<T, StepError> {
        self.map_err(|error| {
            let errno = error.into().raw_os_error().unwrap_or(libc::EIO);
            StepError { step, errno }
        })
    }
}

impl Report {
    /// Writes it to the front of `space`. Nothing is allocated: a child of `fork` may call this.
    fn to_bytes(self, space: &mut [u8; MAX_BYTES]) -> io::Result<&[u8]> {
        postcard::to_slice(&self, space).map(|bytes| &*bytes).map_err(io::Error::other)
    }

    /// Sends it together with an open file.
    pub(crate) fn send_with(self, to: &UnixStream, file: BorrowedFd<'_>) -> io::Result<()> {
        handles::send_with(to, self.to_bytes(&mut [0; MAX_BYTES])?, file)
    }

    /// Sends it.
    pub(crate) fn send(self, mut to: &UnixStream) -> io::Result<()> {
        to.write_all(self.to_bytes(&mut [0; MAX_BYTES])?)
    }
}

/// Collects the bytes of reports as they arrive.
#[derive(Default)]
pub(crate) struct Reports(Vec<u8>);

impl Reports {
    /// Receives bytes, and a file that came with them; returns how many bytes there were.
    pub(crate) fn receive(&mut self, from: &UnixStream) -> io::Result<(usize, Option<OwnedFd>)> {
        let mut bytes = [0; 256];
        let (count, file) = handles::receive_with(from, &mut bytes)?;
        self.push(&bytes[..count]);
        Ok((count, file))
    }

    /// Adds bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// The next complete report. Bytes that are no report are dropped.
    pub(crate) fn next(&mut self) -> Option<Report> {
        match postcard::take_from_bytes(&self.0) {
            Ok((report, rest)) => {
                self.0.drain(..self.0.len() - rest.len());
                Some(report)
            }
            Err(postcard::Error::DeserializeUnexpectedEnd) => None,
            Err(_) => {
                self.0.clear();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_being_cut_into_pieces() {
        let sent = [
            Report::Broken(Step::Folder, 13),
            Report::NotStarted(2),
            Report::Ended(Exit::Code(-3)),
            Report::Ended(Exit::Signal(9)),
        ];
        let bytes = |report: &Report| report.to_bytes(&mut [0; MAX_BYTES]).unwrap().to_vec();
        let bytes: Vec<u8> = sent.iter().flat_map(bytes).collect();
        let mut reports = Reports::default();
        let mut received = Vec::new();
        for buffer in bytes.chunks(5) {
            reports.push(buffer);
            received.extend(std::iter::from_fn(|| reports.next()));
        }
        assert_eq!(received, sent);
    }
}
