//! A line to a checked address: it dials exactly the addresses it is given, looks up nothing, and lets go
//! when the caller's time is up or more came than may. HTTP and TLS are spoken over it by a library.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketType};
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use yard_core::{Call, Fault, FaultCode, Result};

/// How often a wait looks whether it may go on.
const SLICE_MILLIS: i64 = 50;
/// How often a wait for another thread looks whether it may go on.
const RESULT_SLICE: Duration = Duration::from_millis(20);
/// How long one of several addresses may take to answer before the next is tried.
const ONE_OF_SEVERAL: Duration = Duration::from_secs(5);
/// Most addresses of one host that are tried.
const MOST_TRIED: usize = 4;

/// Until when a request may take, and who may end it before.
#[derive(Clone)]
pub(crate) struct Patience {
    call: Call,
    wall: Duration,
    until: Duration,
}

impl Patience {
    pub(crate) fn new(call: &Call, wall: Duration) -> Self {
        let until = call.world().elapsed().saturating_add(wall);
        Self { call: call.clone(), wall, until }
    }

    /// A fault once the time is up, or the call cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        self.call.check()?;
        if self.now() < self.until {
            return Ok(());
        }
        let seconds = self.wall.as_secs_f64();
        let message = format!("the web did not answer within {seconds} s; nothing was kept of it");
        Err(Fault::new(FaultCode::Timeout, message))
    }

    pub(super) fn now(&self) -> Duration {
        self.call.world().elapsed()
    }

    /// The same as an error of a call that reads or writes.
    pub(crate) fn check_io(&self) -> io::Result<()> {
        self.check().map_err(|_| io::Error::from(io::ErrorKind::TimedOut))
    }
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("until", &self.until).finish_non_exhaustive()
    }
}

/// Runs `work` on a thread of its own and waits for what it returns, as long as the patience lasts: it cannot be
/// ended from outside, and goes on without anybody who waits. `None` if it panicked.
pub(crate) fn run_beside<T: Send + 'static>(
    thread: thread::Builder,
    patience: &Patience,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>> {
    let (sender, result) = mpsc::channel();
    let spawned = thread.spawn(move || drop(sender.send(work())));
    spawned.map_err(|error| {
        Fault::new(FaultCode::Io, format!("no thread can be started for the web: {error}"))
    })?;
    loop {
        patience.check()?;
        match result.recv_timeout(RESULT_SLICE) {
            Ok(done) => return Ok(Some(done)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// How much came over a line, compressed and with everything around it.
#[derive(Debug)]
pub(super) struct Meter {
    came: AtomicU64,
    most: u64,
}

impl Meter {
    pub(super) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { came: AtomicU64::new(0), most })
    }

    pub(super) fn is_full(&self) -> bool {
        self.came.load(Ordering::Relaxed) > self.most
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        self.came.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.is_full() { Err(io::Error::other("too much came")) } else { Ok(()) }
    }
}

/// Dials the first of these addresses that answers.
pub(crate) fn dial(addresses: &[SocketAddr], patience: &Patience) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::HostUnreachable);
    let tried = &addresses[..addresses.len().min(MOST_TRIED)];
    for (at, address) in tried.iter().enumerate() {
        let is_last = at + 1 == tried.len();
        let until = if is_last { Duration::MAX } else { patience.now() + ONE_OF_SEVERAL };
        match dial_one(*address, patience, until) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
        patience.check_io()?;
    }
    Err(last)
}

fn dial_one(address: SocketAddr, patience: &Patience, until: Duration) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    while !is_ready(&stream, PollFlags::OUT)? {
        patience.check_io()?;
        if patience.now() > until {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
    }
    match stream.take_error()? {
        Some(error) => Err(error),
        None => {
            stream.set_nodelay(true)?;
            Ok(stream)
        }
    }
}

/// Reads from a stream that never blocks, as soon as there is something; nothing is its end.
pub(crate) fn read_some(
    mut stream: &TcpStream,
    piece: &mut [u8],
    patience: &Patience,
) -> io::Result<usize> {
    loop {
        patience.check_io()?;
        match stream.read(piece) {
            Err(error) if must_wait(&error) => is_ready(stream, PollFlags::IN)?,
            done => return done,
        };
    }
}

/// Writes all bytes to a stream that never blocks.
pub(crate) fn write_all(
    mut stream: &TcpStream,
    mut bytes: &[u8],
    patience: &Patience,
) -> io::Result<()> {
    while !bytes.is_empty() {
        patience.check_io()?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if must_wait(&error) => drop(is_ready(stream, PollFlags::OUT)?),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a stream becomes ready for this within a moment.
fn is_ready(stream: &TcpStream, flags: PollFlags) -> io::Result<bool> {
    let slice = Timespec { tv_sec: 0, tv_nsec: SLICE_MILLIS * 1_000_000 };
    match poll(&mut [PollFd::new(stream, flags)], Some(&slice)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes lines to addresses that were checked.
#[derive(Debug)]
pub(super) struct Dialler {
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) patience: Patience,
    pub(super) meter: Arc<Meter>,
}

impl Connector<()> for Dialler {
    type Out = Wire;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> std::result::Result<Option<Wire>, ureq::Error> {
        let stream = dial(&self.addresses, &self.patience)?;
        let (input, output) =
            (details.config.input_buffer_size(), details.config.output_buffer_size());
        let buffers = LazyBuffers::new(input, output);
        let (patience, meter) = (self.patience.clone(), Arc::clone(&self.meter));
        Ok(Some(Wire { stream, buffers, patience, meter }))
    }
}

/// Nothing is looked up a second time: whoever dials has the addresses.
#[derive(Debug)]
pub(super) struct Resolved;

impl Resolver for Resolved {
    fn resolve(
        &self,
        _: &Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> std::result::Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}

/// One line. Its socket never blocks; every wait is in slices.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    buffers: LazyBuffers,
    patience: Patience,
    meter: Arc<Meter>,
}

impl Wire {
    fn read(&mut self) -> io::Result<usize> {
        let count = read_some(&self.stream, self.buffers.input_append_buf(), &self.patience)?;
        self.meter.count(count)?;
        Ok(count)
    }
}

/// Whether a call failed only because its stream is not ready, or because of a signal.
pub(crate) fn must_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

impl Transport for Wire {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(
        &mut self,
        amount: usize,
        _: NextTimeout,
    ) -> std::result::Result<(), ureq::Error> {
        Ok(write_all(&self.stream, &self.buffers.output()[..amount], &self.patience)?)
    }

    fn await_input(&mut self, _: NextTimeout) -> std::result::Result<bool, ureq::Error> {
        let count = self.read()?;
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    fn is_open(&mut self) -> bool {
        // One request a line.
        false
    }
}
