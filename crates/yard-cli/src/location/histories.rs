//! The folders in a data folder that keep the histories of workspaces: their names, and which root each belongs to.

#![allow(clippy::disallowed_methods, reason = "only the binary looks into the data folder")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use yard_core::{ContentHash, WorkspaceId};

use super::data_dir::existing_data_folder;
use crate::failure::Failure;

/// The file in a state folder that names its root.
const ROOT_FILE: &str = "root";

/// Hex digits of the root's hash that name its state folder.
const STATE_NAME_DIGITS: usize = 32;

pub(crate) fn state_name(root: &Path) -> String {
    let mut name = ContentHash::of(root.as_os_str().as_bytes()).to_string();
    name.truncate(STATE_NAME_DIGITS);
    name
}

/// Writes the path of the root into its state folder, for people who look there and for `doctor`.
pub(crate) fn record_root(state_dir: &Path, root: &Path) -> Result<(), Failure> {
    let note = state_dir.join(ROOT_FILE);
    let text = [root.as_os_str().as_bytes(), b"\n"].concat();
    if fs::read(&note).is_ok_and(|known| known == text) {
        return Ok(());
    }
    fs::write(&note, text).map_err(|error| Failure::io("the data folder cannot be used", &error))
}

/// The root that is recorded in a state folder.
fn noted_root(state_dir: &Path) -> Option<PathBuf> {
    let note = fs::read(state_dir.join(ROOT_FILE)).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(note.strip_suffix(b"\n").unwrap_or(&note))))
}

/// The other roots that have a history in the data folder.
pub(crate) fn other_roots(root: &Path, data_dir: Option<&Path>) -> Vec<PathBuf> {
    let Some(data) = existing_data_folder(data_dir) else { return Vec::new() };
    let Ok(states) = fs::read_dir(data.join("workspaces")) else { return Vec::new() };
    let roots = states.flatten().filter_map(|state| noted_root(&state.path()));
    roots.filter(|other| other != root && other.is_dir()).collect()
}

/// The roots on this machine that have a history in the data folder, each with the id that the name of its state folder
/// is. Folders that are gone are left out.
pub(crate) fn local_histories(data: &Path) -> Vec<(WorkspaceId, PathBuf)> {
    let states = fs::read_dir(data.join("workspaces")).into_iter().flatten().flatten();
    let with_history = states.filter(|state| state.path().join("journal.db").is_file());
    let local = with_history.filter_map(|state| {
        let name = state.file_name().into_string().ok()?;
        let id = u128::from_str_radix(&name, 16).ok();
        let id = id.filter(|_| name.len() == STATE_NAME_DIGITS)?;
        let root = noted_root(&state.path()).filter(|root| root.is_dir())?;
        Some((WorkspaceId::from_bytes(id.to_be_bytes()), root))
    });
    local.collect()
}

/// The folder that keeps the history of a workspace.
pub(crate) struct StateFolder {
    /// What people know the workspace by: its root, or on a server its id.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Every folder of a data folder that keeps the history of a workspace.
pub(crate) fn state_folders(data: &Path) -> Vec<StateFolder> {
    let inside = |folder: &str| {
        let entries = fs::read_dir(data.join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.join("journal.db").is_file())
    };
    let own_name =
        |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let local = inside("workspaces").filter_map(|path| {
        // A server's data folder holds workspaces in the same place; their names are ids.
        let is_ours = own_name(&path).len() == STATE_NAME_DIGITS;
        let root = noted_root(&path).filter(|_| is_ours)?;
        // A root whose path is not UTF-8 is named with replacement characters.
        Some(StateFolder { name: root.to_string_lossy().into_owned(), path })
    });
    let served = inside("journals").map(|path| StateFolder { name: own_name(&path), path });
    local.chain(served).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_whose_path_is_not_utf_8_is_listed() {
        let data = tempfile::tempdir().unwrap();
        let root = Path::new(OsStr::from_bytes(b"/srv/caf\xe9"));
        let state_dir = data.path().join("workspaces").join(state_name(root));
        fs::create_dir_all(&state_dir).unwrap();
        fs::write(state_dir.join("journal.db"), "").unwrap();
        record_root(&state_dir, root).unwrap();
        let names: Vec<String> =
            state_folders(data.path()).into_iter().map(|state| state.name).collect();
        assert_eq!(names, ["/srv/caf\u{fffd}"]);
    }

    #[test]
    fn a_root_has_one_state_folder() {
        assert_eq!(state_name(Path::new("/srv/job")).len(), STATE_NAME_DIGITS);
        assert_ne!(state_name(Path::new("/srv/job")), state_name(Path::new("/srv/job2")));
    }
}
