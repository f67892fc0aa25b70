//! An event stream (SSE), whatever its events are about. It sends what is new, waits for more, and sends a comment now
//! and then, so that the client knows that the stream is open.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::body::Frame;
use tokio::sync::Notify;

use super::cancel::CancelOnDrop;
use super::request::HttpRequest;
use super::stream::{Body, pieces};

/// The first line of a stream: the milliseconds after which a client that lost it connects again.
pub(super) const RETRY: &str = "retry: 2000\n\n";
/// How often a stream without events sends a comment.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often the events are read without a notification: another process may have written some.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The events of one stream.
pub(super) trait EventSource: Send + 'static {
    /// The text of the events since the last look; `None` ends the stream.
    fn read(&mut self) -> impl Future<Output = Option<String>> + Send;
}

/// The stream of the events of `source`, which is read after each notification.
pub(super) fn body(
    request: Arc<HttpRequest>,
    notify: Arc<Notify>,
    source: impl EventSource,
    stop: CancelOnDrop,
) -> Body {
    let counted = StreamCount::new(&request);
    let sent_at = request.call.world().elapsed();
    let reader = Reader { request, notify, source, sent_at, _counted: counted, _stop: stop };
    pieces(stream::unfold(reader, |mut reader| async move {
        let text = reader.next().await?;
        Some((Ok(Frame::data(Bytes::from(text))), reader))
    }))
}

/// One reader of a stream.
struct Reader<S> {
    request: Arc<HttpRequest>,
    notify: Arc<Notify>,
    source: S,
    /// When something was sent, by the monotonic clock.
    sent_at: Duration,
    _counted: StreamCount,
    _stop: CancelOnDrop,
}

impl<S: EventSource> Reader<S> {
    /// The next piece of the stream; `None` ends it.
    async fn next(&mut self) -> Option<String> {
        loop {
            if self.request.app.shutdown.has_begun() {
                return None;
            }
            let text = self.source.read().await?;
            if !text.is_empty() {
                self.sent_at = self.now();
                return Some(text);
            }
            self.wait().await;
            // However often it was woken meanwhile.
            if self.now().saturating_sub(self.sent_at) >= HEARTBEAT {
                self.sent_at = self.now();
                return Some(": still here\n\n".to_owned());
            }
        }
    }

    fn now(&self) -> Duration {
        self.request.call.world().elapsed()
    }

    async fn wait(&mut self) {
        let app = Arc::clone(&self.request.app);
        tokio::select! {
            () = self.notify.notified() => {}
            () = app.shutdown.wait() => {}
            () = app.access_changed.notified() => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}

/// Counts an open stream.
struct StreamCount(Arc<HttpRequest>);

impl StreamCount {
    fn new(request: &Arc<HttpRequest>) -> Self {
        request.app.metrics.streams.inc();
        Self(Arc::clone(request))
    }
}

impl Drop for StreamCount {
    fn drop(&mut self) {
        self.0.app.metrics.streams.dec();
    }
}
