//! Who belongs to a workspace. A workspace always has an owner.

use yard_core::{Role, UserId};
use yard_store::AuditEntry;
use yard_store::registry::{MemberChange, MemberRow, UserRow};

use super::identity::Entered;
use super::people::email_key;
use super::refusal::Refusal;
use super::server::Server;
use super::workspaces::PageRequest;
use crate::Actor;

impl Server {
    /// Adds a person who has an account.
    pub fn add_member(
        &self,
        entered: &Entered,
        email: &str,
        role: Role,
    ) -> Result<MemberRow, Refusal> {
        let caller = entered.identity.actor().name();
        let now = self.now();
        self.count_account_answer(&caller, now)?;
        let user = self.registry.user_by_email(&email_key(email))?.ok_or_else(|| {
            Refusal::missing(
                "nobody with this email address has an account here; ask them to register",
            )
        })?;
        self.account_answers.uncount(&caller, now);
        let detail = format!("person {} as {} to {}", user.id, role.word(), entered.workspace);
        let audit = self.audit(entered.identity.actor(), "add member", detail);
        if !self.registry_for_change().add_member(entered.workspace, user.id, role, &audit)? {
            return Err(Refusal::taken("this person is a member already; change the role instead"));
        }
        let UserRow { id, email, full_name, .. } = user;
        Ok(MemberRow { user: id, email, full_name, role, since: audit.at })
    }

    /// The members of a workspace.
    pub fn members(
        &self,
        entered: &Entered,
        page: PageRequest<UserId>,
    ) -> Result<Vec<MemberRow>, Refusal> {
        Ok(self.registry.members(entered.workspace, page.after, page.limit)?)
    }

    /// Gives a member another role. If the member is no owner any more, the keys that the member made are revoked.
    pub fn change_role(&self, entered: &Entered, user: UserId, role: Role) -> Result<(), Refusal> {
        let detail = format!("person {user} to {} in {}", role.word(), entered.workspace);
        let audit = self.audit(entered.identity.actor(), "change role", detail);
        self.change_member(entered, user, Some(role), &audit)?;
        if role == Role::Viewer {
            self.end_terminals_of(entered.workspace, Actor::Person(user));
        }
        Ok(())
    }

    /// Removes a member, and revokes the keys that the member made.
    pub fn remove_member(&self, entered: &Entered, user: UserId) -> Result<(), Refusal> {
        let detail = format!("person {user} from {}", entered.workspace);
        let audit = self.audit(entered.identity.actor(), "remove member", detail);
        self.change_member(entered, user, None, &audit)?;
        self.end_terminals_of(entered.workspace, Actor::Person(user));
        Ok(())
    }

    /// Changes or removes a member, and ends the terminals of the keys that were revoked with that.
    fn change_member(
        &self,
        entered: &Entered,
        user: UserId,
        role: Option<Role>,
        audit: &AuditEntry,
    ) -> Result<(), Refusal> {
        let workspace = entered.workspace;
        match self.registry_for_change().change_member(workspace, user, role, audit)? {
            MemberChange::Done(revoked) => {
                for key in revoked {
                    self.end_terminals_of(workspace, Actor::Key(key));
                }
                Ok(())
            }
            MemberChange::NoMember => Err(Refusal::missing("this person is no member")),
            MemberChange::LastOwner => {
                Err(Refusal::taken("a workspace needs an owner: make somebody else one first"))
            }
        }
    }
}
