//! Members over HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Role, UserId};
use yard_gate::registry::MemberRow;

use super::paging::{Paging, cut};
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// What somebody may do.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RoleWord {
    /// Reads, changes, and manages members and keys.
    Owner,
    /// Reads and changes.
    Member,
    /// Reads.
    Viewer,
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Owner => Self::Owner,
            RoleWord::Member => Self::Member,
            RoleWord::Viewer => Self::Viewer,
        }
    }
}

/// A new member, who has an account.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewMember {
    /// The person's email address.
    email: String,
    /// What the person may do.
    role: RoleWord,
}

/// Another role.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewRole {
    /// What the member may do from now on.
    role: RoleWord,
}

/// A member.
#[derive(Serialize, JsonSchema)]
pub(super) struct Member {
    user_id: String,
    email: String,
    full_name: Option<String>,
    /// `owner`, `member` or `viewer`.
    role: &'static str,
    since: String,
}

impl From<&MemberRow> for Member {
    fn from(row: &MemberRow) -> Self {
        Self {
            user_id: row.user.to_string(),
            email: row.email.clone(),
            full_name: row.full_name.clone(),
            role: row.role.word(),
            since: row.since.to_string(),
        }
    }
}

/// A member, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneMember {
    member: Member,
}

/// The members.
#[derive(Serialize, JsonSchema)]
pub(super) struct Members {
    members: Vec<Member>,
    /// More remain: send this as `cursor`.
    next: Option<String>,
}

/// A member's new role.
#[derive(Serialize, JsonSchema)]
pub(super) struct Changed {
    user_id: String,
    /// `owner`, `member` or `viewer`.
    role: &'static str,
}

pub(super) fn add(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewMember { email, role } = request.json()?;
    let row = request.app.admin.add_member(request.entered()?, &email, role.into())?;
    Reply::created(&OneMember { member: Member::from(&row) })
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let rows = request.app.admin.members(request.entered()?, paging.page()?)?;
    let (rows, next) = cut(rows, &paging, |row| row.user.to_string());
    Reply::ok(&Members { members: rows.iter().map(Member::from).collect(), next })
}

pub(super) fn change(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewRole { role } = request.json()?;
    let (user, role): (UserId, Role) = (request.id("user_id", "member")?, role.into());
    request.app.admin.change_role(request.entered()?, user, role)?;
    Reply::ok(&Changed { user_id: user.to_string(), role: role.word() })
}

pub(super) fn remove(request: &HttpRequest) -> Result<Reply, Problem> {
    request.app.admin.remove_member(request.entered()?, request.id("user_id", "member")?)?;
    Ok(Reply::empty())
}
