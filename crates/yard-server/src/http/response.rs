//! The HTTP response of a reply or a problem: status, headers and body. It decides nothing else.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderMap, Response, StatusCode};

use super::app::App;
use super::problem::Problem;
use super::reply::{Content, Raw, Reply};
use super::request::HttpRequest;
use super::stream::{self, Body};
use super::web::{self, WebFile};
use super::{all_events, decide, events};
use crate::request_id::RequestId;

/// No scripts, nothing from other hosts, no frames, no forms to other sites.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'";
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The request of a streamed answer, kept until its last piece is sent.
pub(super) struct OpenRequest {
    pub(super) request: Box<HttpRequest>,
    pub(super) cancel: CancelOnDrop,
}

/// Cancels the work of a request when it is dropped, because the request ended or its client disconnected.
pub(super) struct CancelOnDrop(pub(super) Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The response. A problem at the path of a `page` becomes a page as well.
pub(super) fn into_response(
    app: &App,
    id: &RequestId,
    result: Result<(Reply, Option<OpenRequest>), Problem>,
    page: Option<&str>,
) -> Response<Body> {
    let mut headers = HeaderMap::with_capacity(8);
    let (reply, open) = result.unwrap_or_else(|problem| {
        set_problem_headers(&mut headers, &problem);
        let reply =
            page.map_or_else(|| Reply::from(&problem), |path| decide::refused(&problem, path));
        (reply, None)
    });
    let Reply { status, content, cookies } = reply;
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set(&mut headers, REQUEST_ID, Some(id.as_str()));
    for cookie in cookies {
        let text = cookie.header(app.settings.secure_cookies);
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.append(SET_COOKIE, value);
        }
    }
    let body = match (content, open) {
        (Content::Json(bytes) | Content::Waiting(bytes, _), _) => {
            typed(&mut headers, "application/json", bytes)
        }
        (Content::Text(media, text), _) => typed(&mut headers, media, text),
        (Content::Page(page), _) => {
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
            // Forms send their origin, and other sites do not learn the address of the page.
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
            typed(&mut headers, "text/html; charset=utf-8", page)
        }
        (Content::WebFile(file), _) => web_file(&mut headers, *file),
        (Content::SeeOther(path), _) => {
            set(&mut headers, LOCATION, Some(path));
            stream::whole(Bytes::new())
        }
        (Content::Raw(raw), Some(open)) => {
            set_file_headers(&mut headers, status, &raw);
            stream::outgoing(open.request.into(), raw, open.cancel)
        }
        (Content::Events(cursor), Some(open)) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            events::body(open.request.into(), cursor, open.cancel)
        }
        (Content::AllEvents(since), Some(open)) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            all_events::body(open.request.into(), since, open.cancel)
        }
        (Content::Response(response), _) => {
            let (head, body) = response.into_parts();
            // Headers that the protocol sets replace ours.
            headers.extend(head.headers);
            body
        }
        (
            Content::Empty
            | Content::Raw(_)
            | Content::Events(_)
            | Content::AllEvents(_)
            | Content::Mcp(_),
            _,
        ) => stream::whole(Bytes::new()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    *response.headers_mut() = headers;
    response
}

fn typed(headers: &mut HeaderMap, media: &'static str, body: impl Into<Bytes>) -> Body {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    stream::whole(body)
}

/// A file of the page: browsers keep it, and ask each time whether it is still the same.
fn web_file(headers: &mut HeaderMap, file: WebFile) -> Body {
    set(headers, ETAG, Some(&file.etag));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(web::POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    if file.is_known {
        return stream::whole(Bytes::new());
    }
    if file.is_compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    typed(headers, file.media, file.bytes)
}

fn set_problem_headers(headers: &mut HeaderMap, problem: &Problem) {
    if problem.status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    set(headers, RETRY_AFTER, problem.retry_after.map(|seconds| seconds.to_string()));
    set(headers, CONTENT_RANGE, problem.size.map(|size| format!("bytes */{size}")));
}

/// The headers of a file's bytes. No browser may ever run what is in a workspace.
fn set_file_headers(headers: &mut HeaderMap, status: u16, raw: &Raw) {
    let Range { start, end } = raw.range;
    set(headers, ETAG, Some(raw.etag.clone()));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if status == 304 {
        return;
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers
        .insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    set(headers, CONTENT_LENGTH, Some((end - start).to_string()));
    if status == 206 {
        set(headers, CONTENT_RANGE, Some(format!("bytes {start}-{}/{}", end - 1, raw.size)));
    }
}

/// Sets a header, if there is a text that can be its value.
pub(super) fn set(headers: &mut HeaderMap, name: HeaderName, text: Option<impl AsRef<str>>) {
    if let Some(value) = text.and_then(|text| HeaderValue::from_str(text.as_ref()).ok()) {
        headers.insert(name, value);
    }
}
