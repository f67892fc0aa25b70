//! The folders in a data folder that keep the histories of workspaces: their names, and which root each belongs to.

#![allow(clippy::disallowed_methods, reason = "only the binary looks into the data folder")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use yard_core::{ContentHash, Timestamp, WorkspaceId};
use yard_gate::admin::MissingFolder;

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

/// The folder that keeps the history of a workspace of a server or of this machine. This makes nothing.
pub(crate) fn state_dir_of(data: &Path, id: WorkspaceId, root: Option<&Path>) -> PathBuf {
    match root {
        Some(root) => data.join("workspaces").join(state_name(root)),
        None => data.join("journals").join(id.to_string()),
    }
}

/// The sizes and times of the files of a journal: whoever writes into it changes them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct JournalStamp {
    /// The size, the time in nanoseconds and the number of each file; of the log only while something is in it.
    files: [Option<(u64, i128, u64)>; 2],
    /// When the newer one was written into.
    pub(crate) changed_at: Timestamp,
}

impl JournalStamp {
    /// The stamp of the journal in a state folder, if there is one.
    pub(crate) fn of(state_dir: &Path) -> Option<Self> {
        let about = |name: &str| {
            let file = fs::metadata(state_dir.join(name)).ok()?;
            let nanos = i128::from(file.mtime()) * 1_000_000_000 + i128::from(file.mtime_nsec());
            Some((file.len(), nanos, file.ino()))
        };
        // An empty log comes and goes with everybody who reads the journal.
        let log = about("journal.db-wal").filter(|(size, ..)| *size > 0);
        let files = [Some(about("journal.db")?), log];
        let newest = files.iter().flatten().map(|(_, nanos, _)| *nanos).max()?;
        let changed_at = Timestamp::from_nanos(i64::try_from(newest).ok()?);
        Some(Self { files, changed_at })
    }
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
    all_local(data).into_iter().filter(|(_, root)| root.is_dir()).collect()
}

/// The roots on this machine that have a history in the data folder and that are gone from where they were.
pub(crate) fn missing_roots(data: &Path) -> Vec<MissingFolder> {
    let gone = all_local(data).into_iter().filter(|(_, root)| !root.is_dir());
    let missing = gone.map(|(workspace, folder)| {
        let stamp = JournalStamp::of(&state_dir_of(data, workspace, Some(&folder)));
        let changed_at = stamp.map_or(Timestamp::from_nanos(0), |stamp| stamp.changed_at);
        MissingFolder { workspace, folder, changed_at }
    });
    missing.collect()
}

/// The roots that have a history in the data folder, whether they are still there or not.
fn all_local(data: &Path) -> Vec<(WorkspaceId, PathBuf)> {
    let states = fs::read_dir(data.join("workspaces")).into_iter().flatten().flatten();
    let with_history = states.filter(|state| state.path().join("journal.db").is_file());
    let local = with_history.filter_map(|state| {
        let name = state.file_name().into_string().ok()?;
        let id = u128::from_str_radix(&name, 16).ok();
        let id = id.filter(|_| name.len() == STATE_NAME_DIGITS)?;
        Some((WorkspaceId::from_bytes(id.to_be_bytes()), noted_root(&state.path())?))
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
