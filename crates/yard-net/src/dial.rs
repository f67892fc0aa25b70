//! Connections to checked addresses: it dials exactly the addresses that it is given, looks up nothing, and gives up
//! when the time is over or more bytes arrived than allowed. A library speaks HTTP and TLS over them.

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

/// How often a wait for a socket checks the deadline.
const POLL_MILLIS: i64 = 50;
/// How often a wait for another thread checks the deadline.
const RESULT_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long one of several addresses may take to answer before the next is tried.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(5);
/// Most addresses of one host that are tried.
const MAX_TRIED: usize = 4;

/// The end of a request's time, and the call whose cancel flag may end it earlier.
#[derive(Clone)]
pub(crate) struct Deadline {
    call: Call,
    wall: Duration,
    until: Duration,
}

impl Deadline {
    pub(crate) fn new(call: &Call, wall: Duration) -> Self {
        let until = call.world().elapsed().saturating_add(wall);
        Self { call: call.clone(), wall, until }
    }

    /// Fails once the time is over or the call was cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        self.call.check()?;
        if self.now() < self.until {
            return Ok(());
        }
        let seconds = self.wall.as_secs_f64();
        let message = format!("the web did not answer within {seconds} s; nothing was kept of it");
        Err(Fault::new(FaultCode::Timeout, message))
    }

    pub(crate) fn now(&self) -> Duration {
        self.call.world().elapsed()
    }

    /// As [`Deadline::check`], with an I/O error.
    pub(crate) fn check_io(&self) -> io::Result<()> {
        self.check().map_err(|_| io::Error::from(io::ErrorKind::TimedOut))
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("until", &self.until).finish_non_exhaustive()
    }
}

/// Runs `work` on a thread of its own and waits for its result until the deadline. The work cannot be stopped: it then
/// goes on, and its result is dropped. `None` if it panicked.
pub(crate) fn run_with_deadline<T: Send + 'static>(
    thread: thread::Builder,
    deadline: &Deadline,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>> {
    let (sender, result) = mpsc::channel();
    let spawned = thread.spawn(move || drop(sender.send(work())));
    spawned.map_err(|error| {
        Fault::new(FaultCode::Io, format!("no thread can be started for the web: {error}"))
    })?;
    loop {
        deadline.check()?;
        match result.recv_timeout(RESULT_POLL_INTERVAL) {
            Ok(done) => return Ok(Some(done)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// Counts the bytes that arrive over a connection, compressed and with everything around the body.
#[derive(Debug)]
pub(crate) struct Meter {
    received: AtomicU64,
    most: u64,
}

impl Meter {
    pub(crate) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { received: AtomicU64::new(0), most })
    }

    pub(crate) fn is_full(&self) -> bool {
        self.received.load(Ordering::Relaxed) > self.most
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.is_full() {
            Err(io::Error::other("more bytes arrived than allowed"))
        } else {
            Ok(())
        }
    }
}

/// Connects to the first of these addresses that answers.
pub(crate) fn dial(addresses: &[SocketAddr], deadline: &Deadline) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::HostUnreachable);
    let tried = &addresses[..addresses.len().min(MAX_TRIED)];
    for (at, address) in tried.iter().enumerate() {
        let is_last = at + 1 == tried.len();
        let until = if is_last { Duration::MAX } else { deadline.now() + ADDRESS_TIMEOUT };
        match dial_one(*address, deadline, until) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
        deadline.check_io()?;
    }
    Err(last)
}

fn dial_one(address: SocketAddr, deadline: &Deadline, until: Duration) -> io::Result<TcpStream> {
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
        deadline.check_io()?;
        if deadline.now() > until {
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

/// Reads from a non-blocking stream, waiting until bytes arrive; 0 is the end of the stream.
pub(crate) fn read_some(
    mut stream: &TcpStream,
    buffer: &mut [u8],
    deadline: &Deadline,
) -> io::Result<usize> {
    loop {
        deadline.check_io()?;
        match stream.read(buffer) {
            Err(error) if is_not_ready(&error) => is_ready(stream, PollFlags::IN)?,
            done => return done,
        };
    }
}

/// Writes all bytes to a non-blocking stream.
pub(crate) fn write_all(
    mut stream: &TcpStream,
    mut bytes: &[u8],
    deadline: &Deadline,
) -> io::Result<()> {
    while !bytes.is_empty() {
        deadline.check_io()?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if is_not_ready(&error) => drop(is_ready(stream, PollFlags::OUT)?),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a stream becomes ready within one poll interval.
fn is_ready(stream: &TcpStream, flags: PollFlags) -> io::Result<bool> {
    let interval = Timespec { tv_sec: 0, tv_nsec: POLL_MILLIS * 1_000_000 };
    match poll(&mut [PollFd::new(stream, flags)], Some(&interval)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes connections to addresses that were checked.
#[derive(Debug)]
pub(crate) struct CheckedConnector {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) deadline: Deadline,
    pub(crate) meter: Arc<Meter>,
}

impl Connector<()> for CheckedConnector {
    type Out = MeteredStream;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> std::result::Result<Option<MeteredStream>, ureq::Error> {
        let stream = dial(&self.addresses, &self.deadline)?;
        let (input, output) =
            (details.config.input_buffer_size(), details.config.output_buffer_size());
        let buffers = LazyBuffers::new(input, output);
        let (deadline, meter) = (self.deadline.clone(), Arc::clone(&self.meter));
        Ok(Some(MeteredStream { stream, buffers, deadline, meter }))
    }
}

/// Resolves nothing: [`CheckedConnector`] has the addresses already.
#[derive(Debug)]
pub(crate) struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(
        &self,
        _: &Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> std::result::Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}

/// One connection. Its socket never blocks, and every wait checks the deadline.
#[derive(Debug)]
pub(crate) struct MeteredStream {
    stream: TcpStream,
    buffers: LazyBuffers,
    deadline: Deadline,
    meter: Arc<Meter>,
}

impl MeteredStream {
    fn read(&mut self) -> io::Result<usize> {
        let count = read_some(&self.stream, self.buffers.input_append_buf(), &self.deadline)?;
        self.meter.count(count)?;
        Ok(count)
    }
}

/// Whether a read or write failed only because the stream is not ready, or because of a signal.
pub(crate) fn is_not_ready(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

impl Transport for MeteredStream {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(
        &mut self,
        amount: usize,
        _: NextTimeout,
    ) -> std::result::Result<(), ureq::Error> {
        Ok(write_all(&self.stream, &self.buffers.output()[..amount], &self.deadline)?)
    }

    fn await_input(&mut self, _: NextTimeout) -> std::result::Result<bool, ureq::Error> {
        let count = self.read()?;
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    fn is_open(&mut self) -> bool {
        // A connection is used for one request.
        false
    }
}
