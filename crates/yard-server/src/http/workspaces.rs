//! Workspaces over HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::Role;
use yard_gate::admin;
use yard_gate::registry::WorkspaceRow;

use super::ask::Ask;
use super::paging::{Paging, cut};
use super::problem::Problem;
use super::reply::Reply;

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

pub(super) fn create(ask: &Ask) -> Result<Reply, Problem> {
    let NewWorkspace { name, folder } = ask.json()?;
    let new = admin::NewWorkspace { name, folder };
    let row = ask.app.house.add_workspace(ask.identity()?, &new)?;
    Reply::created(&OneWorkspace { workspace: Workspace::of(&row, Role::Owner) })
}

pub(super) fn list(ask: &Ask) -> Result<Reply, Problem> {
    let paging: Paging = ask.query()?;
    let rows = ask.app.house.workspaces(ask.identity()?, paging.page()?)?;
    let (rows, next) = cut(rows, &paging, |(row, _)| row.id.to_string());
    let workspaces = rows.iter().map(|(row, role)| Workspace::of(row, *role)).collect();
    Reply::ok(&Workspaces { workspaces, next })
}

pub(super) fn read(ask: &Ask) -> Result<Reply, Problem> {
    let entered = ask.entered()?;
    let row = ask.app.house.workspace(entered)?;
    Reply::ok(&OneWorkspace { workspace: Workspace::of(&row, entered.role) })
}

pub(super) fn rename(ask: &Ask) -> Result<Reply, Problem> {
    let Rename { name } = ask.json()?;
    let entered = ask.entered()?;
    let row = ask.app.house.rename(entered, &name)?;
    Reply::ok(&OneWorkspace { workspace: Workspace::of(&row, entered.role) })
}

pub(super) fn delete(ask: &Ask) -> Result<Reply, Problem> {
    ask.app.house.delete(ask.entered()?)?;
    Ok(Reply::empty())
}
