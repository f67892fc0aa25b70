//! What the helper tells the server: over its own socket and in numbers, never among the words that the
//! command prints.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::Exit;

/// Every report has this length.
const LENGTH: usize = 16;

/// One report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The box could not be made: at this step, for this reason.
    Broken(Step, i32),
    /// The command could not be started, for this reason.
    NotStarted(i32),
    /// The command ended.
    Ended(Exit),
    /// The next of the sockets that are served outside comes with this.
    Opened,
    /// A socket that the server asked for comes with this; or else the reason why there is none.
    NewSocket(i32),
}

macro_rules! steps {
    ($($(#[$about:meta])* $name:ident = $words:literal,)*) => {
        /// A step of making a box.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Step { $($(#[$about])* $name,)* }

        impl Step {
            const ALL: &[Self] = &[$(Self::$name,)*];

            /// What was to be done.
            pub(super) fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }
        }
    };
}

steps! {
    Order = "read the order",
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
pub(super) struct Trouble {
    pub(super) step: Step,
    pub(super) errno: i32,
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = io::Error::from_raw_os_error(self.errno);
        write!(out, "the box could not {}: {why}", self.step.words())
    }
}

impl std::error::Error for Trouble {}

/// Names the step of what failed.
pub(super) trait At<T> {
    /// The same, with the step where it happened.
    fn at(self, step: Step) -> Result<T, Trouble>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: Step) -> Result<T, Trouble> {
        self.map_err(|error| {
            let errno = error.into().raw_os_error().unwrap_or(libc::EIO);
            Trouble { step, errno }
        })
    }
}

impl Report {
    fn to_bytes(self) -> [u8; LENGTH] {
        let (tag, first, second) = match self {
            Self::Broken(step, errno) => (1_i32, step as i32, errno),
            Self::NotStarted(errno) => (2, errno, 0),
            Self::Ended(Exit::Code(code)) => (3, code, 0),
            Self::Ended(Exit::Signal(signal)) => (4, signal, 0),
            Self::Opened => (5, 0, 0),
            Self::NewSocket(errno) => (6, errno, 0),
        };
        let mut bytes = [0; LENGTH];
        for (slot, number) in bytes.chunks_exact_mut(4).zip([tag, first, second, 0]) {
            slot.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; LENGTH]) -> Option<Self> {
        let mut numbers = bytes.chunks_exact(4).filter_map(|four| four.first_chunk());
        let mut next = || numbers.next().copied().map(i32::from_le_bytes);
        let (tag, first, second) = (next()?, next()?, next()?);
        Some(match tag {
            1 => Self::Broken(*Step::ALL.get(usize::try_from(first).ok()?)?, second),
            2 => Self::NotStarted(first),
            3 => Self::Ended(Exit::Code(first)),
            4 => Self::Ended(Exit::Signal(first)),
            5 => Self::Opened,
            6 => Self::NewSocket(first),
            _ => return None,
        })
    }

    /// Tells it, and hands over an open file.
    pub(super) fn send_with(self, to: &UnixStream, file: BorrowedFd<'_>) -> io::Result<()> {
        let (bytes, files) = (self.to_bytes(), [file]);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let sent = sendmsg(to, &[IoSlice::new(&bytes)], &mut control, SendFlags::empty())?;
        if sent == LENGTH { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Tells it.
    pub(super) fn send(self, mut to: &UnixStream) -> io::Result<()> {
        to.write_all(&self.to_bytes())
    }
}

/// Reports as they come in, whatever the pieces.
#[derive(Default)]
pub(super) struct Reports(Vec<u8>);

impl Reports {
    /// Takes in what came, and a file that came with it; how many bytes that were.
    pub(super) fn hear(&mut self, from: &UnixStream) -> io::Result<(usize, Option<OwnedFd>)> {
        let mut bytes = [0; 256];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let count = recvmsg(from, into, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
        let file = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        self.push(&bytes[..count]);
        Ok((count, file))
    }

    /// Takes bytes in.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// The next whole report.
    pub(super) fn next(&mut self) -> Option<Report> {
        let report = Report::from_bytes(self.0.first_chunk()?);
        self.0.drain(..LENGTH);
        report
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
        let bytes: Vec<u8> = sent.iter().flat_map(|report| report.to_bytes()).collect();
        let mut reports = Reports::default();
        let mut heard = Vec::new();
        for piece in bytes.chunks(5) {
            reports.push(piece);
            heard.extend(std::iter::from_fn(|| reports.next()));
        }
        assert_eq!(heard, sent);
    }
}
