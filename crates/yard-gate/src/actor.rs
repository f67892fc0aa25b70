//! Who is calling.

use yard_core::{Author, KeyId, UserId};

/// Somebody who makes calls. On a local machine tools act as the agent, `undo`, `restore` and `answer`
/// as the person; on a server it is a person who logged in, or an agent with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// An agent on this machine.
    LocalAgent,
    /// The person at this machine.
    LocalPerson,
    /// A person with an account.
    Person(UserId),
    /// An agent with a key.
    Key(KeyId),
}

impl Actor {
    /// How history names it.
    pub fn author(self) -> Author {
        if self.is_person() { Author::Person } else { Author::Agent }
    }

    /// Whether it may do what only a person may: answer, approve, manage.
    pub fn is_person(self) -> bool {
        matches!(self, Self::LocalPerson | Self::Person(_))
    }

    /// How audit rows name it.
    pub fn name(self) -> String {
        match self {
            Self::LocalAgent => "agent:local".to_owned(),
            Self::LocalPerson => "person:local".to_owned(),
            Self::Person(user) => format!("person:{user}"),
            Self::Key(key) => format!("key:{key}"),
        }
    }
}
