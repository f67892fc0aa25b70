//! The people of a server and their logins, workspaces and their members, agents' keys, and the answers that were given
//! under an `Idempotency-Key`. It has no files of workspaces and no usable secret: passwords arrive as Argon2 strings,
//! tokens and keys as hashes.
//!
//! Every change takes its audit row and is one durable transaction.

use yard_core::{ChatId, KeyId, LoginId, Role, Timestamp, UserId, WorkspaceId};

use crate::{AuditEntry, AuditRow, Result};

/// Audit rows that are checked at once.
const AUDIT_PAGE: usize = 1_000;

/// SHA-256 of a secret that only its holder has.
pub type SecretHash = [u8; 32];

/// A person with an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRow {
    /// The person.
    pub id: UserId,
    /// The address, in lower case: what a person logs in with.
    pub email: String,
    /// The name, if one was given.
    pub full_name: Option<String>,
    /// The password's Argon2id string.
    pub password: String,
    /// When the account was made.
    pub created_at: Timestamp,
}

/// One refresh token, as it is about to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRefresh {
    /// What only its holder knows, hashed.
    pub secret: SecretHash,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A login that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRow {
    /// The login.
    pub id: LoginId,
    /// When it began.
    pub created_at: Timestamp,
    /// When its tokens were last renewed, or when it began.
    pub last_used_at: Timestamp,
    /// The program that the person logged in with, by its own words.
    pub user_agent: Option<String>,
}

/// The result of presenting a refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// It was valid: it is used up now, and the new one replaces it.
    Rotated {
        /// The login that it belongs to.
        login: LoginId,
        /// Its person.
        user: UserId,
    },
    /// It was used before, so it was copied: the whole login is ended now.
    Reused {
        /// The login that was ended.
        login: LoginId,
    },
    /// It has expired, its login was ended, or there is no such token.
    Dead,
}

/// A workspace of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRow {
    /// The workspace.
    pub id: WorkspaceId,
    /// Its name.
    pub name: String,
    /// The folder of the host that the operator allowed for it; `None`: one below the data folder.
    pub folder: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last renamed, or made.
    pub updated_at: Timestamp,
}

/// A person in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// The person.
    pub user: UserId,
    /// The person's address.
    pub email: String,
    /// The person's name.
    pub full_name: Option<String>,
    /// The role of the person.
    pub role: Role,
    /// When the person became a member.
    pub since: Timestamp,
}

/// An agent's key to one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    /// The key.
    pub id: KeyId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Its name.
    pub name: String,
    /// The role of its holder.
    pub role: Role,
    /// The only chat that it may speak in.
    pub chat: Option<ChatId>,
    /// The toolsets that it may use; `None` for all, as keys from before toolsets have it.
    pub toolsets: Option<Vec<String>>,
    /// The person who made it.
    pub made_by: UserId,
    /// When it was made.
    pub created_at: Timestamp,
}

/// The result of changing a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberChange {
    /// The member was changed, and these keys that the member had made were revoked.
    Done(Vec<KeyId>),
    /// The person is no member.
    NoMember,
    /// The workspace would have been left without an owner; nothing happened.
    LastOwner,
}

/// A request that may be sent again, with its actor and its idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry<'a> {
    /// The actor, as audit rows name it.
    pub actor: &'a str,
    /// The value of the header.
    pub key: &'a str,
    /// The hash of method, address and body: the same key with another one is an error.
    pub fingerprint: SecretHash,
    /// The workspace that it is about, if it is about one.
    pub workspace: Option<WorkspaceId>,
}

/// The state of such a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is new: the caller performs it.
    New,
    /// It was answered with this response.
    Answered {
        /// The HTTP status.
        status: u16,
        /// The body.
        body: Vec<u8>,
    },
    /// It was begun and has no answer yet.
    Begun {
        /// When it was begun.
        at: Timestamp,
    },
    /// It was answered, and the stored answer was purged.
    Forgotten,
    /// The key was used for another request.
    Differs,
}

/// People, workspaces and keys of one server.
///
/// **Crash notes.** Whatever changes something returns only after it is flushed; a crash before leaves
/// all of it or nothing.
pub trait Registry: Send + Sync {
    /// Adds a person; `false` if the address is taken.
    fn add_user(&self, user: &UserRow, audit: &AuditEntry) -> Result<bool>;

    /// The person with that address.
    fn user_by_email(&self, email: &str) -> Result<Option<UserRow>>;

    /// Begins a login with its first refresh token. `user_agent` is the program that the person logs in with.
    fn add_login(
        &self,
        login: LoginId,
        user: UserId,
        user_agent: Option<&str>,
        refresh: NewRefresh,
        audit: &AuditEntry,
    ) -> Result<()>;

    /// Uses a refresh token up and puts `next` in its place; a token that was used before ends its login,
    /// and only that leaves the audit row `reused`, whose moment is the one that counts.
    fn rotate(
        &self,
        presented: &SecretHash,
        next: NewRefresh,
        reused: &AuditEntry,
    ) -> Result<Rotation>;

    /// The login that a refresh token belongs to, used up or not.
    fn login_of(&self, presented: &SecretHash) -> Result<Option<(LoginId, UserId)>>;

    /// Ends a login: none of its tokens is good any more. One that has ended leaves no second audit row.
    fn end_login(&self, login: LoginId, audit: &AuditEntry) -> Result<()>;

