//! Files that decide what programs of others do later, by names alone: programs run them or obey them by
//! themselves, without anybody naming them. What a person runs by name (a Makefile, package.json,
//! conftest.py) is not among them. Git's own files are in [`crate::git`].

use crate::{Name, WsPath};

/// Names of such files and folders, at any depth. Of a folder everything in it counts.
const ALONE: [&[u8]; 4] = [b".envrc", b".husky", b".devcontainer", b".devcontainer.json"];
/// The same where they lie in a folder of a certain name.
const BELOW: [(&[u8], &[u8]); 4] = [
    (b".vscode", b"tasks.json"),
    (b".github", b"workflows"),
    (b".cargo", b"config.toml"),
    (b".cargo", b"config"),
];

/// Whether a path is that of such a file or folder, or below such a folder.
pub fn is_named_so(path: &WsPath) -> bool {
    let names: Vec<Name> = path.names().collect();
    let alone = names.iter().any(|name| ALONE.contains(&name.as_bytes()));
    let is_pair = |pair: &[Name]| BELOW.contains(&(pair[0].as_bytes(), pair[1].as_bytes()));
    alone || names.windows(2).any(is_pair)
}

/// Whether such a file may come with a folder that arrives here whole, or be reached through a link here.
pub fn may_lie_below(path: &WsPath) -> bool {
    let last = path.name();
    is_named_so(path)
        || last.is_some_and(|name| BELOW.iter().any(|(folder, _)| *folder == name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WsPath {
        WsPath::parse(text).unwrap()
    }

    #[test]
    fn what_programs_run_by_themselves_is_named() {
        for text in [
            "/.envrc",
            "/sub/.envrc",
            "/.husky/pre-commit",
            "/web/.husky/_/husky.sh",
            "/.vscode/tasks.json",
            "/.devcontainer/devcontainer.json",
            "/.devcontainer.json",
            "/.github/workflows/ci.yml",
            "/.cargo/config.toml",
            "/crates/a/.cargo/config",
        ] {
            assert!(is_named_so(&path(text)), "{text}");
        }
        for text in [
            "/Makefile",
            "/package.json",
            "/conftest.py",
            "/.vscode/settings.json",
            "/.github/CODEOWNERS",
            "/cargo/config.toml",
            "/docs/envrc",
        ] {
            assert!(!is_named_so(&path(text)), "{text}");
        }
    }

    #[test]
    fn a_folder_that_arrives_may_bring_them() {
        for text in ["/.github", "/.vscode", "/.cargo", "/.husky", "/a/.github"] {
            assert!(may_lie_below(&path(text)), "{text}");
        }
        assert!(!may_lie_below(&path("/src")));
    }
}
