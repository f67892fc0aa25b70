//! What was: a folder and a file as they were after a step, what differs between two steps, and the steps that the lines of
//! a file came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{Blame, BlameOf, Compare, EntryThen, FetchAt, TreeAt};
use yard_core::{StepId, VersionId, WsPath};

use super::content::raw;
use super::files::file_of;
use super::outcome::Outcome;
use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::steps::{Change, StepLine, changes_from, path_of};

/// Which folder.
#[derive(Deserialize, JsonSchema)]
pub(super) struct TreeQuery {
    /// Its path of then (default: the root).
    path: Option<String>,
    /// At most that many entries, 1 to 1,000 (default 100).
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    cursor: Option<String>,
}

/// Which file.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ContentQuery {
    /// Its path of then.
    path: String,
}

/// A file, folder or link of then.
#[derive(Serialize, JsonSchema)]
pub(super) struct TreeEntry {
    name: String,
    /// Its path of then.
    path: String,
    /// `file`, `folder` or `link`.
    kind: &'static str,
    /// The same as now, wherever it is.
    file_id: String,
    /// Null for a folder.
    size: Option<u64>,
    /// Null for a folder, and for what the caller may not read.
    hash: Option<String>,
}

impl From<&EntryThen> for TreeEntry {
    fn from(entry: &EntryThen) -> Self {
        Self {
            name: entry.path.name().map(|name| name.to_string()).unwrap_or_default(),
            path: entry.path.to_string(),
            kind: entry.kind.word(),
            file_id: entry.file.to_string(),
            size: entry.size,
            hash: entry.hash.map(|hash| hash.to_string()),
        }
    }
}

/// A folder as it was after a step, as far as the history knows: folders first, then by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct Tree {
    step_id: String,
    path: String,
    /// Without what the caller may not see now.
    entries: Vec<TreeEntry>,
    /// More remain: send this as `cursor`.
    next: Option<String>,
}

/// Which steps are compared.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CompareQuery {
    /// The step from which it is looked.
    from: String,
    /// The other step, which may be older (default: the newest).
    to: Option<String>,
    /// Only what changed from or to this path, or below it.
    path: Option<String>,
    /// At most that many changes, 1 to 1,000 (default 100). Fewer come, with a `next`, where their diffs are long.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    cursor: Option<String>,
}

/// What differs between the files after two steps.
#[derive(Serialize, JsonSchema)]
pub(super) struct Comparison {
    /// The step from which it was looked.
    from: String,
    /// The other step.
    to: String,
    /// File by file, by path. A file that was moved and edited in between is one change.
    changes: Vec<Change>,
    /// A diff was cut, because it alone is longer than an answer may be.
    truncated: bool,
    /// More remain: send this as `cursor`.
    next: Option<String>,
}

/// Which lines.
#[derive(Deserialize, JsonSchema)]
pub(super) struct BlameQuery {
    /// A version of the file (default: the newest).
    version: Option<String>,
    /// At most that many ranges, 1 to 1,000 (default 100).
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    cursor: Option<String>,
}

/// Lines that follow each other and came from one step.
#[derive(Serialize, JsonSchema)]
pub(super) struct LineRange {
    /// From 1 on.
    first_line: u64,
    last_line: u64,
    step_id: String,
}

/// The steps that the lines of a file came from. What an undo or a restore brought back came from where it came from before.
#[derive(Serialize, JsonSchema)]
pub(super) struct BlameReply {
    file_id: String,
    /// Where the file is, or was last.
    path: String,
    /// The version.
    version_id: String,
    /// The content of the version.
    hash: String,
    total_lines: u64,
    ranges: Vec<LineRange>,
    /// The steps of these ranges, each once, newest first.
    steps: Vec<StepLine>,
    /// More remain: send this as `cursor`.
    next: Option<String>,
}

pub(super) fn tree(request: &HttpRequest) -> Result<Reply, Problem> {
    let TreeQuery { path, limit, cursor } = request.query()?;
    let step: StepId = request.id("step_id", "step")?;
    let path = path.map_or_else(|| Ok(WsPath::root()), |path| path_of(&path))?;
    let paging = Paging { limit, cursor };
    let (limit, skip) = (paging.limit()?, paging.cursor::<usize>()?.unwrap_or(0));
    let found = request.perform(TreeAt { step, path: path.clone(), skip, limit })?;
    let next = found.truncated.then(|| (skip + found.entries.len()).to_string());
    let entries = found.entries.iter().map(TreeEntry::from).collect();
    Reply::ok(&Tree { step_id: step.to_string(), path: path.to_string(), entries, next })
}

