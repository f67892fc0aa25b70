//! The person of a machine: whoever can read the data folder needs no account. Such a person logs in with a code that
//! the program hands over, and works under the same name in the history as on the command line.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use yard_core::{Role, WorkspaceId};
use yard_store::registry::{SecretHash, UserRow, WorkspaceRow};

use super::identity::local_person;
use super::people::{LoginTokens, secret_hash};
use super::refusal::Refusal;
use super::server::{LocalCode, Server};
use super::workspaces::PageRequest;
use crate::Actor;

/// What stands in place of an address and a password hash: neither is one, so that nobody logs in with them.
const NONE: &str = "-";
/// How a code begins, so that people and programs that look for secrets know one.
const CODE_PREFIX: &str = "tyc_";
/// How long a code is good.
const CODE_MILLIS: i64 = 60_000;
/// How many codes are good at once; the oldest one ends.
const MAX_CODES: usize = 16;

impl Server {
    /// Makes the person of this machine known, under the name that pages show.
    pub fn add_local_person(&self, name: &str) -> Result<(), Refusal> {
        let row = UserRow {
            id: local_person(),
            email: NONE.to_owned(),
            full_name: Some(name.to_owned()),
            password: NONE.to_owned(),
            created_at: self.now(),
        };
        let audit = self.audit(Actor::LocalPerson, "register", String::new());
        // The answer says whether it is new; known from an earlier start is as good.
        self.registry.add_user(&row, &audit)?;
        Ok(())
    }

    /// The workspaces of the person: every folder of this machine in which agents have worked, for as long as the folder
    /// is there.
    pub(super) fn local_workspaces(
        &self,
        page: PageRequest<WorkspaceId>,
    ) -> Result<Vec<(WorkspaceRow, Role)>, Refusal> {
        let folders = self.opener.local_folders();
        self.add_local_workspaces(&folders)?;
        let present: HashSet<WorkspaceId> = folders.iter().map(|(id, _)| *id).collect();
        let (mut listed, mut after) = (Vec::new(), page.after);
        while listed.len() < page.limit {
            let rows = self.registry.workspaces_of(local_person(), after, page.limit)?;
            let is_last = rows.len() < page.limit;
            after = rows.last().map(|(row, _)| row.id);
            listed.extend(rows.into_iter().filter(|(row, _)| present.contains(&row.id)));
            if is_last {
                break;
            }
        }
        listed.truncate(page.limit);
        Ok(listed)
    }

    /// Adds the folders that are no workspaces yet.
    fn add_local_workspaces(&self, folders: &[(WorkspaceId, PathBuf)]) -> Result<(), Refusal> {
        let known: HashSet<WorkspaceId> =
            self.registry.folders()?.into_iter().map(|(id, _)| id).collect();
        for (id, folder) in folders.iter().filter(|(id, _)| !known.contains(id)) {
            if let Err(error) = self.add_local_workspace(*id, folder) {
                // Such as one that an older version deleted: it must not hide the others.
                tracing::warn!(workspace = %id, %error, "a folder cannot become a workspace");
            }
        }
        Ok(())
    }

    fn add_local_workspace(&self, id: WorkspaceId, folder: &Path) -> yard_store::Result<()> {
        // A folder whose path is no text cannot be kept in the registry.
        let Some(path) = folder.to_str() else { return Ok(()) };
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or(path);
        let now = self.now();
        let row = WorkspaceRow {
            id,
            name: name.to_owned(),
            folder: Some(path.to_owned()),
            created_at: now,
            updated_at: now,
        };
        let audit = self.audit(Actor::LocalPerson, "add workspace", id.to_string());
        self.registry.add_workspace(&row, local_person(), &audit)
    }

    /// A new code for the person of this machine. It is good once, and for a minute.
    pub fn new_local_code(&self) -> Result<String, Refusal> {
        let code = self.new_secret(CODE_PREFIX)?;
        let mut codes = self.local_codes.lock();
        if codes.len() == MAX_CODES {
            codes.remove(0);
        }
        codes.push(LocalCode { hash: secret_hash(&code), made_at: self.now() });
        Ok(code)
    }

    /// Logs in the person of this machine, who uses that program.
    pub fn log_in_by_code(
        &self,
        code: &str,
        user_agent: Option<&str>,
    ) -> Result<LoginTokens, Refusal> {
        let is_good = self.use_local_code(&secret_hash(code));
        let person = self.registry.user_by_email(NONE)?.filter(|_| is_good);
        let Some(person) = person else {
            let message = "this code was used before, is older than a minute, or never was one; start the page again";
            return Err(Refusal::Unknown(message.to_owned()));
        };
        self.begin_login(person, Actor::LocalPerson, user_agent)
    }

    /// Uses up a code. Whether it was good.
    fn use_local_code(&self, hash: &SecretHash) -> bool {
        let oldest = self.now().as_millis() - CODE_MILLIS;
        let mut codes = self.local_codes.lock();
        codes.retain(|code| code.made_at.as_millis() >= oldest);
        let found = codes.iter().position(|code| code.hash == *hash);
        found.map(|at| codes.remove(at)).is_some()
    }
}
