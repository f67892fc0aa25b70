//! Files that programs run or obey by themselves, such as `.envrc` or a workflow, by their names. Files that a person
//! runs by name (a Makefile, package.json, conftest.py) are not among them. Git's own files are in [`crate::git`].

use crate::{Name, WsPath};

/// Names of such files and folders, at any depth. In such a folder every file counts.
const ALONE: [&[u8]; 7] = [
    b".envrc",
    b".husky",
    b".devcontainer",
    b".devcontainer.json",
    b".mcp.json",
    b".gitlab-ci.yml",
    b".pre-commit-config.yaml",
];
/// The same for names in a folder with a certain name.
const BELOW: [(&[u8], &[u8]); 8] = [
    (b".vscode", b"tasks.json"),
    (b".vscode", b"mcp.json"),
    (b".cursor", b"mcp.json"),
    (b".claude", b"settings.json"),
    (b".claude", b"settings.local.json"),
    (b".github", b"workflows"),
    (b".cargo", b"config.toml"),
    (b".cargo", b"config"),
];

/// Whether a path is such a file or folder, or inside of such a folder.
pub fn is_auto_run(path: &WsPath) -> bool {
    let names: Vec<Name> = path.names().collect();
    let alone = names.iter().any(|name| ALONE.contains(&name.as_bytes()));
    let is_pair = |pair: &[Name]| BELOW.contains(&(pair[0].as_bytes(), pair[1].as_bytes()));
    alone || names.windows(2).any(is_pair)
}

/// Whether a folder that is moved to this path, or a link at it, may bring such a file.
pub fn may_contain_auto_run(path: &WsPath) -> bool {
    let last = path.name();
    is_auto_run(path)
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
            "/.mcp.json",
            "/.cursor/mcp.json",
            "/.claude/settings.json",
            "/.gitlab-ci.yml",
            "/a/.pre-commit-config.yaml",
        ] {
            assert!(is_auto_run(&path(text)), "{text}");
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
            assert!(!is_auto_run(&path(text)), "{text}");
        }
    }

    #[test]
    fn a_folder_that_arrives_may_bring_them() {
        for text in ["/.github", "/.vscode", "/.claude", "/.cargo", "/.husky", "/a/.github"] {
            assert!(may_contain_auto_run(&path(text)), "{text}");
        }
        assert!(!may_contain_auto_run(&path("/src")));
    }
}
