//! Files over HTTP, by id: their data, versions, trash and restore. Their bytes are in `content.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{
    FETCH_BYTES, FetchVersion, FileLocation, History, HistoryEntry, HistoryOf, Locate, Purge,
    Restore, Restored, ShowVersion, ShownVersion, Trash, Trashed,
};
use yard_core::{FileId, VersionId};

use super::paging::{Paging, cut};
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::steps::DIFF_BYTES;

/// What is known of a file.
#[derive(Serialize, JsonSchema)]
pub(super) struct File {
    id: String,
    /// Where it is; null once it was removed.
    path: Option<String>,
    /// Where it is, or was last.
    last_path: String,
    /// Its name for people: its own, unless another was set.
    display_name: String,
    /// `file`, `folder` or `link`.
    kind: &'static str,
    file_type: &'static str,
    size: Option<u64>,
    /// SHA-256 of its newest version.
    hash: Option<String>,
    version_id: Option<String>,
    created_at: String,
    removed_at: Option<String>,
    /// The step that removed it.
    removed_by: Option<String>,
    /// Its contents were purged: it cannot be restored.
    purged: bool,
}

impl File {
    pub(super) fn of(location: &FileLocation, request: &HttpRequest) -> Result<Self, Problem> {
        let own =
            || location.last_path.name().map_or_else(|| "/".to_owned(), |name| name.to_string());
        Ok(Self {
            id: location.file.to_string(),
            path: location.path.as_ref().map(ToString::to_string),
            last_path: location.last_path.to_string(),
            display_name: request.session()?.display_name(location.file)?.unwrap_or_else(own),
            kind: location.kind.word(),
            file_type: location.file_type.word(),
            size: location.size,
            hash: location.hash.map(|hash| hash.to_string()),
            version_id: location.version.map(|version| version.to_string()),
            created_at: location.created_at.to_string(),
            removed_at: location.removed.map(|removal| removal.at.to_string()),
            removed_by: location.removed.map(|removal| removal.step.to_string()),
            purged: location.purged,
        })
    }
}

/// What is to be known of a file from now on.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewName {
    /// Its name for people, up to 200 characters; null for its own. Its path stays.
    display_name: Option<String>,
}

/// A file, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneFile {
    pub(super) file: File,
}

/// One version of a file, in one line.
#[derive(Serialize, JsonSchema)]
pub(super) struct VersionLine {
    id: String,
    step_id: String,
    at: String,
    /// `agent`, `person` or `external`.
    author: &'static str,
    /// Who exactly, as `person:ID` or `key:ID`.
    actor: String,
    verb: String,
    /// Where the file was then.
    path: Option<String>,
    hash: Option<String>,
    size: Option<u64>,
}

/// Versions, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct Versions {
    versions: Vec<VersionLine>,
    /// Older ones remain: send this as `cursor`.
    next: Option<String>,
}

/// One version, with its text and how it differs from the one before.
#[derive(Serialize, JsonSchema)]
pub(super) struct Version {
    #[serde(flatten)]
    line: VersionLine,
    file_id: String,
    /// The version before.
    before: Option<String>,
    /// Its text, up to 1 MiB; null if it is not UTF-8 (the bytes are at `/content` below this).
    content: Option<String>,
    /// More of the text remains at `/content`.
    content_truncated: bool,
    /// A unified diff against the version before.
    diff: Option<String>,
    /// The diff was cut.
    diff_truncated: bool,
    /// Its content was purged.
    purged: bool,
}

/// A version, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneVersion {
    version: Version,
}

/// A version to go back to.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Revert {
    /// A version of this file: it becomes the newest one.
    version_id: String,
}

/// A file that came back.
#[derive(Serialize, JsonSchema)]
pub(super) struct Back {
    file_id: String,
    path: String,
    /// The step that brought it back: undo it to take it back.
    step_id: String,
}

impl From<&Restored> for Back {
    fn from(restored: &Restored) -> Self {
        Self {
            file_id: restored.file.to_string(),
            path: restored.path.to_string(),
            step_id: restored.step.to_string(),
        }
    }
}

/// Something in the trash.
#[derive(Serialize, JsonSchema)]
pub(super) struct TrashedFile {
    id: String,
    path: String,
    /// `file`, `folder` or `link`.
    kind: &'static str,
    size: Option<u64>,
    /// Null for what was deleted outside of Toolyard: nobody knows when.
    removed_at: Option<String>,
    /// Null for what was deleted outside of Toolyard: no step did it.
    step_id: Option<String>,
}

impl From<&Trashed> for TrashedFile {
    fn from(entry: &Trashed) -> Self {
        Self {
            id: entry.file.to_string(),
            path: entry.path.to_string(),
            kind: entry.kind.word(),
            size: entry.size,
            removed_at: entry.removed_at.map(|at| at.to_string()),
            step_id: entry.step.map(|step| step.to_string()),
        }
    }
}

/// The trash, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct TrashList {
    files: Vec<TrashedFile>,
    /// Older ones remain: send this as `cursor`.
    next: Option<String>,
}

/// What was removed for good.
#[derive(Serialize, JsonSchema)]
pub(super) struct Purged {
    file_id: String,
    /// Files that can no longer be restored.
    files: u64,
    /// Contents that are gone.
    contents: u64,
    /// Their bytes.
    bytes: u64,
}

