//! The identity of a caller.

use yard_core::{Author, KeyId, UserId};

/// A person or an agent that makes calls. On a local machine tools act as the agent, `undo`, `restore` and `answer` as
/// the person. On a server it is a person who logged in, or an agent with a key.
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
    /// The author of its steps.
    pub fn author(self) -> Author {
        if self.is_person() { Author::Person } else { Author::Agent }
    }

    /// Whether it is a person, who may answer, approve and manage.
    pub fn is_person(self) -> bool {
        matches!(self, Self::LocalPerson | Self::Person(_))
    }

    /// The actor with a name of an audit row.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name.split_once(':')? {
            ("agent", "local") => Some(Self::LocalAgent),
            ("person", "local") => Some(Self::LocalPerson),
            ("person", id) => id.parse().ok().map(Self::Person),
            ("key", id) => id.parse().ok().map(Self::Key),
            _ => None,
        }
    }

    /// Whether this name of an audit row is that of a person.
    pub(crate) fn is_person_name(name: &str) -> bool {
        Self::from_name(name).is_some_and(Self::is_person)
    }

    /// Its name in audit rows.
    pub fn name(self) -> String {
        let mut name = String::with_capacity("person:".len() + 36);
        match self {
            Self::LocalAgent => name.push_str("agent:local"),
            Self::LocalPerson => name.push_str("person:local"),
            Self::Person(user) => {
                name.push_str("person:");
                user.push_onto(&mut name);
            }
            Self::Key(key) => {
                name.push_str("key:");
                key.push_onto(&mut name);
            }
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back() {
        let (user, key) = (UserId::from_bytes([7; 16]), KeyId::from_bytes([8; 16]));
        for actor in [Actor::LocalAgent, Actor::LocalPerson, Actor::Person(user), Actor::Key(key)] {
            assert_eq!(Actor::from_name(&actor.name()), Some(actor));
        }
        assert_eq!(Actor::from_name("external"), None);
    }
}
