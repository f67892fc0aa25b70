//! MCP on standard input and output: one message per line.
//!
//! Input is bounded: the length of a line, the number of requests in flight, and the number of answers that
//! wait for a client that does not read. At a bound the server reads nothing more until there is capacity, so
//! a client that floods or does not read slows down only itself and costs no memory.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rmcp::model::{
    ClientNotification, ErrorData, GetExtensions as _, JsonRpcMessage, JsonRpcNotification,
    JsonRpcRequest, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, serve_server};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore, watch};
use yard_dialects::Json;

use super::invalid_message::InvalidMessage;
use super::local::LocalCallers;
use super::server::McpServer;
use super::service::{Ready, Service};
use crate::pool::Pools;

/// The longest message: 64 MiB of content (R12), in which each byte may be escaped as two.
const MAX_LINE_BYTES: usize = (128 << 20) + (1 << 20);
/// The size of a read, in bytes.
const READ_BYTES: usize = 64 << 10;
/// Requests in flight at once, until their answers are written. The next ones wait; responses and
/// cancellations are still read, because requests in flight may wait for them.
const MAX_IN_FLIGHT: usize = 128;
/// Requests that were read and not answered, and the memory that they may take together; the next one is
/// refused.
const MAX_REQUESTS: usize = 4_096;
const MAX_REQUEST_KIB: u32 = 256 << 10;
/// Messages that wait to be sent.
const MAX_UNSENT: usize = 64;
/// A line buffer larger than this is freed after its message.
const BUFFER_KEPT_BYTES: usize = 1 << 20;

/// Serves one client until it closes its end, or `stop` is done. `open` opens the workspaces, on another thread
/// while `initialize` is answered; if it fails, every request gets the reason as its error.
pub fn serve<F>(
    open: impl FnOnce() -> Result<(McpServer, LocalCallers), String> + Send + 'static,
    stop: impl FnOnce() -> F,
) -> io::Result<()>
where
    F: Future<Output = ()>,
{
    let (ready_sender, readiness) = watch::channel(None);
    let opening: Arc<OnceLock<JoinHandle<()>>> = Arc::default();
    let begun = Arc::clone(&opening);
    let begin = Box::new(move || {
        let _ = begun.set(thread::spawn(move || {
            let ready =
                |(server, callers)| Ready { server: Arc::new(server), callers: Arc::new(callers) };
            ready_sender.send_replace(Some(open().map(ready)));
        }));
    });
    // One thread for the protocol and for short reads: most calls take less time than a switch of threads.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(Pools::THREADS + 8)
        .thread_name("toolyard")
        .build()?;
    let service = Service::opening_later(readiness.clone(), Some(begin));
    runtime.block_on(async {
        let stop = stop();
        let (read, write) = stdio_pipes();
        let connection = async {
            // A client that disconnects before `initialize` gets no answer.
            if let Ok(running) = serve_server(service, LineTransport::new(read, write)).await {
                let _ = running.waiting().await;
            }
        };
        tokio::select! {
            () = connection => {}
            () = stop => {}
        }
    });
    if let Some(opening) = Arc::into_inner(opening).and_then(OnceLock::into_inner) {
        let _ = opening.join();
    }
    if let Some(Ok(ready)) = &*readiness.borrow() {
        ready.callers.shut_down();
    }
    // A tool that still runs is cut off. The journal finishes or undoes its change when the workspace is opened again.
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(())
}

/// The transport: one message a line, within bounds.
struct LineTransport<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The rest of a line that was too long is being skipped.
    skipping: bool,
    write: Arc<Mutex<W>>,
    requests: Arc<Semaphore>,
    /// KiB of requests that were read and not answered.
    request_kib: Arc<Semaphore>,
    unsent: Arc<Semaphore>,
    in_flight: Arc<InFlight>,
    /// The client has closed its end.
    ended: bool,
    /// Requests that wait until fewer are in flight.
    waiting: VecDeque<(RequestId, RxJsonRpcMessage<RoleServer>)>,
}

/// The requests that were handed to the service and are not answered yet.
#[derive(Default)]
struct InFlight {
    ids: parking_lot::Mutex<HashSet<RequestId>>,
    finished: Notify,
}

impl InFlight {
    fn has_capacity(&self) -> bool {
        self.ids.lock().len() < MAX_IN_FLIGHT
    }

    /// Removes a request that was answered, or never will be.
    fn finish(&self, id: &RequestId) {
        self.ids.lock().remove(id);
        self.finished.notify_one();
    }
}

/// The permits of a request, which are released when it was answered.
struct RequestPermits {
    _request: OwnedSemaphorePermit,
    _bytes: OwnedSemaphorePermit,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> LineTransport<R, W> {
    fn new(read: R, write: W) -> Self {
        Self {
            read: BufReader::with_capacity(READ_BYTES, read),
            line: Vec::new(),
            skipping: false,
            write: Arc::new(Mutex::new(write)),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            request_kib: Arc::new(Semaphore::new(MAX_REQUEST_KIB as usize)),
            unsent: Arc::new(Semaphore::new(MAX_UNSENT)),
            in_flight: Arc::default(),
            ended: false,
            waiting: VecDeque::new(),
        }
    }

    /// The next waiting request, if there is capacity for it.
    fn next_in_turn(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if !self.in_flight.has_capacity() {
            return None;
        }
        let (id, message) = self.waiting.pop_front()?;
        self.in_flight.ids.lock().insert(id);
        Some(message)
    }

    /// The permits for one more request of so many bytes; `None` if there is no capacity.
    fn permits(&self, bytes: usize) -> Option<RequestPermits> {
        let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).min(MAX_REQUEST_KIB);
        Some(RequestPermits {
            _request: Arc::clone(&self.requests).try_acquire_owned().ok()?,
            _bytes: Arc::clone(&self.request_kib).try_acquire_many_owned(kib).ok()?,
        })
    }

