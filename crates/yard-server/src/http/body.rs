//! Reads request bodies, bounded. A small one is read at once; a large one only for a caller who was let
//! in, and only while all large ones together fit into the memory that they may have.

use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::problem::Problem;
use crate::hearing::unheard;

/// Bodies up to here are read before anybody asks who sends them.
pub(crate) const SMALL: usize = 64 << 10;
/// How long a client may take to send a body.
const PATIENCE: Duration = Duration::from_secs(60);
/// What is still read of a body that nobody wants, and for how long: see [`hear_out`].
const UNWANTED: usize = 1 << 20;
const SOON: Duration = Duration::from_secs(1);
/// KiB that all large bodies together may take.
const ROOM: u32 = 256 << 10;

/// The memory that large bodies share.
#[derive(Debug)]
pub(crate) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM as usize)))
    }
}

/// A body that is being read.
pub(crate) struct Reading<'a> {
    body: &'a mut Incoming,
    read: Pieces,
    most: u64,
    ended: bool,
}

/// What was read. Most bodies come in one piece, which is left where it is.
#[derive(Default)]
struct Pieces {
    first: Bytes,
    /// All of them, as soon as there are more.
    all: BytesMut,
}

impl Pieces {
    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn add(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        self.all.extend_from_slice(&mem::take(&mut self.first));
        self.all.extend_from_slice(&piece);
    }

    fn joined(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}

/// A body with the memory that was set aside for it.
pub(crate) type WholeBody = (Bytes, Option<OwnedSemaphorePermit>);

impl<'a> Reading<'a> {
    /// Reads what is small; refuses what says that it is too large.
    pub(crate) async fn begin(
        headers: &HeaderMap,
        body: &'a mut Incoming,
        most: u64,
    ) -> Result<Self, Problem> {
        if said_length(headers).is_some_and(|length| length > most) {
            return Err(Problem::too_large(most));
        }
        let mut reading = Self { body, read: Pieces::default(), most, ended: false };
        reading.read_until(SMALL).await?;
        Ok(reading)
    }

    /// Whether it is no small one: more is to come, or more came than that.
    pub(crate) fn is_large(&self) -> bool {
        !self.ended
    }

    /// Reads the rest.
    pub(crate) async fn finish(
        mut self,
        headers: &HeaderMap,
        room: &Room,
    ) -> Result<WholeBody, Problem> {
        if self.ended {
            return Ok((self.read.joined(), None));
        }
        let expected = said_length(headers).unwrap_or(self.most);
        let kibs = u32::try_from(expected >> 10).unwrap_or(ROOM).clamp(1, ROOM);
        let permit = Arc::clone(&room.0).acquire_many_owned(kibs).await;
        let permit = permit.map_err(|_| Problem::internal())?;
        self.read_until(usize::MAX).await?;
        Ok((self.read.joined(), Some(permit)))
    }

    /// What comes next. A small body is there already, mostly: a clock is set only for one that is not.
    async fn next_frame(&mut self) -> Result<Option<hyper::Result<Frame<Bytes>>>, Problem> {
        match poll_fn(|context| Poll::Ready(self.at_hand(context))).await {
            Poll::Ready(frame) => Ok(frame),
            Poll::Pending => timeout(PATIENCE, self.body.frame()).await.map_err(|_| too_slow()),
        }
    }

    /// What has come already. Its connection is then called to read on, which is of no use once a body of a
    /// known length is at its end: hyper is done with it before it hands out the last piece. Otherwise the call
    /// is passed on, which reaches the connection because a request is answered in its connection's own task.
    fn at_hand(&mut self, context: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let (frame, is_missed) = unheard(|| Pin::new(&mut *self.body).poll_frame(context));
        if is_missed && !self.body.is_end_stream() {
            context.waker().wake_by_ref();
        }
        frame
    }

    async fn read_until(&mut self, enough: usize) -> Result<(), Problem> {
        while !self.ended && self.read.len() <= enough {
            match self.next_frame().await? {
                None => self.ended = true,
                Some(Err(_)) => return Err(Problem::invalid("body", "the body broke off")),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if self.read.len() as u64 + data.len() as u64 > self.most {
                        return Err(Problem::too_large(self.most));
                    }
                    self.read.add(data);
                    // What came is not small because its end came with it.
                    self.ended = self.read.len() <= SMALL && self.body.is_end_stream();
                }
            }
        }
        Ok(())
    }
}

/// Reads on for a client that was refused before its body was read. A connection that is closed while its
/// client still writes is reset, and the client sees that instead of the answer.
pub(crate) async fn hear_out(body: &mut Incoming) {
    let mut left = UNWANTED;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    let _ = timeout(SOON, rest).await;
}

fn said_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_slow() -> Problem {
    Problem::new(408, "TIMEOUT", "the body took too long to arrive")
}
