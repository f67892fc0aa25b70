//! Git's own folder, by names alone: which of its files decide what others do, which hold the past, and
//! which git rewrites whenever it works. Whoever judges or shows a change in there asks this table.

use crate::{Name, WsPath};

/// The name of the folder, or of a file that leads to it.
pub const FOLDER: &[u8] = b".git";

/// What a path in git's folder means to git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The folder itself, or a file that leads git elsewhere.
    Folder,
    /// Git runs it or obeys it: hooks, configuration, attributes.
    Obeyed,
    /// A branch, a tag or another name for a commit.
    Ref,
    /// What commits are made of. Nothing in there changes once it is written.
    Past,
    /// Many refs in one file: a change may lose any of them.
    Refs,
    /// The note of something that is under way; over, it goes.
    Passing,
    /// What git writes whenever it works.
    Work,
    /// Nothing that is known to be harmless.
    Unknown,
}

const OBEYED: [&[u8]; 6] =
    [b"hooks", b"config", b"config.worktree", b"info", b"commondir", b"gitdir"];
const PASSING: [&[u8]; 8] = [
    b"MERGE_HEAD",
    b"MERGE_MSG",
    b"MERGE_MODE",
    b"CHERRY_PICK_HEAD",
    b"REVERT_HEAD",
    b"SQUASH_MSG",
    b"AUTO_MERGE",
    b"gc.log",
];
const WORK: [&[u8]; 10] = [
    b"logs",
    b"index",
    b"HEAD",
    b"branches",
    b"description",
    b"rebase-merge",
    b"rebase-apply",
    b"sequencer",
    b"MERGE_RR",
    b"COMMIT_EDITMSG",
];

/// What a path means to git; `None` if it is not git's.
pub fn part(path: &WsPath) -> Option<Part> {
    let names: Vec<Name> = path.names().collect();
    let at = names.iter().position(|name| name.as_bytes() == FOLDER)?;
    let inside: Vec<&[u8]> = names[at + 1..].iter().map(Name::as_bytes).collect();
    let Some(first) = inside.first() else { return Some(Part::Folder) };
    let last = inside.last().unwrap_or(first);
    Some(match *first {
        b"objects" => Part::Past,
        // Whole repositories lie below `modules`, so that these count wherever they are.
        _ if inside.iter().any(|name| OBEYED.contains(name)) => Part::Obeyed,
        _ if last.ends_with(b".lock") => Part::Passing,
        b"refs" => Part::Ref,
        b"packed-refs" => Part::Refs,
        name if PASSING.contains(&name) => Part::Passing,
        name if WORK.contains(&name) => Part::Work,
        name if name.ends_with(b"_HEAD") || name.ends_with(b"_MSG") => Part::Work,
        name if name.ends_with(b"_EDITMSG") => Part::Work,
        _ => Part::Unknown,
    })
}

/// The repository that a path in git's folder belongs to: the folder's own path.
pub fn repository(path: &WsPath) -> Option<WsPath> {
    let is_folder = |path: &WsPath| path.name().is_some_and(|name| name.as_bytes() == FOLDER);
    path.lineage().into_iter().find(is_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_git_s_means_something() {
        let of = |path: &str| part(&WsPath::parse(path).unwrap());
        assert_eq!(of("/src/git/config"), None);
        for (path, meant) in [
            ("/.git", Part::Folder),
            ("/sub/.git", Part::Folder),
            ("/.git/hooks/pre-commit", Part::Obeyed),
            ("/.git/modules/sub/hooks/post-checkout", Part::Obeyed),
            ("/.git/worktrees/w/config.worktree", Part::Obeyed),
            ("/.git/refs/heads/main", Part::Ref),
            ("/.git/refs/heads/main.lock", Part::Passing),
            ("/.git/objects/ab/config", Part::Past),
            ("/.git/packed-refs", Part::Refs),
            ("/.git/index", Part::Work),
            ("/.git/ORIG_HEAD", Part::Work),
            ("/.git/MERGE_HEAD", Part::Passing),
            ("/.git/whatever", Part::Unknown),
        ] {
            assert_eq!(of(path), Some(meant), "{path}");
        }
    }

    #[test]
    fn a_repository_is_the_folder_itself() {
        let of =
            |path: &str| repository(&WsPath::parse(path).unwrap()).map(|folder| folder.to_string());
        assert_eq!(of("/a/.git/refs/heads/x").as_deref(), Some("/a/.git"));
        assert_eq!(of("/.git").as_deref(), Some("/.git"));
        assert_eq!(of("/a/b"), None);
    }
}
