//! Who belongs to a workspace. A workspace always has an owner.

use yard_core::{KeyId, Role, UserId};
use yard_store::registry::{MemberChange, MemberRow, UserRow};

use super::identity::Entered;
use super::people::email_key;
use super::refusal::Refusal;
use super::server::Server;
use super::workspaces::PageRequest;
use crate::Actor;

/// How many keys are read in one query.
const KEYS_AT_ONCE: usize = 500;

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
        self.account_answers.give_back(&caller, now);
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
        let keys = self.keys_made_by(entered, user)?;
        member_result(self.registry_for_change().change_member(
            entered.workspace,
            user,
            Some(role),
            &audit,
        )?)?;
        if role != Role::Owner {
            self.end_terminals_of_keys(entered, &keys);
        }
        if role == Role::Viewer {
            self.end_terminals_of(entered.workspace, Actor::Person(user));
        }
        Ok(())
    }

    /// Removes a member, and revokes the keys that the member made.
    pub fn remove_member(&self, entered: &Entered, user: UserId) -> Result<(), Refusal> {
        let detail = format!("person {user} from {}", entered.workspace);
        let audit = self.audit(entered.identity.actor(), "remove member", detail);
        let keys = self.keys_made_by(entered, user)?;
        member_result(self.registry_for_change().change_member(
            entered.workspace,
            user,
            None,
            &audit,
        )?)?;
        self.end_terminals_of_keys(entered, &keys);
        self.end_terminals_of(entered.workspace, Actor::Person(user));
        Ok(())
    }

    fn keys_made_by(&self, entered: &Entered, user: UserId) -> Result<Vec<KeyId>, Refusal> {
        let (mut made, mut after) = (Vec::new(), None);
        loop {
            let keys = self.registry.keys(entered.workspace, after, KEYS_AT_ONCE)?;
            let Some(last) = keys.last() else { return Ok(made) };
            after = Some(last.id);
            made.extend(keys.iter().filter(|key| key.made_by == user).map(|key| key.id));
        }
    }

    fn end_terminals_of_keys(&self, entered: &Entered, keys: &[KeyId]) {
        for key in keys {
            self.end_terminals_of(entered.workspace, Actor::Key(*key));
        }
    }
}

fn member_result(change: MemberChange) -> Result<(), Refusal> {
    match change {
        MemberChange::Done => Ok(()),
        MemberChange::NoMember => Err(Refusal::missing("this person is no member")),
        MemberChange::LastOwner => {
            Err(Refusal::taken("a workspace needs an owner: make somebody else one first"))
        }
    }
}