    /// The logins of a person that have not ended and can still be renewed at `now`, newest first: those that are older
    /// than `before`, if it is given.
    fn logins(
        &self,
        user: UserId,
        now: Timestamp,
        before: Option<LoginId>,
        limit: usize,
    ) -> Result<Vec<LoginRow>>;

    /// As [`Registry::end_login`], for a login of this person; `false` if the person has none with that id that has not
    /// ended.
    fn end_login_of(&self, user: UserId, login: LoginId, audit: &AuditEntry) -> Result<bool>;

    /// Replaces the Argon2id string `old` of a person's password by another, and ends all logins of the person but `keep`;
    /// `false`, and nothing happens, if the password is another one by now.
    fn change_password(
        &self,
        user: UserId,
        old: &str,
        new: &str,
        keep: LoginId,
        audit: &AuditEntry,
    ) -> Result<bool>;

    /// The person of a login that has not ended.
    fn person(&self, login: LoginId) -> Result<Option<UserRow>>;

    /// Adds a workspace with its first owner.
    fn add_workspace(
        &self,
        workspace: &WorkspaceRow,
        owner: UserId,
        audit: &AuditEntry,
    ) -> Result<()>;

    /// A workspace that was not deleted.
    fn workspace(&self, id: WorkspaceId) -> Result<Option<WorkspaceRow>>;

    /// The folders of the host that workspaces are on, each with its workspace. Deleted ones have none.
    fn folders(&self) -> Result<Vec<(WorkspaceId, String)>>;

    /// A person's workspaces with the role in each, by id (oldest first), after `after`.
    fn workspaces_of(
        &self,
        user: UserId,
        after: Option<WorkspaceId>,
        limit: usize,
    ) -> Result<Vec<(WorkspaceRow, Role)>>;

    /// Renames a workspace; `false` if there is none.
    fn rename_workspace(&self, id: WorkspaceId, name: &str, audit: &AuditEntry) -> Result<bool>;

    /// Deletes a workspace: it cannot be reached any more, and its files stay where they are.
    fn delete_workspace(&self, id: WorkspaceId, audit: &AuditEntry) -> Result<bool>;

    /// What a person may do in a workspace; `None` for strangers, and where there is no workspace.
    fn role_of(&self, workspace: WorkspaceId, user: UserId) -> Result<Option<Role>>;

    /// The members of a workspace that was not deleted, by id, after `after`.
    fn members(
        &self,
        workspace: WorkspaceId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<MemberRow>>;

    /// Adds a member; `false` if the person is one already, or there is no such workspace.
    fn add_member(
        &self,
        workspace: WorkspaceId,
        user: UserId,
        role: Role,
        audit: &AuditEntry,
    ) -> Result<bool>;

    /// Gives a member another role, or (`None`) removes it. Who is no owner any more loses the keys that
    /// they made, too: each leaves an audit row of its own.
    fn change_member(
        &self,
        workspace: WorkspaceId,
        user: UserId,
        role: Option<Role>,
        audit: &AuditEntry,
    ) -> Result<MemberChange>;

    /// Adds an agent's key; an error if its workspace was deleted, or its maker is no owner of it any more.
    fn add_key(&self, key: &KeyRow, secret: &SecretHash, audit: &AuditEntry) -> Result<()>;

    /// The keys of a workspace that was not deleted, without those that were revoked, by id, after
    /// `after`.
    fn keys(
        &self,
        workspace: WorkspaceId,
        after: Option<KeyId>,
        limit: usize,
    ) -> Result<Vec<KeyRow>>;

    /// The keys of all workspaces that were not deleted, without those that were revoked, by id, after `after`;
    /// each with the name of its workspace.
    fn all_keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<(KeyRow, String)>>;

    /// The key with that secret, unless it was revoked or its workspace deleted.
    fn key_by_secret(&self, secret: &SecretHash) -> Result<Option<KeyRow>>;

    /// Revokes a key; `false` if the workspace has no such key.
    fn revoke_key(&self, workspace: WorkspaceId, key: KeyId, audit: &AuditEntry) -> Result<bool>;

    /// Begins a request under its key, unless it is known. What is older than `forget_before` is not.
    fn claim(&self, retry: Retry<'_>, now: Timestamp, forget_before: Timestamp) -> Result<Claim>;

    /// Keeps the answer of a request that was begun; the first one, and of that very request only.
    fn answer_claim(&self, retry: Retry<'_>, status: u16, body: &[u8]) -> Result<()>;

    /// Forgets a request that was begun and did nothing.
    fn drop_claim(&self, retry: Retry<'_>) -> Result<()>;

    /// Forgets what was answered to requests about a workspace, in every file of the registry; that they
    /// were answered is still known.
    fn forget_answers(&self, workspace: WorkspaceId) -> Result<()>;

    /// Audit rows after row number `after`, oldest first.
    fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditRow>>;

    /// Follows the audit chain from its first row to its last: how many rows there are, and what is wrong with them.
    fn check_audit(&self) -> Result<(u64, Vec<String>)> {
        let (mut number, mut hash, mut rows, mut problems) = (0, [0; 32], 0, Vec::new());
        loop {
            let page = self.audit(number, AUDIT_PAGE)?;
            if page.is_empty() {
                return Ok((rows, problems));
            }
            for row in page {
                rows += 1;
                if row.number != number + 1 || row.expected_hash(&hash) != row.hash {
                    problems.push(format!(
                        "row {} of the audit chain of people and keys does not follow from the row before it",
                        row.number
                    ));
                }
                (number, hash) = (row.number, row.hash);
            }
        }
    }
}
