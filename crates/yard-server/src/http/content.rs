//! Raw bytes of files and versions, of any type and size, in both directions. They are streamed.

use std::sync::Arc;

use http::header::{HeaderValue, IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE};
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::op::{
    FETCH_BYTES, Fetch, FetchVersion, Fingerprint, Locate, OnExisting, Place, ShowVersion,
};
use yard_core::{ContentHash, WsPath};

use super::download::{Download, ReadPiece};
use super::files::{File, OneFile, file_of};
use super::outcome::Outcome;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// Where a new file goes.
#[derive(Deserialize, JsonSchema)]
pub(super) struct UploadQuery {
    /// The path of the new file; missing folders are made.
    path: String,
}

pub(super) fn read(request: &HttpRequest) -> Result<Outcome, Problem> {
    let path = current_path(request)?;
    let file = request.perform(Fingerprint { path })?;
    let (path, seen) = (file.path, Some(file.seen));
    raw(request, file.hash, file.size, move |request, offset, length| {
        let fetch = Fetch { path: path.clone(), offset, length, seen };
        Ok(request.perform(fetch)?.bytes)
    })
}

pub(super) fn read_version(request: &HttpRequest) -> Result<Outcome, Problem> {
    let (version, of) = (request.id("version_id", "version")?, Some(file_of(request)?));
    let shown = request.perform(ShowVersion { version, of, max_bytes: 0 })?;
    if shown.purged {
        return Err(Problem::not_found("the content of this version was purged"));
    }
    raw(request, shown.hash, shown.size, move |request, offset, length| {
        Ok(request.perform(FetchVersion { version, of, offset, length })?.bytes)
    })
}

pub(super) fn write(request: &HttpRequest) -> Result<Reply, Problem> {
    let path = current_path(request)?;
    let expected = if_match(request.headers())?;
    let reply = store_upload(request, path, OnExisting::Replace, expected)?;
    Reply::ok(&reply)
}

pub(super) fn create(request: &HttpRequest) -> Result<Reply, Problem> {
    let UploadQuery { path } = request.query()?;
    let path = WsPath::parse(&path).map_err(|error| Problem::invalid("path", error.to_string()))?;
    let reply = store_upload(request, path, OnExisting::Refuse, None)?;
    Reply::created(&reply)
}

/// Receives the body and stores it as a file.
fn store_upload(
    request: &HttpRequest,
    path: WsPath,
    on_existing: OnExisting,
    expected: Option<ContentHash>,
) -> Result<OneFile, Problem> {
    let session = request.session()?;
    let receive_and_place = || {
        let mut upload = session.upload(&request.call)?;
        request.chunks.each(|chunk| Ok(upload.write(chunk)?))?;
        let uploaded = upload.finish()?;
        request.perform(Place {
            path,
            upload: uploaded.id(),
            file_type: None,
            on_existing,
            expected,
        })
    };
    let placed = receive_and_place().map_err(|problem| match request.call.is_cancelled() {
        // It was cancelled, so that nothing was placed.
        true if problem.status == 408 => problem.having_done_nothing(),
        _ => problem,
    })?;
    // The file is there: its answer is made although the client may have disconnected.
    let located =
        request.perform_in(&request.call.without_limits(), Locate { file: placed.file })?;
    Ok(OneFile { file: File::of(&located, request)? })
}

/// The current path of the file that the URL names.
fn current_path(request: &HttpRequest) -> Result<WsPath, Problem> {
    let file = request.perform(Locate { file: file_of(request)? })?;
    let gone = || Problem::not_found("this file was removed; POST .../restore brings it back");
    file.path.ok_or_else(gone)
}

/// The hash that the header `If-Match` requires.
fn if_match(headers: &HeaderMap) -> Result<Option<ContentHash>, Problem> {
    let Some(sent) = headers.get(IF_MATCH).map(|value| value.to_str().unwrap_or_default()) else {
        return Ok(None);
    };
    if sent.trim() == "*" {
        return Ok(None);
    }
    let hash = unquoted(sent).parse();
    hash.map(Some)
        .map_err(|_| Problem::invalid("If-Match", "expected the ETag, the hash of the bytes"))
}

