//! What somebody may do in one workspace.

/// Roles, from the least to the most. A greater one may do everything that a lesser one may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads, and nothing else.
    Viewer,
    /// Reads and changes.
    Member,
    /// Also manages the workspace, its members and its keys.
    Owner,
}

impl Role {
    /// Every role with its one spelling.
    pub const WORDS: [(Role, &'static str); 3] =
        [(Self::Viewer, "viewer"), (Self::Member, "member"), (Self::Owner, "owner")];

    /// Its spelling.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(role, _)| *role == self).map_or("viewer", |(_, word)| word)
    }

    /// The role of that spelling.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(role, _)| *role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_ordered_and_spelled_once() {
        assert!(Role::Viewer < Role::Member && Role::Member < Role::Owner);
        assert!(Role::WORDS.iter().all(|(role, word)| Role::from_word(word) == Some(*role)));
        assert_eq!(Role::from_word("admin"), None);
    }
}
