//! Relays bytes between a client in the box and a host, in both directions at once, until both sides have closed
//! their end. A side that does not read blocks its own direction and not the other one.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::dial::is_not_ready;

/// Bytes that are read from one side at a time.
const BUFFER_BYTES: usize = 256 << 10;
/// How often a quiet connection is checked. The end of the command wakes it at once.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// How long one side may stay silent after the other has closed its end.
const HALF_CLOSED_TIMEOUT: Duration = Duration::from_secs(60);

/// One direction, with the bytes that were read from its source and not yet written.
struct Direction<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The source has closed its end, and that was passed on.
    is_over: bool,
    /// The source has closed its end.
    has_ended: bool,
    count: &'a AtomicU64,
}

impl<'a> Direction<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream, count: &'a AtomicU64) -> Self {
        let buffer = Vec::new();
        Self { from, to, buffer, start: 0, end: 0, is_over: false, has_ended: false, count }
    }

    fn wants_to_read(&self) -> bool {
        !self.has_ended && self.start == self.end
    }

    fn wants_to_write(&self) -> bool {
        self.start < self.end
    }

    /// Reads what the source has and writes as much as the other side takes; returns whether any byte moved.
    fn transfer(&mut self) -> io::Result<bool> {
        let (mut from, mut to, mut moved) = (self.from, self.to, false);
        if self.wants_to_read() {
            if self.buffer.is_empty() {
                self.buffer = vec![0; BUFFER_BYTES];
            }
            match from.read(&mut self.buffer) {
                Ok(0) => self.has_ended = true,
                Ok(count) => (self.start, self.end, moved) = (0, count, true),
                Err(error) if is_not_ready(&error) => {}
                Err(error) => return Err(error),
            }
        }
        while self.wants_to_write() {
            match to.write(&self.buffer[self.start..self.end]) {
                Ok(count) => {
                    self.start += count;
                    self.count.fetch_add(count as u64, Ordering::Relaxed);
                    moved = true;
                }
                Err(error) if is_not_ready(&error) => break,
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

/// Relays until both sides have closed their end, or `check` fails. `up` counts the bytes that went to the host,
/// `down` those that came from it.
pub(super) fn relay_counted(
    client: &TcpStream,
    host: &TcpStream,
    (up, down): (&AtomicU64, &AtomicU64),
    check: &dyn Fn() -> io::Result<()>,
    now: &dyn Fn() -> Duration,
) -> io::Result<()> {
    let mut directions = [Direction::new(client, host, up), Direction::new(host, client, down)];
    let mut last_moved = now();
    while directions.iter().any(|direction| !direction.is_over) {
        check()?;
        wait(client, host, &directions)?;
        for direction in &mut directions {
            if direction.transfer()? {
                last_moved = now();
            }
        }
        let is_half_closed = directions.iter().any(|direction| direction.is_over);
        if is_half_closed && now().saturating_sub(last_moved) > HALF_CLOSED_TIMEOUT {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(())
}

/// Relays between two connections until both sides have closed their end, one of them fails, or `check` fails, which
/// is called at least once a second. `now` is a monotonic clock.
pub fn relay(
    one: &TcpStream,
    other: &TcpStream,
    check: &dyn Fn() -> io::Result<()>,
    now: &dyn Fn() -> Duration,
) -> io::Result<()> {
    one.set_nonblocking(true)?;
    other.set_nonblocking(true)?;
    relay_counted(one, other, (&AtomicU64::new(0), &AtomicU64::new(0)), check, now)
}

/// Waits until one side can be read or written as its directions need. A side that nothing is needed of is left out:
/// if its other end is gone, `poll` would return at once, again and again.
fn wait(client: &TcpStream, host: &TcpStream, directions: &[Direction<'_>; 2]) -> io::Result<()> {
    let [up, down] = directions;
    let wanted = |reads: &Direction<'_>, writes: &Direction<'_>| {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, reads.wants_to_read());
        flags.set(PollFlags::OUT, writes.wants_to_write());
        flags
    };
    let sides = [(client, wanted(up, down)), (host, wanted(down, up))];
    let sides = sides.into_iter().filter(|(_, flags)| !flags.is_empty());
    let mut ready: Vec<PollFd<'_>> = sides.map(|(side, flags)| PollFd::new(side, flags)).collect();
    match poll(&mut ready, Some(&POLL_INTERVAL)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
