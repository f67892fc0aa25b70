//! Reads request bodies into memory, within bounds. A small body is read at once. A large one is read only
//! for a caller who was authorized, and only while all large bodies together fit into [`BodyBudget`].

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

use super::problem::Problem;
use crate::body_memory::{BodyBudget, BodyMemory};

/// Bodies up to here are read before the caller is authorized.
pub(crate) const SMALL_BYTES: usize = 64 << 10;
/// How long a small body may take, a client may pause while it sends a large one, and a large one waits for memory.
const PAUSE: Duration = Duration::from_secs(60);
/// The least speed of a large body: a client that is slower would hold memory that others wait for.
const LEAST_BYTES_PER_SECOND: u64 = 256 << 10;
/// After how many seconds it is worth asking for memory again.
const RETRY_SECONDS: u32 = 5;
/// How many bytes of a refused body [`drain`] reads, and for how long.
const DRAIN_BYTES: usize = 1 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(1);
/// A body that is being read.
pub(crate) struct BodyReader<'a> {
    body: &'a mut Incoming,
    read: BytesMut,
    max_bytes: u64,
    ended: bool,
}

impl<'a> BodyReader<'a> {
    /// Reads a small body whole and the beginning of a large one. Refuses a body whose declared length is
    /// larger than `max_bytes`.
    pub(crate) async fn begin(
        headers: &HeaderMap,
        body: &'a mut Incoming,
        max_bytes: u64,
    ) -> Result<Self, Problem> {
        if declared_length(headers).is_some_and(|length| length > max_bytes) {
            return Err(Problem::too_large(max_bytes));
        }
        let mut reader = Self { body, read: BytesMut::new(), max_bytes, ended: false };
        timeout(PAUSE, reader.read_until(SMALL_BYTES))
            .await
            .map_err(|_| Problem::slow_body())??;
        Ok(reader)
    }

    /// Reads the rest, in memory of `owner`.
    pub(crate) async fn finish(
        mut self,
        headers: &HeaderMap,
        budget: &BodyBudget,
        owner: &str,
    ) -> Result<(Bytes, BodyMemory), Problem> {
        if self.ended {
            return Ok((self.read.freeze(), BodyMemory::default()));
        }
        let expected = declared_length(headers).unwrap_or(self.max_bytes);
        let memory =
            timeout(PAUSE, budget.reserve(owner, expected)).await.map_err(|_| no_memory())?;
        let max_time = PAUSE + Duration::from_secs(expected / LEAST_BYTES_PER_SECOND);
        timeout(max_time, self.read_until(usize::MAX))
            .await
            .map_err(|_| Problem::slow_body())??;
        Ok((self.read.freeze(), memory))
    }

    /// Reads until the body ends or more than `enough` bytes were read.
    async fn read_until(&mut self, enough: usize) -> Result<(), Problem> {
        while !self.ended && self.read.len() <= enough {
            match timeout(PAUSE, self.body.frame()).await.map_err(|_| Problem::slow_body())? {
                None => self.ended = true,
                Some(Err(_)) => return Err(Problem::broken_body()),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if self.read.len() as u64 + data.len() as u64 > self.max_bytes {
                        return Err(Problem::too_large(self.max_bytes));
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

fn no_memory() -> Problem {
    let message = format!(
        "large bodies of other requests take all the memory that there is for them; try again in {RETRY_SECONDS} s"
    );
    Problem::new(429, "RATE_LIMITED", message).retry_after(RETRY_SECONDS)
}
