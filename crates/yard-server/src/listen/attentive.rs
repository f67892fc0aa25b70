//! A connection that listens for a moment longer before its thread sleeps. To wake a thread takes the machine
//! about as long as a small request; a lone client that asks in a row has its next request here before that.
//!
//! It listens only for who asked so soon the last time and asks from another processor, and only while no
//! other connection is busy. It never reads: what comes is heard by the runtime.

use std::hint::spin_loop;
use std::io::{self, IoSlice};
use std::mem;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_incoming_cpu;
use rustix::thread::sched_getcpu;
use tokio::net::TcpStream;
use tokio::time::Instant;

/// How long it listens.
const MOMENT: Duration = Duration::from_micros(50);

/// Which turn of its own a connection has, and whether it is the only one that is busy. A hint, told by who
/// polls it.
#[derive(Clone, Default)]
pub(super) struct Turn(Arc<AtomicUsize>);

impl Turn {
    /// The next one begins.
    pub(super) fn begin(&self, is_alone: bool) {
        let last = self.0.load(Ordering::Relaxed) >> 1;
        self.0.store(last.wrapping_add(1) << 1 | usize::from(is_alone), Ordering::Relaxed);
    }

    /// The one that it is, of a connection that is alone.
    fn alone(&self) -> Option<usize> {
        let turn = self.0.load(Ordering::Relaxed);
        (turn & 1 == 1).then_some(turn >> 1)
    }
}

/// A connection.
pub(super) struct Attentive {
    stream: TokioIo<TcpStream>,
    turn: Turn,
    habit: Habit,
}

impl Attentive {
    pub(super) fn new(stream: TcpStream, turn: Turn) -> Self {
        Self { stream: TokioIo::new(stream), turn, habit: Habit::default() }
    }

    fn stream(&mut self) -> Pin<&mut TokioIo<TcpStream>> {
        Pin::new(&mut self.stream)
    }

    fn has_written(&mut self, polled: &Poll<io::Result<usize>>) {
        if matches!(polled, Poll::Ready(Ok(_))) {
            let written = self.turn.alone().map(|turn| Written { turn, at: Instant::now() });
            self.habit.answered(written);
        }
    }

    fn listen(&mut self) {
        let Some(end) = self.turn.alone().and_then(|turn| self.habit.listens_until(turn)) else {
            return;
        };
        let stream = self.stream.inner();
        if is_near(stream) {
            return;
        }
        while !is_at_hand(stream) && Instant::now() < end {
            spin_loop();
        }
    }
}

/// How soon a client asks again.
#[derive(Default)]
struct Habit {
    /// The last that was written since the last request; `None` where others were busy.
    written: Option<Written>,
    /// Whether the last request came within a moment, and nobody listened for the next one yet.
    comes_soon: bool,
}

#[derive(Clone, Copy)]
struct Written {
    turn: usize,
    at: Instant,
}

impl Habit {
    fn answered(&mut self, written: Option<Written>) {
        self.written = written;
        self.comes_soon &= written.is_some();
    }

    /// A request came, or the first of it.
    fn asked(&mut self, now: impl FnOnce() -> Instant) {
        if let Some(written) = self.written.take() {
            self.comes_soon = now() < written.at + MOMENT;
        }
    }

    /// Until when to listen, once an answer. Only after its end does hyper want to read in the turn in which it
    /// wrote: where a part of it was written in an earlier one, the rest shall not wait.
    fn listens_until(&mut self, turn: usize) -> Option<Instant> {
        let written = self.written.filter(|written| written.turn == turn)?;
        mem::take(&mut self.comes_soon).then_some(written.at + MOMENT)
    }
}

/// Whether the client asked from this very processor, which it needs to ask again, or nobody knows.
fn is_near(stream: impl AsFd) -> bool {
    let asked_from = socket_incoming_cpu(stream);
    asked_from.map_or(true, |processor| usize::try_from(processor) == Ok(sched_getcpu()))
}

/// Whether there is something to read, if only an end.
fn is_at_hand(stream: &impl AsFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&now)) != Ok(0)
}

impl Read for Attentive {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = self.stream().poll_read(context, buffer);
        match polled {
            Poll::Ready(_) => self.habit.asked(Instant::now),
            Poll::Pending => self.listen(),
        }
        polled
    }
}

