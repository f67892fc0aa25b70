//! The roles of members and keys in a workspace.

crate::spelled_enum! {
    /// Roles, from the least to the most. A greater one may do everything that a lesser one may.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Role {
        /// Reads, and nothing else.
        Viewer = "viewer",
        /// Reads and changes.
        Member = "member",
        /// Also manages the workspace, its members and its keys.
        Owner = "owner",
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
