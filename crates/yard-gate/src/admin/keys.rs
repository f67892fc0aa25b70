//! Agents' keys: each opens one workspace for one agent, and can be bound to one chat.

use yard_core::{ChatId, Fault, KeyId, Role};
use yard_store::StoreError;
use yard_store::registry::KeyRow;

use super::identity::{Entered, Identity};
use super::people::{KEY_PREFIX, secret_hash};
use super::refusal::Refusal;
use super::server::Server;
use super::workspaces::{PageRequest, check_name};
use crate::Actor;

/// A key that a person wants.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// What people call it.
    pub name: String,
    /// What its holder may do.
    pub role: Role,
    /// The only chat that it may be used in.
    pub chat: Option<ChatId>,
    /// The toolsets that it may use, at least one.
    pub toolsets: Vec<String>,
}

/// A key that was just made, with the secret that is shown once.
#[derive(Clone, Debug)]
pub struct NewSecretKey {
    /// The stored row.
    pub row: KeyRow,
    /// The key itself.
    pub key: String,
}

impl Server {
    /// Makes a key.
    pub fn add_key(&self, entered: &Entered, new: &NewKey) -> Result<NewSecretKey, Refusal> {
        let name = check_name("name", &new.name)?;
        if new.role == Role::Owner {
            let message = "an agent is member or viewer: it can never manage a workspace";
            return Err(Refusal::field("role", message));
        }
        let is_invalid = |name: &String| name.trim().is_empty() || name.contains('\n');
        if new.toolsets.is_empty() || new.toolsets.iter().any(is_invalid) {
            let message = "a key is made for at least one toolset, each by its name";
            return Err(Refusal::field("toolsets", message));
        }
        let Identity::Person { person, .. } = &entered.identity else {
            return Err(Refusal::denied("an agent's key cannot make keys; a person can"));
        };
        if let Some(chat) = new.chat
            && self.open(entered.workspace)?.records.chat(chat).map_err(Fault::from)?.is_none()
        {
            return Err(Refusal::field("chat_id", "this workspace has no such chat"));
        }
        let key = self.new_secret(KEY_PREFIX)?;
        let row = KeyRow {
            id: KeyId::new(self.world.as_ref()),
            workspace: entered.workspace,
            name,
            role: new.role,
            chat: new.chat,
            toolsets: Some(new.toolsets.clone()),
            made_by: person.id,
            created_at: self.now(),
        };
        let detail = format!("key {} ({}) to workspace {}", row.id, row.role.word(), row.workspace);
        let audit = self.audit(entered.identity.actor(), "add key", detail);
        match self.registry.add_key(&row, &secret_hash(&key), &audit) {
            // The workspace was deleted, or the person lost it, after the request came in.
            Err(StoreError::Misfit(_)) => Err(Refusal::stranger()),
            added => Ok(added.map(|()| NewSecretKey { row, key })?),
        }
    }

    /// The keys of a workspace.
    pub fn keys(
        &self,
        entered: &Entered,
        page: PageRequest<KeyId>,
    ) -> Result<Vec<KeyRow>, Refusal> {
        Ok(self.registry.keys(entered.workspace, page.after, page.limit)?)
    }

    /// Revokes a key and ends its terminals.
    pub fn revoke_key(&self, entered: &Entered, key: KeyId) -> Result<(), Refusal> {
        let detail = format!("key {key} to workspace {}", entered.workspace);
        let audit = self.audit(entered.identity.actor(), "revoke key", detail);
        if self.registry_for_change().revoke_key(entered.workspace, key, &audit)? {
            self.end_terminals_of(entered.workspace, Actor::Key(key));
            return Ok(());
        }
        Err(Refusal::missing("this workspace has no such key"))
    }
}
