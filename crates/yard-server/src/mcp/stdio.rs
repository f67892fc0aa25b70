//! MCP on standard input and output: a message a line, nothing else on either.
//!
//! What comes in is bounded: a line's length, how many requests are under way, and how many answers wait
//! for a client that does not read. Where a bound is reached nothing more is read until there is room, so a
//! client that floods or sleeps slows down itself and costs no memory.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, OnceLock, PoisonError};
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

use super::door::Door;
use super::local::Local;
use super::service::{Ready, Service};
use super::wrong::Wrong;
use crate::pool::Pools;

/// Longest message: 64 MiB of content (R12), where each byte may need an escape of two.
const LINE_BYTES: usize = (128 << 20) + (1 << 20);
/// Bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;
/// Requests under way at once, until their answers are written. The next ones wait for their turn; answers
/// and cancellations are read all the same, because what is under way may wait for them.
const UNDER_WAY: usize = 128;
/// Requests that were read, and how much they may hold together; the next one is refused.
const REQUESTS: usize = 4_096;
const HELD_KIB: u32 = 256 << 10;
/// Messages that wait to be written.
const UNSENT: usize = 64;
/// A line buffer larger than this is given back once its message was read.
const KEPT_BYTES: usize = 1 << 20;

/// Serves one client until it closes its end, or `stop` is done. `open` makes what it takes to answer, on
/// another thread while the client says hello; if it fails, every request is told why.
pub fn serve<F>(
    open: impl FnOnce() -> Result<(Door, Local), String> + Send + 'static,
    stop: impl FnOnce() -> F,
) -> io::Result<()>
where
    F: Future<Output = ()>,
{
    let (told, readiness) = watch::channel(None);
    let opening: Arc<OnceLock<JoinHandle<()>>> = Arc::default();
    let begun = Arc::clone(&opening);
    let begin = Box::new(move || {
        let _ = begun.set(thread::spawn(move || {
            let ready = |(door, seats)| Ready { door: Arc::new(door), seats: Arc::new(seats) };
            told.send_replace(Some(open().map(ready)));
        }));
    });
    // One thread for the protocol and for looks: most calls take less time than waking another.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(Pools::THREADS + 8)
        .thread_name("toolyard")
        .build()?;
    let service = Service::when(readiness.clone(), Some(begin));
    runtime.block_on(async {
        let stop = stop();
        let (read, write) = stdio_pipes();
        let connection = async {
            // A client that goes away before it said hello has nothing to be told.
            if let Ok(running) = serve_server(service, Lines::new(read, write)).await {
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
        ready.seats.leave();
    }
    // A tool that is still running is cut off: nothing of it is half done.
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(())
}

/// Messages as lines, in bounds.
struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The rest of a line that was too long is on its way out.
    skipping: bool,
    write: Arc<Mutex<W>>,
    requests: Arc<Semaphore>,
    /// KiB of requests that are under way.
    held: Arc<Semaphore>,
    unsent: Arc<Semaphore>,
    under_way: Arc<UnderWay>,
    /// The client has closed its end.
    ended: bool,
    /// Requests that wait for their turn.
    waiting: VecDeque<(RequestId, RxJsonRpcMessage<RoleServer>)>,
}

/// The requests that were handed on and are not answered yet.
#[derive(Default)]
struct UnderWay {
    ids: std::sync::Mutex<HashSet<RequestId>>,
    fewer: Notify,
}

impl UnderWay {
    fn ids(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self) -> bool {
        self.ids().len() < UNDER_WAY
    }

    /// One was answered, or will never be.
    fn over(&self, id: &RequestId) {
        self.ids().remove(id);
        self.fewer.notify_one();
    }
}

/// What else is under way on the connection of a request.
#[derive(Clone)]
pub(super) struct Company(Arc<UnderWay>);

impl Company {
    /// Whether nothing is.
    pub(super) fn is_alone(&self) -> bool {
        self.0.ids().len() <= 1
    }
}

/// What a request takes of what there is; it goes with it, and back when whoever answers it is done.
struct Room {
    _request: OwnedSemaphorePermit,
    _bytes: OwnedSemaphorePermit,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    fn new(read: R, write: W) -> Self {
        Self {
            read: BufReader::with_capacity(READ_BYTES, read),
            line: Vec::new(),
            skipping: false,
            write: Arc::new(Mutex::new(write)),
            requests: Arc::new(Semaphore::new(REQUESTS)),
            held: Arc::new(Semaphore::new(HELD_KIB as usize)),
            unsent: Arc::new(Semaphore::new(UNSENT)),
            under_way: Arc::default(),
            ended: false,
            waiting: VecDeque::new(),
        }
    }

    /// The next message that may go on: one that waited, if there is room for it.
    fn next_in_turn(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if !self.under_way.has_room() {
            return None;
        }
        let (id, message) = self.waiting.pop_front()?;
        self.under_way.ids().insert(id);
        Some(message)
    }

    /// Room for one more request of so many bytes; `None` if there is none.
    fn room(&self, bytes: usize) -> Option<Room> {
        let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).min(HELD_KIB);
        Some(Room {
            _request: Arc::clone(&self.requests).try_acquire_owned().ok()?,
            _bytes: Arc::clone(&self.held).try_acquire_many_owned(kib).ok()?,
        })
    }

    /// Takes a message in. A request waits for its turn; whatever else is handed on at once.
    fn admit(
        &mut self,
        mut message: RxJsonRpcMessage<RoleServer>,
        bytes: usize,
    ) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Box<Wrong>> {
        match &mut message {
            JsonRpcMessage::Request(JsonRpcRequest { request, id, .. }) => {
                let room = self.room(bytes).ok_or_else(|| Box::new(too_many(id.clone())))?;
                request.extensions_mut().insert(Arc::new(room));
                request.extensions_mut().insert(Company(Arc::clone(&self.under_way)));
                self.waiting.push_back((id.clone(), message));
                Ok(None)
            }
            JsonRpcMessage::Notification(JsonRpcNotification { notification, .. }) => {
                if let ClientNotification::CancelledNotification(cancelled) = notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // Whether it is under way or still waits, nobody answers it any more.
                    self.waiting.retain(|(waiting, _)| waiting != id);
                    self.under_way.over(id);
                }
                Ok(Some(message))
            }
            _ => Ok(Some(message)),
        }
    }

    /// The next line as a message; `Ok(None)` if it holds none that goes on now. Nothing is lost if this is
    /// broken off.
    async fn read_message(
        &mut self,
    ) -> Option<Result<Option<RxJsonRpcMessage<RoleServer>>, Wrong>> {
        // Who does not read what it asked for is not read either.
        drop(self.unsent.acquire().await.ok()?);
        let is_whole = self.next_line().await.ok()??;
        if !is_whole {
            return Some(Err(too_long()));
        }
        let bytes = self.line.len();
        let admitted = match self.message() {
            Ok(Some(message)) => self.admit(message, bytes),
            Ok(None) => Ok(None),
            Err(wrong) => Err(wrong),
        };
        Some(admitted.map_err(|wrong| *wrong))
    }

    /// Answers what is no request, beside whatever else is written: nobody may break this off halfway.
    fn answer(&mut self, wrong: Wrong) {
        if wrong.is_answered {
            let message = TxJsonRpcMessage::<RoleServer>::error(wrong.error, wrong.id);
            tokio::spawn(self.send(message));
        }
    }

    /// The next line; nothing of it is lost if this is broken off. `Ok(false)` if it was too long.
    async fn next_line(&mut self) -> io::Result<Option<bool>> {
        loop {
            let read = self.read.fill_buf().await?;
            if read.is_empty() {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', read);
            let taken = end.unwrap_or(read.len());
            let fits = self.line.len() + taken <= LINE_BYTES;
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

    /// What the line says; what it should say instead, if it is no message.
    fn message(&mut self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Box<Wrong>> {
        let line = self.line.trim_ascii();
        let parsed = match line {
            [] => Ok(None),
            line => serde_json::from_slice(line)
                .map(Some)
                .map_err(|_| Box::new(Wrong::of(line, "line"))),
        };
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        parsed
    }
}

fn too_many(id: RequestId) -> Wrong {
    let message = format!(
        "{REQUESTS} requests, or {} MiB of them, are under way: wait for answers, then send this again",
        HELD_KIB >> 10
    );
    Wrong::told(Some(id), ErrorData::internal_error(message, None))
}

fn too_long() -> Wrong {
    let message = format!("a message has at most {} MiB; this one was dropped", LINE_BYTES >> 20);
    Wrong::told(None, ErrorData::invalid_request(message, None))
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
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
        // Taken now, and given back when the client has read: until then it counts.
        let unsent = Arc::clone(&self.unsent).try_acquire_owned();
        let under_way = Arc::clone(&self.under_way);
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
                under_way.over(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(message) = self.next_in_turn() {
                return Some(message);
            }
            let (under_way, anybody_waits) =
                (Arc::clone(&self.under_way), !self.waiting.is_empty());
            if self.ended && !anybody_waits {
                return None;
            }
            let ended = self.ended;
            let read = tokio::select! {
                biased;
                () = under_way.fewer.notified(), if anybody_waits => continue,
                read = self.read_message(), if !ended => read,
            };
            match read {
                Some(Ok(Some(message))) => return Some(message),
                Some(Ok(None)) => {}
                Some(Err(wrong)) => self.answer(wrong),
                // What was asked before the end is still answered.
                None => self.ended = true,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.shutdown().await
    }
}