fn unquoted(tag: &str) -> &str {
    tag.trim().trim_start_matches("W/").trim_matches('"')
}

/// An answer of raw bytes: all of them, a range, or none if the caller has them already.
pub(super) fn raw(
    request: &HttpRequest,
    hash: ContentHash,
    size: u64,
    read: impl Fn(&HttpRequest, u64, u64) -> Result<Vec<u8>, Problem> + Send + Sync + 'static,
) -> Result<Outcome, Problem> {
    let etag = format!("\"{hash}\"");
    let has_it = |tag: &str| unquoted(tag) == unquoted(&etag) || tag.trim() == "*";
    let tags = request.headers().get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    if tags.is_some_and(|tags| tags.split(',').any(has_it)) {
        let (status, range) = (StatusCode::NOT_MODIFIED, 0..0);
        return Ok(Outcome::Download(Download { status, etag, size, range, next: None }));
    }
    // A client that resumes a download of another version gets this one whole.
    let is_same = |tag: &HeaderValue| tag.to_str().is_ok_and(|tag| tag.trim() == etag);
    let range = request.headers().get(RANGE);
    let range = range.filter(|_| request.headers().get(IF_RANGE).is_none_or(is_same));
    let requested = range.and_then(|range| range.to_str().ok());
    let (status, range) = match requested.map(|text| range_of(text, size)) {
        None | Some(RequestedRange::Whole) => (StatusCode::OK, 0..size),
        Some(RequestedRange::Part(range)) => (StatusCode::PARTIAL_CONTENT, range),
        Some(RequestedRange::Outside) => {
            let message = format!("the file has {size} bytes");
            let problem = Problem::new(416, "RANGE_NOT_SATISFIABLE", message);
            return Err(problem.content_range(size));
        }
    };
    let end = range.end;
    let next: ReadPiece = Arc::new(move |request: &HttpRequest, offset: u64| {
        read(request, offset, (end - offset).min(FETCH_BYTES))
    });
    Ok(Outcome::Download(Download { status, etag, size, range, next: Some(next) }))
}

/// The range that a `Range` header requests.
#[derive(Debug, PartialEq, Eq)]
enum RequestedRange {
    Whole,
    Part(std::ops::Range<u64>),
    Outside,
}

/// Parses one range of bytes. A header with several ranges, or another unit, means the whole.
fn range_of(text: &str, size: u64) -> RequestedRange {
    let Some(spec) = text.trim().strip_prefix("bytes=") else { return RequestedRange::Whole };
    let Some((first, last)) = spec.split_once('-') else { return RequestedRange::Whole };
    let (first, last) = (first.trim(), last.trim());
    let range = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Ok(first), Err(_)) if last.is_empty() => first..size,
        (Err(_), Ok(count)) if first.is_empty() => size.saturating_sub(count)..size,
        _ => return RequestedRange::Whole,
    };
    if range.is_empty() { RequestedRange::Outside } else { RequestedRange::Part(range) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed_as_http_defines_them() {
        assert_eq!(range_of("bytes=0-0", 10), RequestedRange::Part(0..1));
        assert_eq!(range_of("bytes=2-", 10), RequestedRange::Part(2..10));
        assert_eq!(range_of("bytes=-3", 10), RequestedRange::Part(7..10));
        assert_eq!(range_of("bytes=-30", 10), RequestedRange::Part(0..10));
        assert_eq!(range_of("bytes=5-100", 10), RequestedRange::Part(5..10));
        assert_eq!(range_of("bytes=10-", 10), RequestedRange::Outside);
        assert_eq!(range_of("bytes=-0", 10), RequestedRange::Outside);
        assert_eq!(range_of("bytes=0-", 0), RequestedRange::Outside);
        for whole in ["", "lines=1-2", "bytes=1-2,4-5", "bytes=5-2", "bytes=x-y", "bytes=-"] {
            assert_eq!(range_of(whole, 10), RequestedRange::Whole, "{whole}");
        }
    }
}
