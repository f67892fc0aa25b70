//! How much a workspace stores, over HTTP.

use schemars::JsonSchema;
use serde::Serialize;

use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// What is stored for a workspace beside its files.
#[derive(Serialize, JsonSchema)]
pub(super) struct Storage {
    /// Bytes of the database: the history with its small contents, chats, questions and requests.
    journal_bytes: u64,
    /// Bytes of the other contents of the history.
    contents_bytes: u64,
    /// Bytes of what can be made again: command output beyond what answers show, and build output that is not in the tree
    /// any more.
    kept_bytes: u64,
    /// Files that are in the workspace, as far as the history knows them.
    files: u64,
    /// Steps of the history.
    steps: u64,
    /// Versions of files, of removed ones too.
    versions: u64,
    /// Removed entries that can be restored.
    trash_files: u64,
}

/// What is stored, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneStorage {
    storage: Storage,
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let (usage, counts) = request.session()?.storage()?;
    let storage = Storage {
        journal_bytes: usage.journal,
        contents_bytes: usage.contents,
        kept_bytes: usage.kept,
        files: counts.files,
        steps: counts.steps,
        versions: counts.versions,
        trash_files: counts.removed,
    };
    Reply::ok(&OneStorage { storage })
}
