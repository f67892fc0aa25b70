//! Bodies of answers, whole or streamed, and the bodies of uploads, which are streamed to their handlers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::problem::Problem;
use super::reply::Raw;
use super::request::HttpRequest;
use super::response::CancelOnDrop;
use crate::pool::WorkKind;

/// How many pieces of an upload may wait to be written before the client has to wait.
const UPLOAD_QUEUE: usize = 8;
/// How long a sender may pause.
const PAUSE: Duration = Duration::from_secs(60);

/// The body of an answer: whole, or in pieces as they come.
pub(crate) type Body = Either<Full<Bytes>, UnsyncBoxBody<Bytes, io::Error>>;

/// A whole body.
pub(super) fn whole(bytes: impl Into<Bytes>) -> Body {
    Either::Left(Full::new(bytes.into()))
}

/// A body that comes in pieces.
pub(super) fn pieces(
    pieces: impl Stream<Item = io::Result<Frame<Bytes>>> + Send + 'static,
) -> Body {
    Either::Right(StreamBody::new(pieces).boxed_unsync())
}

/// The bytes of `raw`, read piece by piece as the client takes them.
pub(super) fn outgoing(request: Arc<HttpRequest>, raw: Raw, stop: CancelOnDrop) -> Body {
    let Raw { range, next, .. } = raw;
    let Some(next) = next.filter(|_| !range.is_empty()) else { return whole(Bytes::new()) };
    pieces(stream::unfold((range.start, stop), move |(offset, stop)| {
        let (request, next, end) = (Arc::clone(&request), Arc::clone(&next), range.end);
        async move {
            if offset >= end {
                return None;
            }
            let (app, workspace_key) = (Arc::clone(&request.app), request.workspace_key());
            let piece =
                app.pools.run(&workspace_key, WorkKind::Look, move || next(&request, offset)).await;
            match piece {
                Some(Ok(bytes)) if !bytes.is_empty() => {
                    let after = offset + bytes.len() as u64;
                    Some((Ok(Frame::data(Bytes::from(bytes))), (after, stop)))
                }
                // The file was replaced meanwhile: the client sees that the body broke off.
                _ => Some((Err(io::Error::other("the file changed")), (end, stop))),
            }
        }
    }))
}

/// The pieces of an upload, for a handler that reads them on its own thread.
#[derive(Default)]
pub(crate) struct Chunks(Mutex<Option<mpsc::Receiver<Result<Bytes, Problem>>>>);

impl Chunks {
    /// Calls `take` with every piece.
    pub(super) fn each(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let receiver = self.0.lock().take();
        let mut receiver = receiver.ok_or_else(Problem::internal)?;
        while let Some(chunk) = receiver.blocking_recv() {
            take(&chunk?)?;
        }
        Ok(())
    }
}

/// A channel for the pieces of an upload, and the future that sends them.
pub(super) fn incoming(body: &mut Incoming) -> (Chunks, impl Future<Output = ()>) {
    let (sender, receiver) = mpsc::channel(UPLOAD_QUEUE);
    (Chunks(Mutex::new(Some(receiver))), pump(body, sender))
}

async fn pump(body: &mut Incoming, sender: mpsc::Sender<Result<Bytes, Problem>>) {
    loop {
        let frame = tokio::select! {
            frame = timeout(PAUSE, body.frame()) => frame,
            // The handler needs no more pieces: its answer must not wait for the client's next one.
            () = sender.closed() => return,
        };
        let piece = match frame {
            Ok(None) => return,
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => Ok(data),
                Err(_) => continue,
            },
            Ok(Some(Err(_))) => {
                Err(Problem::invalid("body", "the body broke off; nothing was changed"))
            }
            Err(_) => Err(Problem::new(408, "TIMEOUT", "the body took too long to arrive")),
        };
        let ends = piece.is_err();
        if sender.send(piece).await.is_err() || ends {
            return;
        }
    }
}
