//! Which contents of files the caller has seen, over HTTP. A file that changed has another hash, and is not seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{ContentHash, WsPath};

use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// A mark to set or to take back.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewMark {
    /// The file.
    path: String,
    /// SHA-256 of its content.
    hash: String,
    /// Whether it is seen from now on.
    seen: bool,
}

/// A content that the caller has seen.
#[derive(Serialize, JsonSchema)]
pub(super) struct Mark {
    path: String,
    /// SHA-256 of the content.
    hash: String,
}

/// What the caller has seen, in the order in which it was marked.
#[derive(Serialize, JsonSchema)]
pub(super) struct MarkList {
    seen: Vec<Mark>,
    /// Newer ones remain: send this as `cursor`.
    next: Option<String>,
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let after = paging.cursor::<u64>()?.unwrap_or(0);
    let page = request.session()?.seen_marks(after, paging.limit()?)?;
    let next = page.rows.last().filter(|_| page.truncated).map(|mark| mark.number.to_string());
    let marks = page
        .rows
        .iter()
        .map(|mark| Mark { path: mark.path.to_string(), hash: mark.content.to_string() });
    Reply::ok(&MarkList { seen: marks.collect(), next })
}

pub(super) fn set(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewMark { path, hash, seen } = request.json()?;
    let path = WsPath::parse(&path).map_err(|error| Problem::invalid("path", error.to_string()))?;
    let hash: ContentHash =
        hash.parse().map_err(|_| Problem::invalid("hash", "expected a SHA-256, in hexadecimal"))?;
    let session = request.session()?;
    match seen {
        true => session.mark_seen(&request.call, &path, &hash)?,
        false => session.unmark_seen(&request.call, &path, &hash)?,
    }
    Ok(Reply::empty())
}
