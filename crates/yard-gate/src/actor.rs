//! Who is calling.

use yard_core::Author;

/// Somebody who makes calls. On a local machine tools act as the agent, `undo` and `restore` as the
/// person; people and keys of a server come with the HTTP door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An agent on this machine.
    LocalAgent,
    /// The person at this machine.
    LocalPerson,
}

impl Actor {
    /// How history names it.
    pub fn author(self) -> Author {
        match self {
            Self::LocalAgent => Author::Agent,
            Self::LocalPerson => Author::Person,
        }
    }

    /// How audit rows name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LocalAgent => "agent:local",
            Self::LocalPerson => "person:local",
        }
    }
}
