//! Reads request bodies into memory, within bounds. A small body is read at once. A large one is read only
//! for a caller who was authorized, and only while all large bodies together fit into [`BodyBudget`].

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::problem::Problem;

/// Bodies up to here are read before the caller is authorized.
pub(crate) const SMALL_BYTES: usize = 64 << 10;
/// How long a client may pause while it sends a body.
const PAUSE: Duration = Duration::from_secs(60);
/// How many bytes of a refused body [`drain`] reads, and for how long.
const DRAIN_BYTES: usize = 1 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// KiB that all large bodies together may take.
const BUDGET_KIB: u32 = 256 << 10;

/// The memory that large bodies share.
#[derive(Debug)]
pub(crate) struct BodyBudget(Arc<Semaphore>);

impl Default for BodyBudget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BUDGET_KIB as usize)))
    }
}

/// A body that is being read.
pub(crate) struct BodyReader<'a> {
    body: &'a mut Incoming,
    read: BytesMut,
    most: u64,
    ended: bool,
}

/// A body with the memory that was reserved for it.
pub(crate) type WholeBody = (Bytes, Option<OwnedSemaphorePermit>);

impl<'a> BodyReader<'a> {
    /// Reads a small body whole and the beginning of a large one. Refuses a body whose declared length is
    /// larger than `most`.
    pub(crate) async fn begin(
        headers: &HeaderMap,
        body: &'a mut Incoming,
        most: u64,
    ) -> Result<Self, Problem> {
        if declared_length(headers).is_some_and(|length| length > most) {
            return Err(Problem::too_large(most));
        }
        let mut reader = Self { body, read: BytesMut::new(), most, ended: false };
        reader.read_until(SMALL_BYTES).await?;
        Ok(reader)
    }

    /// Whether the body is large: more than [`SMALL_BYTES`] came, or more is to come.
    pub(crate) fn is_large(&self) -> bool {
        !self.ended
    }

    /// Reads the rest.
    pub(crate) async fn finish(
        mut self,
        headers: &HeaderMap,
        budget: &BodyBudget,
    ) -> Result<WholeBody, Problem> {
        if self.ended {
            return Ok((self.read.freeze(), None));
        }
        let expected = declared_length(headers).unwrap_or(self.most);
        let kib = u32::try_from(expected >> 10).unwrap_or(BUDGET_KIB).clamp(1, BUDGET_KIB);
        let permit = Arc::clone(&budget.0).acquire_many_owned(kib).await;
        let permit = permit.map_err(|_| Problem::internal())?;
        self.read_until(usize::MAX).await?;
        Ok((self.read.freeze(), Some(permit)))
    }

    /// Reads until the body ends or more than `enough` bytes were read.
    async fn read_until(&mut self, enough: usize) -> Result<(), Problem> {
        while !self.ended && self.read.len() <= enough {
            match timeout(PAUSE, self.body.frame()).await.map_err(|_| too_slow())? {
                None => self.ended = true,
                Some(Err(_)) => return Err(Problem::invalid("body", "the body broke off")),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if self.read.len() as u64 + data.len() as u64 > self.most {
                        return Err(Problem::too_large(self.most));
                    }
                    self.read.extend_from_slice(&data);
                    // A body that is larger than a small one stays large, also when it ended with this frame.
                    self.ended = self.read.len() <= SMALL_BYTES && self.body.is_end_stream();
                }
            }
        }
        Ok(())
    }
}

/// Reads on after a request was refused before its body was read. The kernel resets a connection that is
/// closed while its client still writes, and the client would see the reset instead of the answer.
pub(crate) async fn drain(body: &mut Incoming) {
    let mut left = DRAIN_BYTES;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    let _ = timeout(DRAIN_TIME, rest).await;
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_slow() -> Problem {
    Problem::new(408, "TIMEOUT", "the body took too long to arrive")
}
