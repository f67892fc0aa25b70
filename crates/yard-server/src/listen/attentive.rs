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
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Whether a connection is the only one that is busy. A hint, told by who polls it.
#[derive(Clone, Default)]
pub(super) struct Alone(Arc<AtomicBool>);

impl Alone {
    pub(super) fn tell(&self, is_alone: bool) {
        self.0.store(is_alone, Ordering::Relaxed);
    }

    fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection.
pub(super) struct Attentive {
    stream: TokioIo<TcpStream>,
    alone: Alone,
    habit: Habit,
}

impl Attentive {
    pub(super) fn new(stream: TcpStream, alone: Alone) -> Self {
        Self { stream: TokioIo::new(stream), alone, habit: Habit::default() }
    }

    fn stream(&mut self) -> Pin<&mut TokioIo<TcpStream>> {
        Pin::new(&mut self.stream)
    }

    fn has_written(&mut self) {
        let at = self.alone.is_told().then(Instant::now);
        self.habit.answered(at);
    }

    fn listen(&mut self) {
        let Some(end) = self.habit.listens_until() else { return };
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
    /// When the answer was written whose next request has not come yet; `None` where others are busy.
    answered: Option<Instant>,
    /// Whether the last request came within a moment, and nobody listened for the next one yet.
    comes_soon: bool,
}

impl Habit {
    fn answered(&mut self, at: Option<Instant>) {
        self.answered = at;
    }

    fn asked(&mut self, now: impl FnOnce() -> Instant) {
        self.comes_soon = self.answered.take().is_some_and(|at| now() < at + MOMENT);
    }

    /// Until when to listen, once an answer.
    fn listens_until(&mut self) -> Option<Instant> {
        let answered = self.answered?;
        mem::take(&mut self.comes_soon).then_some(answered + MOMENT)
    }
}

/// Whether the client asked from this very processor, which it needs to ask again.
fn is_near(stream: impl AsFd) -> bool {
    socket_incoming_cpu(stream)
        .is_ok_and(|processor| usize::try_from(processor) == Ok(sched_getcpu()))
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
        self.has_written();
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
        self.has_written();
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

    #[test]
    fn it_listens_once_an_answer_for_who_asked_soon_the_last_time() {
        let begin = Instant::now();
        let after = |micros| begin + Duration::from_micros(micros);
        let mut habit = Habit::default();
        assert_eq!(habit.listens_until(), None, "nobody was answered");
        habit.asked(|| after(0));
        habit.answered(Some(after(10)));
        assert_eq!(habit.listens_until(), None, "nobody knows yet");
        habit.asked(|| after(59));
        habit.answered(Some(after(70)));
        assert_eq!(habit.listens_until(), Some(after(120)));
        assert_eq!(habit.listens_until(), None, "once is enough");
        habit.asked(|| after(120));
        habit.answered(Some(after(130)));
        assert_eq!(habit.listens_until(), None, "it came too late");
    }

    #[test]
    fn it_does_not_listen_where_others_are_busy() {
        let now = Instant::now();
        let mut habit = Habit { answered: Some(now), comes_soon: false };
        habit.asked(|| now);
        habit.answered(None);
        assert_eq!(habit.listens_until(), None);
        habit.asked(|| now);
        habit.answered(Some(now));
        assert_eq!(habit.listens_until(), None, "nobody measured how soon it came");
    }

    #[test]
    fn a_request_or_an_end_is_at_hand() {
        let (mut client, server) = pair();
        assert!(!is_at_hand(&server));
        client.write_all(b"x").unwrap();
        assert!(is_at_hand(&server));
        let (client, server) = pair();
        drop(client);
        assert!(is_at_hand(&server));
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
        let processors: Vec<usize> =
            (0..CpuSet::MAX_CPU).filter(|&nth| allowed.is_set(nth)).collect();
        for &asks in &processors {
            let (mut client, server) = pair();
            on(asks, || client.write_all(b"x").unwrap());
            for &answers in &processors {
                assert_eq!(on(answers, || is_near(&server)), asks == answers, "{asks} {answers}");
            }
        }
    }
}
