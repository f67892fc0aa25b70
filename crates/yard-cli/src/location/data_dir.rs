//! The data folder: the one that was chosen, or the user's default one. It is found and made here, and not read.

#![allow(clippy::disallowed_methods, reason = "only the binary finds and makes the data folder")]

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use yard_core::FaultCode;

use crate::failure::Failure;

/// The data folder, if it exists.
pub(crate) fn existing_data_folder(chosen: Option<&Path>) -> Option<PathBuf> {
    data_folder(chosen).ok().filter(|folder| folder.is_dir())
}

/// The data folder, if a server has people and keys in it.
pub(crate) fn data_folder_of_server(chosen: Option<&Path>) -> Option<PathBuf> {
    existing_data_folder(chosen).filter(|folder| folder.join("people.db").is_file())
}

/// The data folder that was chosen, or the default one of the user.
pub(crate) fn data_folder(chosen: Option<&Path>) -> Result<PathBuf, Failure> {
    match chosen {
        Some(chosen) => absolute(chosen),
        None => default_data_dir(|name| std::env::var_os(name)),
    }
}

fn default_data_dir(env: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    let folder = |name| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user_data =
        folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")));
    match user_data {
        Some(user_data) => absolute(&user_data.join("toolyard")),
        None => Err(Failure::new(
            FaultCode::Unavailable,
            "no folder to keep the history in: HOME is not set",
        )
        .with_hint("choose one with --data-dir or TOOLYARD_DATA_DIR")),
    }
}

/// Makes a folder that only its owner can read, because a history has every version of every file.
pub(crate) fn make_private_folder(folder: &Path) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| {
        // An answer to an agent names no folder outside of the root (R13).
        let failure = match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                Failure::new(FaultCode::NotFolder, "the data folder is a file, or lies in one")
            }
            _ => Failure::io("the data folder cannot be made", &error),
        };
        failure.with_hint("choose another with --data-dir or TOOLYARD_DATA_DIR")
    })
}

/// Makes the data folder, or checks that no other user can read the existing one. The mode of an empty folder is
/// changed; with any other folder it is an error, because something may depend on its mode.
pub(crate) fn make_data_folder(folder: &Path) -> Result<(), Failure> {
    make_private_folder(folder)?;
    let to_failure = |error| Failure::io("the data folder cannot be used", &error);
    let mode = fs::metadata(folder).map_err(to_failure)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    if fs::read_dir(folder).map_err(to_failure)?.next().is_none() {
        let private = fs::Permissions::from_mode(0o700);
        return fs::set_permissions(folder, private).map_err(to_failure);
    }
    let shown = folder.display();
    let message = format!(
        "others on this machine can look into the data folder {shown} (mode {:o}), which holds every \
         version of every file, and a server's accounts",
        mode & 0o7777
    );
    Err(Failure::new(FaultCode::Denied, message)
        .with_hint(format!("close it with `chmod 700 {shown}`, or choose another with --data-dir")))
}

/// An absolute path with its links resolved as far as it exists: what does not exist yet is made
/// later, so it holds no links.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let to_failure = |error| Failure::io("the data folder cannot be used", &error);
    let path = std::path::absolute(path).map_err(to_failure)?;
    for existing in path.ancestors() {
        match fs::canonicalize(existing) {
            Ok(canonical) => {
                let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
                return Ok(join_normalized(canonical, rest));
            }
            // What lies in a file is refused with its name when it is made.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => return Err(to_failure(error)),
        }
    }
    Ok(path)
}

pub(crate) fn join_normalized(mut base: PathBuf, rest: &Path) -> PathBuf {
    for component in rest.components() {
        match component {
            Component::ParentDir => {
                base.pop();
            }
            Component::Normal(name) => base.push(name),
            _ => {}
        }
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default_for(vars: &[(&str, &str)]) -> Option<PathBuf> {
        let get = |name: &str| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        default_data_dir(get).ok()
    }

    #[test]
    fn the_data_folder_follows_the_environment() {
        assert_eq!(default_for(&[("XDG_DATA_HOME", "/nowhere")]), Some("/nowhere/toolyard".into()));
        assert_eq!(default_for(&[("XDG_DATA_HOME", "relative")]), None);
        assert_eq!(default_for(&[]), None);
        let home = default_for(&[("HOME", "/nowhere")]).unwrap();
        assert!(home.starts_with("/nowhere") && home.ends_with("toolyard"));
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_found_through_links() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        assert_eq!(absolute(&base.join("link/a/../b")).unwrap(), base.join("real/b"));
    }
}
