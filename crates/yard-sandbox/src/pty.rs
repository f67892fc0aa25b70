//! A pseudo terminal. The server keeps both ends open: it reads a program's output from the one, and polls the other
//! to find out whether input is still unread.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Gid, OFlags, Uid};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::foreground::{self, ForegroundState};
use crate::system::BOX_USER;

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

/// The longest line that fits into the kernel's buffer of a terminal in line mode: the kernel drops the rest of a
/// longer one.
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
    /// Opens a new pseudo terminal.
    pub fn open(size: Size) -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        unlockpt(&master)?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        let pty = Self { master, slave };
        // Writing must not block when the program does not read.
        let flags = rustix::fs::fcntl_getfl(&pty.master)?;
        rustix::fs::fcntl_setfl(&pty.master, flags | OFlags::NONBLOCK)?;
        pty.resize(size)?;
        Ok(pty)
    }

    /// The end that a program is started on.
    pub fn programs_end(&self) -> io::Result<OwnedFd> {
        self.slave.try_clone()
    }

    /// Makes the user of root's boxes the owner of the program's end.
    pub(crate) fn belongs_to_box(&self) -> io::Result<()> {
        let (user, group) = (Uid::from_raw(BOX_USER), Gid::from_raw(BOX_USER));
        Ok(rustix::fs::fchown(&self.slave, Some(user), Some(group))?)
    }

    /// Sets its size; the kernel notifies the program.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let Size { rows, columns } = size;
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.master, size)?)
    }

    /// Waits that many milliseconds for output, and returns whether there is any.
    pub fn wait_for_output(&self, millis: i64) -> bool {
        is_ready(&self.master, PollFlags::IN, millis)
    }

    /// Reads output of the program; `Ok(0)` if there is none now.
    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        match rustix::io::read(&self.master, into) {
            // EIO: no process has the other end open any more.
            Err(Errno::AGAIN | Errno::INTR | Errno::IO) => Ok(0),
            done => Ok(done?),
        }
    }

    /// Writes as much input as fits now, and returns how much that was.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match rustix::io::write(&self.master, bytes) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            done => Ok(done?),
        }
    }

    /// Waits that many milliseconds until input can be written, and returns whether it can.
    pub fn wait_for_room(&self, millis: i64) -> bool {
        is_ready(&self.master, PollFlags::OUT, millis)
    }

    /// Whether the terminal is in line mode: the program gets whole lines, which can be edited before.
    pub fn takes_lines(&self) -> bool {
        tcgetattr(&self.master).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON))
    }

    /// Whether input is echoed, by the terminal or by a program that reads each key, as editors and shells do.
    pub fn echoes(&self) -> bool {
        tcgetattr(&self.master).is_ok_and(|modes| {
            let modes = modes.local_modes;
            modes.contains(LocalModes::ECHO) || !modes.contains(LocalModes::ICANON)
        })
    }

    /// What the programs in the foreground do. Polling either end makes the kernel deliver buffered bytes, so that
    /// none is in transit unnoticed.
    pub fn waiting(&self) -> ForegroundState {
        let has_unread_input = || is_ready(&self.slave, PollFlags::IN, 0);
        let has_unread_output = || is_ready(&self.master, PollFlags::IN, 0);
        if has_unread_input() || has_unread_output() {
            return ForegroundState::No;
        }
        let state = foreground::state(&self.master, &self.slave);
        // A program that read the input meanwhile does not wait, and may have written output.
        let waits = matches!(state, ForegroundState::Input | ForegroundState::Briefly);
        if waits && (has_unread_input() || has_unread_output()) {
            ForegroundState::No
        } else {
            state
        }
    }
}

fn is_ready(end: &impl AsFd, wanted: PollFlags, millis: i64) -> bool {
    let timeout = Timespec { tv_sec: millis / 1_000, tv_nsec: (millis % 1_000) * 1_000_000 };
    let mut ready = [PollFd::new(end, wanted)];
    poll(&mut ready, Some(&timeout)).is_ok() && ready[0].revents().intersects(wanted)
}