pub(super) fn content(request: &HttpRequest) -> Result<Outcome, Problem> {
    let ContentQuery { path } = request.query()?;
    let step: StepId = request.id("step_id", "step")?;
    let path = path_of(&path)?;
    let fetch = move |request: &HttpRequest, offset: u64, length: u64| {
        request.perform(FetchAt { step, path: path.clone(), offset, length })
    };
    let found = fetch(request, 0, 0)?;
    raw(request, found.hash, found.size, move |request, offset, length| {
        Ok(fetch(request, offset, length)?.bytes)
    })
}

pub(super) fn compare(request: &HttpRequest) -> Result<Reply, Problem> {
    let CompareQuery { from, to, path, limit, cursor } = request.query()?;
    let step = |name: &str, text: &str| -> Result<StepId, Problem> {
        text.parse().map_err(|_| {
            Problem::invalid(name, "expected the id of a step; GET .../steps lists them")
        })
    };
    let from = step("from", &from)?;
    let mut to = to.map(|to| step("to", &to)).transpose()?;
    let path = path.map(|path| path_of(&path)).transpose()?;
    let paging = Paging { limit, cursor };
    let mut skip = 0;
    if let Some(Place { of, at }) = paging.cursor::<Place<StepId>>()? {
        // Without `to`, the newest step of the first answer is compared to the end.
        to = to.or(Some(of));
        skip = usize::try_from(at).unwrap_or(usize::MAX);
    }
    let limit = paging.limit()?;
    let page = changes_from(skip, limit);
    let compared = request.perform(Compare { from, to, path, page })?;
    let next = compared.next.map(|at| Place { of: compared.to, at: at as u64 }.text());
    Reply::ok(&Comparison {
        from: compared.from.to_string(),
        to: compared.to.to_string(),
        changes: compared.changes.iter().map(Change::from).collect(),
        truncated: compared.truncated,
        next,
    })
}

pub(super) fn blame(request: &HttpRequest) -> Result<Reply, Problem> {
    let BlameQuery { version, limit, cursor } = request.query()?;
    let version = version.map(|version| version.parse()).transpose();
    let mut version: Option<VersionId> = version.map_err(|_| {
        Problem::invalid("version", "expected the id of a version; GET .../versions lists them")
    })?;
    let paging = Paging { limit, cursor };
    let mut first_line = 1;
    if let Some(Place { of, at }) = paging.cursor::<Place<VersionId>>()? {
        // Without `version`, the newest one of the first answer is read to the end.
        version = version.or(Some(of));
        first_line = at;
    }
    let of = BlameOf::File(file_of(request)?);
    let blamed = request.perform(Blame { of, version, first_line, limit: paging.limit()? })?;
    let range = |range: &yard_core::op::BlamedRange| LineRange {
        first_line: range.first_line,
        last_line: range.last_line,
        step_id: range.step.to_string(),
    };
    Reply::ok(&BlameReply {
        file_id: blamed.file.to_string(),
        path: blamed.path.to_string(),
        version_id: blamed.version.to_string(),
        hash: blamed.hash.to_string(),
        total_lines: blamed.total_lines,
        ranges: blamed.ranges.iter().map(range).collect(),
        steps: blamed.steps.iter().map(StepLine::from).collect(),
        next: blamed.next_line.map(|at| Place { of: blamed.version, at }.text()),
    })
}

/// Where a list goes on that belongs to a step or a version: its id, a dot, and a number.
struct Place<T> {
    of: T,
    at: u64,
}

impl<T: std::fmt::Display> Place<T> {
    fn text(&self) -> String {
        format!("{}.{}", self.of, self.at)
    }
}

impl<T: std::str::FromStr> std::str::FromStr for Place<T> {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (of, at) = text.split_once('.').ok_or(())?;
        Ok(Self { of: of.parse().map_err(|_| ())?, at: at.parse().map_err(|_| ())? })
    }
}
