//! Workspaces over HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::Role;
use yard_gate::admin;
use yard_gate::registry::WorkspaceRow;

use super::paging::{Paging, cut};
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// A new workspace.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewWorkspace {
    /// What people call it, up to 200 characters.
    name: String,
    /// A folder of the server's machine that its operator allowed for workspaces; without it the
    /// workspace gets a folder of its own.
    folder: Option<String>,
}

/// A new name.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Rename {
    /// What people call it, up to 200 characters.
    name: String,
}

/// A workspace, with what the caller may do in it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Workspace {
    id: String,
    name: String,
    /// `owner`, `member` or `viewer`.
    role: &'static str,
    created_at: String,
    updated_at: String,
}

impl Workspace {
    fn of(row: &WorkspaceRow, role: Role) -> Self {
        Self {
            id: row.id.to_string(),
            name: row.name.clone(),
            role: role.word(),
            created_at: row.created_at.to_string(),
            updated_at: row.updated_at.to_string(),
        }
    }
}

/// A workspace, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneWorkspace {
    workspace: Workspace,
}

/// The caller's workspaces, oldest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct Workspaces {
    workspaces: Vec<Workspace>,
    /// More remain: send this as `cursor`.
    next: Option<String>,
}

pub(super) fn create(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewWorkspace { name, folder } = request.json()?;
    let new = admin::NewWorkspace { name, folder };
    let row = request.app.admin.add_workspace(request.identity()?, &new)?;
    Reply::created(&OneWorkspace { workspace: Workspace::of(&row, Role::Owner) })
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let rows = request.app.admin.workspaces(request.identity()?, paging.page()?)?;
    let (rows, next) = cut(rows, &paging, |(row, _)| row.id.to_string());
    let workspaces = rows.iter().map(|(row, role)| Workspace::of(row, *role)).collect();
    Reply::ok(&Workspaces { workspaces, next })
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let entered = request.entered()?;
    let row = request.app.admin.workspace(entered)?;
    Reply::ok(&OneWorkspace { workspace: Workspace::of(&row, entered.role) })
}

pub(super) fn rename(request: &HttpRequest) -> Result<Reply, Problem> {
    let Rename { name } = request.json()?;
    let entered = request.entered()?;
    let row = request.app.admin.rename(entered, &name)?;
    Reply::ok(&OneWorkspace { workspace: Workspace::of(&row, entered.role) })
}

pub(super) fn delete(request: &HttpRequest) -> Result<Reply, Problem> {
    request.app.admin.delete(request.entered()?)?;
    Ok(Reply::empty())
}