    /// Queues a request; hands on any other message at once.
    fn admit(
        &mut self,
        mut message: RxJsonRpcMessage<RoleServer>,
        bytes: usize,
    ) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Box<InvalidMessage>> {
        match &mut message {
            JsonRpcMessage::Request(JsonRpcRequest { request, id, .. }) => {
                let permits = self.permits(bytes).ok_or_else(|| Box::new(too_many(id.clone())))?;
                request.extensions_mut().insert(Arc::new(permits));
                self.waiting.push_back((id.clone(), message));
                Ok(None)
            }
            JsonRpcMessage::Notification(JsonRpcNotification { notification, .. }) => {
                if let ClientNotification::CancelledNotification(cancelled) = notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // Whether it is in flight or still waits, it gets no answer any more.
                    self.waiting.retain(|(waiting, _)| waiting != id);
                    self.in_flight.finish(id);
                }
                Ok(Some(message))
            }
            _ => Ok(Some(message)),
        }
    }

    /// The next line as a message; `Ok(None)` if it is empty or a request that was queued. Cancelling this
    /// future loses nothing.
    async fn read_message(
        &mut self,
    ) -> Option<Result<Option<RxJsonRpcMessage<RoleServer>>, InvalidMessage>> {
        // A client that does not read its answers is not read from either.
        drop(self.unsent.acquire().await.ok()?);
        let is_whole = self.next_line().await.ok()??;
        if !is_whole {
            return Some(Err(too_long()));
        }
        let bytes = self.line.len();
        let admitted = match self.message() {
            Ok(Some(message)) => self.admit(message, bytes),
            Ok(None) => Ok(None),
            Err(invalid) => Err(invalid),
        };
        Some(admitted.map_err(|invalid| *invalid))
    }

    /// Answers an invalid message, in a task of its own: cancelling the reader must not cut the answer off.
    fn answer(&mut self, invalid: InvalidMessage) {
        if invalid.is_answered {
            let message = TxJsonRpcMessage::<RoleServer>::error(invalid.error, invalid.id);
            tokio::spawn(self.send(message));
        }
    }

    /// The next line; `Ok(false)` if it was too long. Cancelling this future loses nothing.
    async fn next_line(&mut self) -> io::Result<Option<bool>> {
        loop {
            let read = self.read.fill_buf().await?;
            if read.is_empty() {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', read);
            let taken = end.unwrap_or(read.len());
            let fits = self.line.len() + taken <= MAX_LINE_BYTES;
            if fits && !self.skipping {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.read.consume(taken + usize::from(end.is_some()));
            let was_skipping = self.skipping;
            self.skipping = (self.skipping || !fits) && end.is_none();
            if !fits && !was_skipping {
                self.line = Vec::new();
                return Ok(Some(false));
            }
            if end.is_some() && !was_skipping {
                return Ok(Some(true));
            }
        }
    }

    /// Parses the line; explains what is wrong if it is no message.
    fn message(&mut self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Box<InvalidMessage>> {
        let line = self.line.trim_ascii();
        let parsed = match line {
            [] => Ok(None),
            line => serde_json::from_slice(line)
                .map(Some)
                .map_err(|_| Box::new(InvalidMessage::of(line, "line"))),
        };
        self.line.clear();
        self.line.shrink_to(BUFFER_KEPT_BYTES);
        parsed
    }
}

fn too_many(id: RequestId) -> InvalidMessage {
    let message = format!(
        "{MAX_REQUESTS} requests, or {} MiB of them, are under way: wait for answers, then send this again",
        MAX_REQUEST_KIB >> 10
    );
    InvalidMessage::answered(Some(id), ErrorData::internal_error(message, None))
}

fn too_long() -> InvalidMessage {
    let message =
        format!("a message has at most {} MiB; this one was dropped", MAX_LINE_BYTES >> 20);
    InvalidMessage::answered(None, ErrorData::invalid_request(message, None))
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = Arc::clone(&self.write);
        // Acquired now and released once the message is written: until then it counts as unsent.
        let unsent = Arc::clone(&self.unsent).try_acquire_owned();
        let in_flight = Arc::clone(&self.in_flight);
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        async move {
            let line = Json::of(&message)?.within("", "\n").into_bytes();
            drop(message);
            let mut write = write.lock().await;
            let sent = write.write_all(&line).await;
            write.flush().await?;
            drop(unsent);
            if let Some(id) = answered {
                in_flight.finish(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(message) = self.next_in_turn() {
                return Some(message);
            }
            let (in_flight, has_waiting) = (Arc::clone(&self.in_flight), !self.waiting.is_empty());
            if self.ended && !has_waiting {
                return None;
            }
            let ended = self.ended;
            let read = tokio::select! {
                biased;
                () = in_flight.finished.notified(), if has_waiting => continue,
                read = self.read_message(), if !ended => read,
            };
            match read {
                Some(Ok(Some(message))) => return Some(message),
                Some(Ok(None)) => {}
                Some(Err(invalid)) => self.answer(invalid),
                // Requests that came before the end of input are still answered.
                None => self.ended = true,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.shutdown().await
    }
}
