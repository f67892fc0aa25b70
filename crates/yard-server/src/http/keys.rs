//! Agents' keys over HTTP. A key is shown once, when it is made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_gate::registry::KeyRow;
use yard_gate::{FILES_TOOLSET, admin};

use super::chats;
use super::members::RoleWord;
use super::paging::{Paging, cut};
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// A new key.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewKey {
    /// What people call it, up to 200 characters.
    name: String,
    /// `member` or `viewer`: an agent never manages.
    role: RoleWord,
    /// The only chat that it may speak in.
    chat_id: Option<String>,
    /// The toolsets that it may use, and no other: `workspace` alone, if none is named. The routes of files
    /// count as `workspace`.
    toolsets: Option<Vec<String>>,
}

/// A key, without the secret.
#[derive(Serialize, JsonSchema)]
pub(super) struct Key {
    id: String,
    name: String,
    /// `member` or `viewer`.
    role: &'static str,
    chat_id: Option<String>,
    /// The toolsets that it may use; null for all, as keys from before have it.
    toolsets: Option<Vec<String>>,
    created_at: String,
}

impl From<&KeyRow> for Key {
    fn from(row: &KeyRow) -> Self {
        Self {
            id: row.id.to_string(),
            name: row.name.clone(),
            role: row.role.word(),
            chat_id: row.chat.map(|chat| chat.to_string()),
            toolsets: row.toolsets.clone(),
            created_at: row.created_at.to_string(),
        }
    }
}

/// A key that was just made.
#[derive(Serialize, JsonSchema)]
pub(super) struct SecretKey {
    #[serde(flatten)]
    about: Key,
    /// Send it as `Authorization: Bearer`. It is shown this once.
    key: String,
}

/// The keys.
#[derive(Serialize, JsonSchema)]
pub(super) struct Keys {
    keys: Vec<Key>,
    /// More remain: send this as `cursor`.
    next: Option<String>,
}

pub(super) fn add(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewKey { name, role, chat_id, toolsets } = request.json()?;
    let toolsets = toolsets.unwrap_or_else(|| vec![FILES_TOOLSET.to_owned()]);
    let toolset_names: Vec<&str> =
        request.app.catalog.dialects().map(|dialect| dialect.name).collect();
    if let Some(unknown) = toolsets.iter().find(|name| !toolset_names.contains(&name.as_str())) {
        let message =
            format!("there is no toolset {unknown:?}; known: {}", toolset_names.join(", "));
        return Err(Problem::invalid("toolsets", &message));
    }
    let chat = chat_id.as_deref().map(chats::id).transpose()?;
    let new = admin::NewKey { name, role: role.into(), chat, toolsets };
    let made = request.app.admin.add_key(request.entered()?, &new)?;
    Reply::created(&SecretKey { about: Key::from(&made.row), key: made.key })
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let rows = request.app.admin.keys(request.entered()?, paging.page()?)?;
    let (rows, next) = cut(rows, &paging, |row| row.id.to_string());
    Reply::ok(&Keys { keys: rows.iter().map(Key::from).collect(), next })
}

pub(super) fn revoke(request: &HttpRequest) -> Result<Reply, Problem> {
    request.app.admin.revoke_key(request.entered()?, request.id("key_id", "key")?)?;
    Ok(Reply::empty())
}
