//! What a person does with the own account: changing the password, and seeing and ending logins.

use yard_core::{Fault, FaultCode, LoginId, Timestamp};

use super::identity::{Identity, Person};
use super::password;
use super::people::{email_key, is_password, wrong_length};
use super::refusal::Refusal;
use super::server::Server;
use super::workspaces::PageRequest;

/// A login of a person that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonLogin {
    /// The login.
    pub id: LoginId,
    /// When it began.
    pub created_at: Timestamp,
    /// When its tokens were last renewed, or when it began.
    pub last_used_at: Timestamp,
    /// The program that the person logged in with, by its own words.
    pub user_agent: Option<String>,
    /// Whether the caller uses it.
    pub is_current: bool,
}

impl Server {
    /// Gives a person another password, and ends all other logins of that person. A wrong current password counts as a
    /// failed login.
    pub fn change_password(
        &self,
        identity: &Identity,
        current: &str,
        new: &str,
        address: &str,
    ) -> Result<(), Refusal> {
        let (person, login) = person_of(identity)?;
        if person.is_local() {
            return Err(Refusal::denied(
                "the person of this machine has no account, and so no password to change",
            ));
        }
        if let Some(message) = wrong_length(new) {
            return Err(Refusal::field("new_password", message));
        }
        let (email, now) = (email_key(&person.email), self.now());
        self.logins.count(&email, address, now).map_err(Refusal::TooMany)?;
        let user = self.registry.user_by_email(&email)?;
        let hash = user.as_ref().map(|user| user.password.as_str());
        let matches = is_password(current, hash);
        let Some(user) = user.filter(|_| matches) else {
            return Err(Refusal::field("current_password", "is wrong"));
        };
        self.logins.uncount(&email, address, now);
        let hash = password::hash(new, self.world.as_ref())?;
        let audit = self.audit(identity.actor(), "change password", format!("login {login}"));
        let changed = self.registry_for_change().change_password(
            user.id,
            &user.password,
            &hash,
            login,
            &audit,
        )?;
        if changed {
            return Ok(());
        }
        let message = "the password was changed by another request meanwhile: log in with it";
        Err(Refusal::Fault(Fault::new(FaultCode::Stale, message)))
    }

    /// The logins of a person, newest first.
    pub fn logins(
        &self,
        identity: &Identity,
        page: PageRequest<LoginId>,
    ) -> Result<Vec<PersonLogin>, Refusal> {
        let (person, current) = person_of(identity)?;
        let rows = self.registry.logins(person.id, self.now(), page.after, page.limit)?;
        let logins = rows.into_iter().map(|row| PersonLogin {
            id: row.id,
            created_at: row.created_at,
            last_used_at: row.last_used_at,
            user_agent: row.user_agent,
            is_current: row.id == current,
        });
        Ok(logins.collect())
    }

    /// Ends a login of a person: none of its tokens is good any more.
    pub fn end_login(&self, identity: &Identity, login: LoginId) -> Result<(), Refusal> {
        let (person, _) = person_of(identity)?;
        let audit = self.audit(identity.actor(), "end login", format!("login {login}"));
        match self.registry_for_change().end_login_of(person.id, login, &audit)? {
            true => Ok(()),
            false => Err(Refusal::missing("you have no such login; it may have ended already")),
        }
    }
}

fn person_of(identity: &Identity) -> Result<(&Person, LoginId), Refusal> {
    match identity {
        Identity::Person { person, login } => Ok((person, *login)),
        Identity::Agent(_) => {
            Err(Refusal::denied("an agent's key is no person, and has no account"))
        }
    }
}
