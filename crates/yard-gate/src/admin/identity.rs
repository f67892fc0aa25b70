//! Who is calling a server, and in which workspace.

use yard_core::{LoginId, Role, Timestamp, UserId, WorkspaceId};
use yard_store::registry::{KeyRow, UserRow};

use crate::{Actor, CallerPolicy};

/// The id of the person of this machine. No account has it, because ids of accounts have a time in them.
pub(super) fn local_person() -> UserId {
    UserId::from_bytes([0; 16])
}

/// A person, as doors show one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The person.
    pub id: UserId,
    /// The address.
    pub email: String,
    /// The name, if one was given.
    pub full_name: Option<String>,
    /// When the account was made.
    pub created_at: Timestamp,
}

impl Person {
    /// Whether this is the person of the machine, who has no account.
    pub fn is_local(&self) -> bool {
        self.id == local_person()
    }
}

impl From<UserRow> for Person {
    fn from(row: UserRow) -> Self {
        let UserRow { id, email, full_name, created_at, .. } = row;
        Self { id, email, full_name, created_at }
    }
}

/// A caller that presented a valid token or key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A person who logged in.
    Person {
        /// The person.
        person: Person,
        /// The login that the token belongs to.
        login: LoginId,
    },
    /// An agent with a key.
    Agent(KeyRow),
}

impl Identity {
    /// How audit rows and history name it.
    pub fn actor(&self) -> Actor {
        match self {
            Self::Person { person, .. } if person.is_local() => Actor::LocalPerson,
            Self::Person { person, .. } => Actor::Person(person.id),
            Self::Agent(key) => Actor::Key(key.id),
        }
    }
}

/// A caller inside a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The caller.
    pub identity: Identity,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The role of the caller in the workspace.
    pub role: Role,
}

impl Entered {
    /// The policy of its operations.
    pub(super) fn policy(&self) -> CallerPolicy {
        match self.role {
            Role::Viewer => CallerPolicy::ReadOnly,
            // As on the command line.
            _ if self.identity.actor() == Actor::LocalPerson => CallerPolicy::Open,
            // R14: the policy of a server's callers.
            Role::Member | Role::Owner => CallerPolicy::Guarded,
        }
    }
}
