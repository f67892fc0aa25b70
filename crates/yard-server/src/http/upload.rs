//! The bodies of uploads, which are streamed to their handlers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::timeout;
use yard_core::World;

use super::problem::Problem;

/// How many pieces of an upload may wait to be written before the client has to wait.
const UPLOAD_QUEUE: usize = 8;
/// How long a sender may pause.
const PAUSE: Duration = Duration::from_secs(60);
/// The least speed of an upload, after one pause: a slower sender would keep a thread that others wait for. It is below that
/// of a body in memory, because files may be large and lines slow.
const LEAST_BYTES_PER_SECOND: u64 = 64 << 10;

/// A piece of an upload.
enum Piece {
    Bytes(Bytes),
    /// The body came whole. Without it, the client disconnected.
    End,
}

/// The pieces of an upload, for a handler that reads them on its own thread.
#[derive(Default)]
pub(crate) struct Chunks(Mutex<Option<mpsc::Receiver<Result<Piece, Problem>>>>);

impl Chunks {
    /// Calls `take` with every piece. It fails if the body did not come whole.
    pub(super) fn each(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let receiver = self.0.lock().take();
        let mut receiver = receiver.ok_or_else(Problem::internal)?;
        while let Some(piece) = receiver.blocking_recv() {
            match piece? {
                Piece::Bytes(bytes) => take(&bytes)?,
                Piece::End => return Ok(()),
            }
        }
        Err(Problem::broken_body())
    }
}

/// A channel for the pieces of an upload, and the future that sends them.
pub(super) fn incoming(
    body: &mut Incoming,
    world: Arc<dyn World>,
) -> (Chunks, impl Future<Output = ()>) {
    let (sender, receiver) = mpsc::channel(UPLOAD_QUEUE);
    (Chunks(Mutex::new(Some(receiver))), pump(body, sender, world))
}

async fn pump(
    body: &mut Incoming,
    sender: mpsc::Sender<Result<Piece, Problem>>,
    world: Arc<dyn World>,
) {
    let mut pace = Pace::default();
    loop {
        let began = world.elapsed();
        let frame = tokio::select! {
            frame = timeout(pace.longest_wait(), body.frame()) => frame,
            // The handler needs no more pieces: its answer must not wait for the client's next one.
            () = sender.closed() => return,
        };
        pace.waited += world.elapsed().saturating_sub(began);
        let piece = match frame {
            Ok(None) => Ok(Piece::End),
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => {
                    pace.bytes += data.len() as u64;
                    Ok(Piece::Bytes(data))
                }
                Err(_) => continue,
            },
            Ok(Some(Err(_))) => Err(Problem::broken_body()),
            Err(_) => Err(Problem::slow_body()),
        };
        let ends = !matches!(piece, Ok(Piece::Bytes(_)));
        if sender.send(piece).await.is_err() || ends {
            return;
        }
    }
}

/// What the sender of an upload has sent, and how long that was waited for. The time in which the handler writes is not the
/// sender's.
#[derive(Default)]
struct Pace {
    bytes: u64,
    waited: Duration,
}

impl Pace {
    /// How long the next piece may take.
    fn longest_wait(&self) -> Duration {
        let all = PAUSE + Duration::from_secs(self.bytes / LEAST_BYTES_PER_SECOND);
        all.saturating_sub(self.waited).min(PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_may_pause_and_has_a_least_speed() {
        let longest_wait = |bytes: u64, seconds: u64| {
            Pace { bytes, waited: Duration::from_secs(seconds) }.longest_wait().as_secs()
        };
        assert_eq!(longest_wait(0, 0), 60);
        assert_eq!(longest_wait(3, 50), 10, "a byte now and then buys no time");
        assert_eq!(longest_wait(3, 60), 0);
        assert_eq!(longest_wait(1 << 30, 1_000), 60, "fast enough for a pause");
        assert_eq!(longest_wait(LEAST_BYTES_PER_SECOND * 100, 150), 10);
    }
}