/// The file that the path names.
pub(super) fn file_of(request: &HttpRequest) -> Result<FileId, Problem> {
    request.id("file_id", "file")
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let location = request.perform(Locate { file: file_of(request)? })?;
    Reply::ok(&OneFile { file: File::of(&location, request)? })
}

pub(super) fn rename(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewName { display_name } = request.json()?;
    let location = request.perform(Locate { file: file_of(request)? })?;
    request.session()?.set_display_name(&request.call, location.file, display_name.as_deref())?;
    Reply::ok(&OneFile { file: File::of(&location, request)? })
}

pub(super) fn versions(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let file = file_of(request)?;
    request.perform(Locate { file })?;
    let limit = paging.limit()? + 1;
    let history = History { of: HistoryOf::File(file), limit, before: paging.cursor()? };
    let (entries, next) =
        cut(request.perform(history)?.steps, &paging, |entry| entry.id.to_string());
    Reply::ok(&Versions { versions: entries.iter().filter_map(line_of).collect(), next })
}

/// The version of the requested file that a step made.
fn line_of(entry: &HistoryEntry) -> Option<VersionLine> {
    Some(VersionLine {
        id: entry.version?.to_string(),
        step_id: entry.id.to_string(),
        at: entry.at.to_string(),
        author: entry.author.word(),
        actor: entry.actor.clone(),
        verb: entry.verb.clone(),
        path: entry.path.as_ref().map(ToString::to_string),
        hash: entry.hash.map(|hash| hash.to_string()),
        size: entry.size,
    })
}

pub(super) fn version(request: &HttpRequest) -> Result<Reply, Problem> {
    let (version, of) = (request.id("version_id", "version")?, Some(file_of(request)?));
    let version_info = request.perform(ShowVersion { version, of, max_bytes: DIFF_BYTES })?;
    let (content, content_truncated) = text_of(request, &version_info)?;
    Reply::ok(&OneVersion {
        version: Version {
            line: VersionLine {
                id: version_info.version.to_string(),
                step_id: version_info.step.to_string(),
                at: version_info.at.to_string(),
                author: version_info.author.word(),
                actor: version_info.actor,
                verb: version_info.verb,
                path: Some(version_info.path.to_string()),
                hash: Some(version_info.hash.to_string()),
                size: Some(version_info.size),
            },
            file_id: version_info.file.to_string(),
            before: version_info.before.map(|version| version.to_string()),
            content,
            content_truncated,
            diff: version_info.diff,
            diff_truncated: version_info.truncated,
            purged: version_info.purged,
        },
    })
}

/// The text of a version up to the limit of one answer, and whether more remains.
fn text_of(
    request: &HttpRequest,
    version_info: &ShownVersion,
) -> Result<(Option<String>, bool), Problem> {
    if version_info.purged {
        return Ok((None, false));
    }
    let fetch =
        FetchVersion { version: version_info.version, of: None, offset: 0, length: FETCH_BYTES };
    let fetched = request.perform(fetch)?;
    let truncated = (fetched.bytes.len() as u64) < fetched.size;
    let text = match String::from_utf8(fetched.bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let whole = error.utf8_error().valid_up_to();
            // A character that the cut splits is no sign of another encoding.
            let cut_through = truncated && error.utf8_error().error_len().is_none();
            let mut bytes = error.into_bytes();
            bytes.truncate(whole);
            String::from_utf8(bytes).ok().filter(|_| cut_through)
        }
    };
    Ok((text, truncated))
}

pub(super) fn revert(request: &HttpRequest) -> Result<Reply, Problem> {
    let Revert { version_id } = request.json()?;
    let version: VersionId = version_id
        .parse()
        .map_err(|_| Problem::invalid("version_id", "expected the id of a version of this file"))?;
    request.perform(ShowVersion { version, of: Some(file_of(request)?), max_bytes: 0 })?;
    Reply::ok(&Back::from(&request.perform(Restore::Version(version))?))
}

pub(super) fn trash(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let (limit, skip) = (paging.limit()?, paging.cursor::<usize>()?.unwrap_or(0));
    let page = request.perform(Trash { limit, skip })?;
    let next = page.truncated.then(|| (skip + page.entries.len()).to_string());
    Reply::ok(&TrashList { files: page.entries.iter().map(TrashedFile::from).collect(), next })
}

pub(super) fn restore(request: &HttpRequest) -> Result<Reply, Problem> {
    Reply::ok(&Back::from(&request.perform(Restore::Removed(file_of(request)?))?))
}

pub(super) fn purge(request: &HttpRequest) -> Result<Reply, Problem> {
    let purged = request.perform(Purge { file: file_of(request)? })?;
    // Stored answers to retried requests may hold the purged contents.
    let removed = request.app.admin.remove_answers(request.entered()?);
    removed.map_err(|error| {
        tracing::error!(%error, "answers that a purge removes could not be forgotten");
        let why = "the contents are gone, but answers that were kept for retries may still hold \
                   them: purge again";
        Problem::new(500, "INTERNAL_ERROR", why)
    })?;
    Reply::ok(&Purged {
        file_id: purged.file.to_string(),
        files: purged.files,
        contents: purged.contents,
        bytes: purged.bytes,
    })
}
