//! The HTTP response of a reply: status, headers and body. It decides nothing else.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderName, HeaderValue, LOCATION, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, VARY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, Response, StatusCode};

use super::html;
use super::problem::Problem;
use super::reply::{Content, Reply, WebFile};
use super::stream::{self, Body};
use crate::request_id::RequestId;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The response. `problem` is what went wrong, where the reply says that. Cookies are sent over TLS only if `secure_cookies`.
pub(super) fn into_response(
    id: &RequestId,
    reply: Reply,
    problem: Option<&Problem>,
    secure_cookies: bool,
) -> Response<Body> {
    let mut headers = HeaderMap::with_capacity(8);
    if let Some(problem) = problem {
        set_problem_headers(&mut headers, problem);
    }
    let Reply { status, content, cookies } = reply;
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set(&mut headers, REQUEST_ID, Some(id.as_str()));
    for cookie in cookies {
        if let Ok(value) = HeaderValue::from_str(&cookie.header(secure_cookies)) {
            headers.append(SET_COOKIE, value);
        }
    }
    let body = match content {
        Content::Empty => stream::whole(Bytes::new()),
        Content::Json(bytes) => typed(&mut headers, "application/json", bytes),
        Content::Text(media, text) => typed(&mut headers, media, text),
        Content::Page(page) => {
            set(&mut headers, CONTENT_SECURITY_POLICY, Some(&*html::POLICY));
            headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
            // Forms send their origin, and other sites do not learn the address of the page.
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
            typed(&mut headers, "text/html; charset=utf-8", page)
        }
        Content::WebFile(file) => web_file(&mut headers, *file),
        Content::SeeOther(path) => {
            set(&mut headers, LOCATION, Some(path));
            stream::whole(Bytes::new())
        }
        Content::Response(response) => {
            let (head, body) = response.into_parts();
            // Headers of its own replace ours.
            headers.extend(head.headers);
            body
        }
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
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(file.policy));
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

/// Sets a header, if there is a text that can be its value.
pub(super) fn set(headers: &mut HeaderMap, name: HeaderName, text: Option<impl AsRef<str>>) {
    if let Some(value) = text.and_then(|text| HeaderValue::from_str(text.as_ref()).ok()) {
        headers.insert(name, value);
    }
}
