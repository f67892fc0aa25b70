//! Names a part of a planned change, as a person chooses it from the diff.

use crate::WsPath;

/// What happens to the entry at one path, or some hunks of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePart {
    /// The path before or after the change. The folder of a repository's own files stands for all that git itself wrote
    /// there, and a folder of build output for everything in it.
    pub path: WsPath,
    /// The hunks of its diff, from 0; `None` is all of what happens there.
    pub hunks: Option<Vec<usize>>,
}

impl ChangePart {
    /// All of what happens at a path.
    pub fn whole(path: WsPath) -> Self {
        Self { path, hunks: None }
    }
}
