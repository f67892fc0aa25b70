//! Who is calling a server, and in which workspace.

use yard_core::{LoginId, Role, Timestamp, UserId, WorkspaceId};
use yard_store::registry::{KeyRow, UserRow};

use crate::{Actor, Policy};

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

impl From<UserRow> for Person {
    fn from(row: UserRow) -> Self {
        let UserRow { id, email, full_name, created_at, .. } = row;
        Self { id, email, full_name, created_at }
    }
}

/// A caller that showed a good token or key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A person who logged in.
    Person {
        /// Who.
        person: Person,
        /// By which login.
        login: LoginId,
    },
    /// An agent with a key.
    Agent(KeyRow),
}

impl Identity {
    /// How audit rows and history name it.
    pub fn actor(&self) -> Actor {
        match self {
            Self::Person { person, .. } => Actor::Person(person.id),
            Self::Agent(key) => Actor::Key(key.id),
        }
    }
}

/// A caller inside a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// Who.
    pub identity: Identity,
    /// Where.
    pub workspace: WorkspaceId,
    /// What it may do there.
    pub role: Role,
}

impl Entered {
    /// What its operations may do.
    pub(super) fn policy(&self) -> Policy {
        match self.role {
            Role::Viewer => Policy::ReadOnly,
            // R14: what a server's callers may do by themselves.
            Role::Member | Role::Owner => Policy::Guarded,
        }
    }
}
