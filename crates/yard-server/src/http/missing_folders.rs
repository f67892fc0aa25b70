//! The folders of this machine that have a history and are not where they were, over HTTP: a person who moved one wants
//! its history back, and one who removed it wants to know that it is kept.

use schemars::JsonSchema;
use serde::Serialize;

use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// A folder that was moved or removed.
#[derive(Serialize, JsonSchema)]
pub(super) struct MissingRow {
    /// The workspace that it was, and is again when it is back.
    workspace_id: String,
    /// Where it was. `toolyard adopt --from FOLDER` in the folder where it is now takes the history along.
    folder: String,
    /// When something was last recorded of it.
    changed_at: String,
}

/// Folders, by path.
#[derive(Serialize, JsonSchema)]
pub(super) struct MissingFolders {
    folders: Vec<MissingRow>,
    /// More remain: send this as `cursor`.
    next: Option<String>,
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let (skip, limit) = (paging.cursor::<usize>()?.unwrap_or(0), paging.limit()?);
    let missing = request.app.admin.missing_folders(request.identity()?);
    let row = |one: &yard_gate::admin::MissingFolder| MissingRow {
        workspace_id: one.workspace.to_string(),
        folder: one.folder.to_string_lossy().into_owned(),
        changed_at: one.changed_at.to_string(),
    };
    let folders: Vec<MissingRow> = missing.iter().skip(skip).take(limit).map(row).collect();
    let end = skip.saturating_add(folders.len());
    let next = (end < missing.len()).then(|| end.to_string());
    Reply::ok(&MissingFolders { folders, next })
}
