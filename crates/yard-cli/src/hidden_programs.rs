//! Finds programs of this machine that a box does not show, for the answer to a command that did not find one. This
//! is for local workspaces only, whose agents may know paths of the machine (R13).

#![allow(clippy::disallowed_methods, reason = "folders of the machine, not of a workspace")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::toolchains::is_program;
use crate::user_environment::UserEnvironment;

/// The usual folders of programs, below the home.
const BELOW_HOME: [&str; 8] = [
    "bin",
    ".local/bin",
    ".cargo/bin",
    "go/bin",
    ".bun/bin",
    ".deno/bin",
    ".poetry/bin",
    ".npm-global/bin",
];
/// The usual folders of programs elsewhere.
const ELSEWHERE: [&str; 3] =
    ["/snap/bin", "/home/linuxbrew/.linuxbrew/bin", "/nix/var/nix/profiles/default/bin"];
/// The folders that every box shows.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/opt"];

/// The folder of a program that is on this machine and not in one of the folders that are shown.
pub(crate) fn find(name: &str, user: &UserEnvironment<'_>, shown: &[PathBuf]) -> Option<PathBuf> {
    find_in(name, &folders(&user.path, user.home.as_deref()), shown)
}

fn folders(path: &OsStr, home: Option<&Path>) -> Vec<PathBuf> {
    let of_path = std::env::split_paths(path);
    let of_home = home.into_iter().flat_map(|home| BELOW_HOME.map(|folder| home.join(folder)));
    of_path.chain(of_home).chain(ELSEWHERE.map(PathBuf::from)).collect()
}

fn find_in(name: &str, folders: &[PathBuf], shown: &[PathBuf]) -> Option<PathBuf> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let is_shown = |folder: &Path| {
        SYSTEM.iter().any(|system| folder.starts_with(system))
            || shown.iter().any(|shown| folder.starts_with(shown))
    };
    let mut hidden = folders.iter().filter(|folder| folder.is_absolute() && !is_shown(folder));
    hidden.find(|folder| is_program(&folder.join(name))).cloned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_a_program_in_a_folder_that_is_not_shown_is_found() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        let bin = home.join(".cargo/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("cargo"), "").unwrap();
        let found =
            |shown: &[PathBuf]| find_in("cargo", &folders(OsStr::new(""), Some(home)), shown);
        assert_eq!(found(&[]), None, "it is no program");
        fs::set_permissions(bin.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found(&[]), Some(bin.clone()));
        assert_eq!(found(&[home.join(".cargo")]), None, "the box shows it");
        assert_eq!(find_in("../bin/cargo", &[bin], &[]), None);
    }
}
