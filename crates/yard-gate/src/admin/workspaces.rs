//! Making, listing, renaming and deleting workspaces, and admitting callers to them.

use yard_core::{Role, UserId, WorkspaceId};
use yard_store::registry::WorkspaceRow;

use super::identity::{Entered, Identity};
use super::refusal::Refusal;
use super::server::{MissingFolder, Server};
use crate::Actor;

const MAX_NAME_CHARS: usize = 200;
/// The number of workspaces that are read from the registry at once.
const WORKSPACES_AT_ONCE: usize = 1_000;

/// A request for one page of a list.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<T> {
    /// The last entry of the page before.
    pub after: Option<T>,
    /// The largest number of entries.
    pub limit: usize,
}

/// The request for a workspace.
#[derive(Clone, Debug)]
pub struct NewWorkspace {
    /// What people call it.
    pub name: String,
    /// A folder of the host that the operator allowed; else it gets one of its own.
    pub folder: Option<String>,
}

impl Server {
    /// Makes a workspace that its maker owns.
    pub fn add_workspace(
        &self,
        identity: &Identity,
        new: &NewWorkspace,
    ) -> Result<WorkspaceRow, Refusal> {
        let Identity::Person { person, .. } = identity else {
            return Err(Refusal::denied("an agent's key cannot make workspaces; a person can"));
        };
        let name = check_name("name", &new.name)?;
        let folder = new.folder.as_deref().map(|folder| self.opener.admit_folder(folder));
        let folder = folder.transpose()?;
        let _assigning = folder.is_some().then(|| self.assigning_folders.lock());
        if let Some(folder) = &folder
            && self.is_folder_of_another(folder, None)?
        {
            return Err(Refusal::denied(
                "this folder, or one above or below it, belongs to a workspace already; choose another",
            ));
        }
        let now = self.now();
        let row = WorkspaceRow {
            id: WorkspaceId::new(self.world.as_ref()),
            name,
            folder,
            created_at: now,
            updated_at: now,
        };
        let audit = self.audit(identity.actor(), "add workspace", row.id.to_string());
        self.registry.add_workspace(&row, person.id, &audit)?;
        Ok(row)
    }

    /// A person's workspaces.
    pub fn workspaces(
        &self,
        identity: &Identity,
        page: PageRequest<WorkspaceId>,
    ) -> Result<Vec<(WorkspaceRow, Role)>, Refusal> {
        match identity {
            Identity::Person { person, .. } if person.is_local() => self.local_workspaces(page),
            Identity::Person { person, .. } => {
                Ok(self.registry.workspaces_of(person.id, page.after, page.limit)?)
            }
            Identity::Agent(key) => {
                let own = self.registry.workspace(key.workspace)?;
                let own = own.filter(|row| page.after.is_none_or(|after| row.id > after));
                Ok(own.into_iter().map(|row| (row, key.role)).collect())
            }
        }
    }

    /// The folders that agents of the person of this machine worked in and that are not where they were, by path. Others
    /// have none.
    pub fn missing_folders(&self, identity: &Identity) -> Vec<MissingFolder> {
        match identity {
            Identity::Person { person, .. } if person.is_local() => {
                let mut missing = self.opener.missing_folders();
                missing.sort_by(|one, other| one.folder.cmp(&other.folder));
                missing
            }
            _ => Vec::new(),
        }
    }

    /// All workspaces of a caller.
    pub fn all_workspaces(
        &self,
        identity: &Identity,
    ) -> Result<Vec<(WorkspaceRow, Role)>, Refusal> {
        let mut all = Vec::new();
        loop {
            let after = all.last().map(|(row, _): &(WorkspaceRow, Role)| row.id);
            let rows =
                self.workspaces(identity, PageRequest { after, limit: WORKSPACES_AT_ONCE })?;
            let is_last = rows.len() < WORKSPACES_AT_ONCE;
            all.extend(rows);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Admits a caller whose role is at least `least`. A workspace that does not exist is refused like a foreign one.
    pub fn enter(
        &self,
        identity: Identity,
        workspace: WorkspaceId,
        least: Role,
    ) -> Result<Entered, Refusal> {
        let role = match &identity {
            Identity::Person { person, .. } => self.role_of(workspace, person.id)?,
            Identity::Agent(key) => Some(key.role).filter(|_| key.workspace == workspace),
        };
        let role = role.ok_or_else(Refusal::stranger)?;
        if role < least {
            let message = format!(
                "this needs the role {} in the workspace; the caller is {}",
                least.word(),
                role.word()
            );
            return Err(Refusal::denied(message));
        }
        Ok(Entered { identity, workspace, role })
    }

    fn role_of(&self, workspace: WorkspaceId, user: UserId) -> Result<Option<Role>, Refusal> {
        let (member, now) = ((workspace, user), self.now());
        if let Some(role) = self.callers.role(member, now) {
            return Ok(Some(role));
        }
        let lookup = self.callers.begin_lookup(now);
        let role = self.registry.role_of(workspace, user)?;
        if let Some(role) = role {
            self.callers.store_role(lookup, member, role);
        }
        Ok(role)
    }

    /// The workspace that a caller entered.
    pub fn workspace(&self, entered: &Entered) -> Result<WorkspaceRow, Refusal> {
        self.registry.workspace(entered.workspace)?.ok_or_else(Refusal::stranger)
    }

    /// Renames a workspace.
    pub fn rename(&self, entered: &Entered, name: &str) -> Result<WorkspaceRow, Refusal> {
        let name = check_name("name", name)?;
        let audit =
            self.audit(entered.identity.actor(), "rename workspace", entered.workspace.to_string());
        if !self.registry.rename_workspace(entered.workspace, &name, &audit)? {
            return Err(Refusal::stranger());
        }
        self.workspace(entered)
    }

    /// Deletes a workspace, so that no caller can enter it. Its files and history stay in the data folder,
    /// for the operator. The person of this machine deletes none.
    pub fn delete(&self, entered: &Entered) -> Result<(), Refusal> {
        if entered.identity.actor() == Actor::LocalPerson {
            return Err(Refusal::denied(
                "a folder of this machine is a workspace for as long as it is there, because agents have worked in it. \
                 Remove the folder, and it is listed no more; its history stays in the data folder",
            ));
        }
        let audit =
            self.audit(entered.identity.actor(), "delete workspace", entered.workspace.to_string());
        if !self.registry_for_change().delete_workspace(entered.workspace, &audit)? {
            return Err(Refusal::stranger());
        }
        self.close(entered.workspace);
        Ok(())
    }
}

/// A name for people: one line that is not empty.
pub(super) fn check_name(field: &'static str, name: &str) -> Result<String, Refusal> {
    let name = name.trim();
    let fits = (1..=MAX_NAME_CHARS).contains(&name.chars().count());
    if fits && !name.chars().any(char::is_control) {
        return Ok(name.to_owned());
    }
    let message = format!("expected 1 to {MAX_NAME_CHARS} characters on one line");
    Err(Refusal::field(field, message))
}
