//! A terminal without glass: the two ends of a pseudo terminal. The server keeps both. What a program
//! says is read from the one, and the other is only ever looked at: whether what was typed is still
//! waiting there.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Gid, OFlags, Uid};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::system::BOX_USER;
use super::waiting::{self, Waiting};

/// Rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Lines on the screen.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

impl Default for Size {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

/// Longer lines do not fit into the kernel's buffer of a terminal that waits for whole ones: it drops the
/// rest.
pub const LONGEST_LINE: usize = 4_095;

/// A pseudo terminal.
#[derive(Debug)]
pub struct Pty {
    /// The server's end.
    master: OwnedFd,
    /// The program's end.
    slave: OwnedFd,
}

impl Pty {
    /// A new one.
    pub fn open(size: Size) -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        unlockpt(&master)?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        let pty = Self { master, slave };
        // A program that does not read must not hold up who types.
        let flags = rustix::fs::fcntl_getfl(&pty.master)?;
        rustix::fs::fcntl_setfl(&pty.master, flags | OFlags::NONBLOCK)?;
        pty.resize(size)?;
        Ok(pty)
    }

    /// What the program sees of it, to start it on.
    pub fn programs_end(&self) -> io::Result<OwnedFd> {
        self.slave.try_clone()
    }

    /// Hands the program's end to the user that boxes of root's are.
    pub(super) fn belongs_to_box(&self) -> io::Result<()> {
        let (user, group) = (Uid::from_raw(BOX_USER), Gid::from_raw(BOX_USER));
        Ok(rustix::fs::fchown(&self.slave, Some(user), Some(group))?)
    }

    /// Sets its size; the program is told.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let Size { rows, columns } = size;
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.master, size)?)
    }

    /// Waits for words of the program, for so many milliseconds; whether there are any.
    pub fn speaks_within(&self, millis: i64) -> bool {
        is_ready(&self.master, PollFlags::IN, millis)
    }

    /// Takes what the program said and nobody took yet; nothing is `Ok(0)`.
    pub fn hear(&self, into: &mut [u8]) -> io::Result<usize> {
        match rustix::io::read(&self.master, into) {
            // Nobody has the other end open any more.
            Err(Errno::AGAIN | Errno::INTR | Errno::IO) => Ok(0),
            done => Ok(done?),
        }
    }

    /// Types as much as fits for now; how much that was.
    pub fn types(&self, bytes: &[u8]) -> io::Result<usize> {
        match rustix::io::write(&self.master, bytes) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            done => Ok(done?),
        }
    }

    /// Waits for room to type, for so many milliseconds; whether there is any.
    pub fn has_room_within(&self, millis: i64) -> bool {
        is_ready(&self.master, PollFlags::OUT, millis)
    }

    /// Whether the program gets whole lines, which the kernel lets its user edit.
    pub fn takes_lines(&self) -> bool {
        tcgetattr(&self.master).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON))
    }

    /// Whether what is typed is shown, by the terminal or by a program that takes each key by itself, as
    /// editors and shells do.
    pub fn echoes(&self) -> bool {
        tcgetattr(&self.master).is_ok_and(|modes| {
            let modes = modes.local_modes;
            modes.contains(LocalModes::ECHO) || !modes.contains(LocalModes::ICANON)
        })
    }

    /// What the programs in the foreground wait for, by the terminal's own state. Looking at either end
    /// makes the kernel pass on what it was still holding back, so that nothing is on its way unseen.
    pub fn waiting(&self) -> Waiting {
        let is_typed = || is_ready(&self.slave, PollFlags::IN, 0);
        let is_said = || is_ready(&self.master, PollFlags::IN, 0);
        if is_typed() || is_said() {
            return Waiting::No;
        }
        let found = waiting::for_input(&self.master, &self.slave);
        // Whoever took the input between the two looks is not waiting, and may have said something.
        let waits = matches!(found, Waiting::Input | Waiting::Briefly);
        if waits && (is_typed() || is_said()) { Waiting::No } else { found }
    }
}

fn is_ready(end: &impl AsFd, wanted: PollFlags, millis: i64) -> bool {
    let timeout = Timespec { tv_sec: millis / 1_000, tv_nsec: (millis % 1_000) * 1_000_000 };
    let mut ready = [PollFd::new(end, wanted)];
    poll(&mut ready, Some(&timeout)).is_ok() && ready[0].revents().intersects(wanted)
}
