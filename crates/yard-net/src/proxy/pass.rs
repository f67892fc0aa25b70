//! Passes bytes between a client in the box and a host, both ways at once, until both sides have said
//! everything. A side that does not read holds up its own direction and not the other one.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::dial::must_wait;

/// What is taken from one side at a time.
const PIECE: usize = 256 << 10;
/// How often a quiet connection is looked at. The end of the command wakes it at once.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// How long one side may stay silent after the other has said everything.
const AFTER_END: Duration = Duration::from_secs(60);

/// One direction: what was taken from its source and not yet given to its end.
struct Direction<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    piece: Vec<u8>,
    start: usize,
    end: usize,
    /// The source has said everything, and its end was told so.
    is_over: bool,
    /// The source has said everything.
    has_ended: bool,
    count: &'a AtomicU64,
}

impl<'a> Direction<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream, count: &'a AtomicU64) -> Self {
        let piece = Vec::new();
        Self { from, to, piece, start: 0, end: 0, is_over: false, has_ended: false, count }
    }

    fn wants_to_read(&self) -> bool {
        !self.has_ended && self.start == self.end
    }

    fn wants_to_write(&self) -> bool {
        self.start < self.end
    }

    /// Takes what the source has and gives on as much as the end takes; whether any byte moved.
    fn go_on(&mut self) -> io::Result<bool> {
        let mut moved = false;
        if self.wants_to_read() {
            if self.piece.is_empty() {
                self.piece = vec![0; PIECE];
            }
            match { self.from }.read(&mut self.piece) {
                Ok(0) => self.has_ended = true,
                Ok(count) => (self.start, self.end, moved) = (0, count, true),
                Err(error) if must_wait(&error) => {}
                Err(error) => return Err(error),
            }
        }
        while self.wants_to_write() {
            match { self.to }.write(&self.piece[self.start..self.end]) {
                Ok(count) => {
                    self.start += count;
                    self.count.fetch_add(count as u64, Ordering::Relaxed);
                    moved = true;
                }
                Err(error) if must_wait(&error) => break,
                Err(error) => return Err(error),
            }
        }
        if self.has_ended && !self.is_over && !self.wants_to_write() {
            self.is_over = true;
            self.to.shutdown(Shutdown::Write)?;
        }
        Ok(moved)
    }
}

/// Passes bytes on until both sides have said everything, or `check` says that it is over. `up` counts what
/// went to the host, `down` what came from it.
pub(super) fn pass(
    client: &TcpStream,
    host: &TcpStream,
    (up, down): (&AtomicU64, &AtomicU64),
    check: &dyn Fn() -> io::Result<()>,
    now: &dyn Fn() -> Duration,
) -> io::Result<()> {
    let mut ways = [Direction::new(client, host, up), Direction::new(host, client, down)];
    let mut last_moved = now();
    while ways.iter().any(|way| !way.is_over) {
        check()?;
        wait(client, host, &ways)?;
        for way in &mut ways {
            if way.go_on()? {
                last_moved = now();
            }
        }
        let is_half_over = ways.iter().any(|way| way.is_over);
        if is_half_over && now().saturating_sub(last_moved) > AFTER_END {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(())
}

/// Passes bytes on between two connections until both sides have said everything or one of them fails, or `check`
/// says that it is over; it is asked at least once a second. `now` is a clock that is never set.
pub fn relay(
    one: &TcpStream,
    other: &TcpStream,
    check: &dyn Fn() -> io::Result<()>,
    now: &dyn Fn() -> Duration,
) -> io::Result<()> {
    one.set_nonblocking(true)?;
    other.set_nonblocking(true)?;
    pass(one, other, (&AtomicU64::new(0), &AtomicU64::new(0)), check, now)
}

/// Waits until one side can do what is wanted of it. A side of which nothing is wanted is left out: it could
/// only say, again and again, that its other end is gone.
fn wait(client: &TcpStream, host: &TcpStream, ways: &[Direction<'_>; 2]) -> io::Result<()> {
    let wanted = |reads: &Direction<'_>, writes: &Direction<'_>| {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, reads.wants_to_read());
        flags.set(PollFlags::OUT, writes.wants_to_write());
        flags
    };
    let sides = [(client, wanted(&ways[0], &ways[1])), (host, wanted(&ways[1], &ways[0]))];
    let sides = sides.into_iter().filter(|(_, flags)| !flags.is_empty());
    let mut ready: Vec<PollFd<'_>> = sides.map(|(side, flags)| PollFd::new(side, flags)).collect();
    match poll(&mut ready, Some(&LOOK)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