impl Write for Attentive {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = self.stream().poll_write(context, bytes);
        self.has_written(&polled);
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = self.stream().poll_write_vectored(context, pieces);
        self.has_written(&polled);
        polled
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream as Plain};
    use std::thread;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    fn pair() -> (Plain, Plain) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = Plain::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn in_turn(turn: usize, at: Instant) -> Option<Written> {
        Some(Written { turn, at })
    }

    /// The kernel may deliver a little later.
    fn comes_to_hand(stream: &Plain) -> bool {
        let patience = Instant::now() + Duration::from_secs(20);
        while !is_at_hand(stream) && Instant::now() < patience {
            thread::yield_now();
        }
        is_at_hand(stream)
    }

    #[test]
    fn it_listens_once_an_answer_for_who_asked_soon_the_last_time() {
        let begin = Instant::now();
        let after = |micros| begin + Duration::from_micros(micros);
        let mut habit = Habit::default();
        assert_eq!(habit.listens_until(0), None, "nobody was answered");
        habit.asked(|| after(0));
        habit.answered(in_turn(1, after(10)));
        assert_eq!(habit.listens_until(1), None, "nobody knows yet");
        habit.asked(|| after(59));
        habit.answered(in_turn(2, after(70)));
        assert_eq!(habit.listens_until(2), Some(after(120)));
        assert_eq!(habit.listens_until(2), None, "once is enough");
        habit.asked(|| after(120));
        habit.answered(in_turn(3, after(130)));
        assert_eq!(habit.listens_until(3), None, "it came too late");
    }

    #[test]
    fn it_does_not_listen_in_the_middle_of_an_answer_and_still_at_its_end() {
        let now = Instant::now();
        let mut habit = Habit { written: in_turn(1, now), comes_soon: false };
        habit.asked(|| now);
        habit.asked(|| panic!("the second half of a request has no time of its own"));
        habit.answered(in_turn(2, now));
        assert_eq!(habit.listens_until(3), None);
        habit.answered(in_turn(3, now));
        assert_eq!(habit.listens_until(3), Some(now + MOMENT));
    }

    #[test]
    fn it_does_not_listen_where_others_are_busy() {
        let now = Instant::now();
        let mut habit = Habit { written: in_turn(1, now), comes_soon: false };
        habit.asked(|| now);
        habit.answered(None);
        assert_eq!(habit.listens_until(1), None);
        habit.asked(|| now);
        habit.answered(in_turn(2, now));
        assert_eq!(habit.listens_until(2), None, "nobody measured how soon it came");
    }

    #[test]
    fn each_turn_is_another_one() {
        let turn = Turn::default();
        assert_eq!(turn.alone(), None);
        turn.begin(true);
        let first = turn.alone();
        turn.begin(true);
        assert!(first.is_some() && turn.alone().is_some() && turn.alone() != first);
        turn.begin(false);
        assert_eq!(turn.alone(), None);
    }

    #[test]
    fn a_request_or_an_end_is_at_hand() {
        let (mut client, server) = pair();
        assert!(!is_at_hand(&server));
        client.write_all(b"x").unwrap();
        assert!(comes_to_hand(&server));
        let (client, server) = pair();
        drop(client);
        assert!(comes_to_hand(&server));
    }

    /// Does some work on one processor.
    fn on<T: Send>(processor: usize, work: impl FnOnce() -> T + Send) -> T {
        let pinned = || {
            let mut set = CpuSet::new();
            set.set(processor);
            sched_setaffinity(None, &set).unwrap();
            work()
        };
        thread::scope(|scope| scope.spawn(pinned).join().unwrap())
    }

    #[test]
    fn who_asks_from_this_processor_is_near() {
        let allowed = sched_getaffinity(None).unwrap();
        let processors = (0..CpuSet::MAX_CPU).filter(|&nth| allowed.is_set(nth));
        let processors: Vec<usize> = processors.take(2).collect();
        for &asks in &processors {
            let (mut client, server) = pair();
            on(asks, || client.write_all(b"x").unwrap());
            assert!(comes_to_hand(&server));
            // Some kernels hand a packet to another processor: theirs is the word that counts.
            let came_by = usize::try_from(socket_incoming_cpu(&server).unwrap()).unwrap();
            for &answers in &processors {
                assert_eq!(on(answers, || is_near(&server)), answers == came_by);
            }
        }
    }
}
