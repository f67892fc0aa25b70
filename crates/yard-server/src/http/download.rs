//! Bytes of files as answers, which are read while they are sent.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
};
use http::{HeaderMap, Response, StatusCode};
use hyper::body::Frame;

use super::cancel::CancelOnDrop;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::stream::{Body, pieces, whole};
use crate::pool::WorkKind;

/// Bytes of a file.
pub(super) struct Download {
    /// 200, 206 for a part, or 304 if the client has them.
    pub(super) status: StatusCode,
    /// Their hash, quoted.
    pub(super) etag: String,
    /// The size of the whole file.
    pub(super) size: u64,
    /// The range that is sent.
    pub(super) range: Range<u64>,
    /// Reads the next piece; `None` if nothing is sent.
    pub(super) next: Option<ReadPiece>,
}

/// Reads at least one byte from an offset on.
pub(super) type ReadPiece =
    Arc<dyn Fn(&HttpRequest, u64) -> Result<Vec<u8>, Problem> + Send + Sync>;

impl Download {
    /// The answer, which reads on as the client takes it.
    pub(super) fn into_reply(self, request: Arc<HttpRequest>, stop: CancelOnDrop) -> Reply {
        let (status, mut headers) = (self.status, HeaderMap::new());
        self.set_headers(&mut headers);
        let mut response = Response::new(self.body(request, stop));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Reply::response(response)
    }

    /// The headers. No browser may ever run what is in a workspace.
    fn set_headers(&self, headers: &mut HeaderMap) {
        let Range { start, end } = self.range;
        let mut set = |name: HeaderName, text: String| {
            headers.extend(HeaderValue::from_str(&text).ok().map(|value| (name, value)));
        };
        set(ETAG, self.etag.clone());
        set(ACCEPT_RANGES, "bytes".to_owned());
        if self.status == StatusCode::NOT_MODIFIED {
            return;
        }
        set(CONTENT_TYPE, "application/octet-stream".to_owned());
        set(CONTENT_DISPOSITION, "attachment".to_owned());
        set(CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'".to_owned());
        set(CONTENT_LENGTH, (end - start).to_string());
        if self.status == StatusCode::PARTIAL_CONTENT {
            set(CONTENT_RANGE, format!("bytes {start}-{}/{}", end - 1, self.size));
        }
    }

    /// The bytes, read piece by piece as the client takes them.
    fn body(self, request: Arc<HttpRequest>, stop: CancelOnDrop) -> Body {
        let Self { range, next, .. } = self;
        let Some(next) = next.filter(|_| !range.is_empty()) else { return whole(Bytes::new()) };
        pieces(stream::unfold((range.start, stop), move |(offset, stop)| {
            let (request, next, end) = (Arc::clone(&request), Arc::clone(&next), range.end);
            async move {
                if offset >= end {
                    return None;
                }
                let (app, workspace_key) = (Arc::clone(&request.app), request.workspace_key());
                let read = move || next(&request, offset);
                match app.pools.run(&workspace_key, WorkKind::Look, read).await {
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
}
