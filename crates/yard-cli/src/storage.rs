//! The disk space of the workspaces in a data folder, part by part, and which parts can be rebuilt. The parts are the
//! rows of a table here. This module touches nothing else of the data folder.

#![allow(
    clippy::disallowed_methods,
    reason = "what the data folder holds is measured and removed here"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use yard_disk::{RetentionLimits, files_below, is_build_output, size_of};

use crate::failure::Failure;
use crate::location::{self, StateFolder};

/// A part of the stored data of a workspace.
pub(crate) struct Part {
    /// Its name, for scripts and headings.
    pub(crate) name: &'static str,
    /// Entries of the state folder that belong to it, by how their names begin.
    entries: &'static [&'static str],
    /// Which of the files in them count.
    counts: fn(&Path) -> bool,
    /// How many bytes are kept at most, where that is bounded.
    pub(crate) budget: fn(&RetentionLimits) -> Option<u64>,
    /// Whether it can be rebuilt, so that `--clear` removes it.
    pub(crate) is_rebuildable: bool,
}

/// A part whose files all count, that has no bound, and that cannot be made again.
const fn part(name: &'static str, entries: &'static [&'static str]) -> Part {
    Part { name, entries, counts: |_| true, budget: |_| None, is_rebuildable: false }
}

/// A part that is bounded and can be made again.
const fn rebuildable(
    name: &'static str,
    entries: &'static [&'static str],
    budget: fn(&RetentionLimits) -> Option<u64>,
) -> Part {
    Part { name, entries, counts: |_| true, budget, is_rebuildable: true }
}

/// Every part. Stored builds are in the folder of stored versions, with other names.
pub(crate) const PARTS: [Part; 7] = [
    part("journal", &["journal.db"]),
    Part {
        counts: |file| !is_build_output(file),
        ..part("contents", &["blobs", "kept", "stage", "dropped", "leftovers"])
    },
    rebuildable("output", &["output"], |retention| Some(retention.total_bytes)),
    Part {
        counts: is_build_output,
        ..rebuildable("builds", &["kept"], |retention| Some(retention.builds_bytes))
    },
    part("homes", &["homes"]),
    rebuildable("caches", &["caches"], |retention| Some(retention.caches_bytes)),
    // Commands that run, or whose changes wait for a person.
    part("runs", &["runs"]),
];

/// A workspace with the bytes of each part, in the order of [`PARTS`].
pub(crate) struct WorkspaceUsage {
    pub(crate) state: StateFolder,
    pub(crate) bytes: Vec<u64>,
}

/// Measures every workspace of a data folder.
pub(crate) fn measure(data: &Path) -> Vec<WorkspaceUsage> {
    let states = location::state_folders(data).into_iter();
    states.map(|state| WorkspaceUsage { bytes: sizes(&state.path), state }).collect()
}

/// The data of a workspace's commands that is in no step.
pub(crate) struct CommandStorage {
    /// What people know the workspace by.
    pub(crate) name: String,
    /// The homes of chats with their `/tmp`, and the bytes of each; the largest first.
    pub(crate) homes: Vec<(String, u64)>,
    /// What commands added to caches of packages.
    pub(crate) caches: u64,
}

/// The data of the commands of each workspace in a data folder.
pub(crate) fn command_storage(data: &Path) -> Vec<CommandStorage> {
    let states = location::state_folders(data).into_iter();
    let all = states.map(|StateFolder { name, path }| {
        let folders = fs::read_dir(path.join("homes")).into_iter().flatten().flatten();
        let mut homes: Vec<(String, u64)> = folders
            .map(|home| (home.file_name().to_string_lossy().into_owned(), bytes_in(&home.path())))
            .collect();
        homes.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
        CommandStorage { name, homes, caches: bytes_in(&path.join("caches")) }
    });
    all.collect()
}

/// The disk space of all files in a folder.
fn bytes_in(folder: &Path) -> u64 {
    files_below(vec![folder.to_owned()]).iter().map(|file| size_of(file)).sum()
}

/// Removes what can be rebuilt. Returns the freed bytes.
pub(crate) fn clear(measured: &WorkspaceUsage) -> Result<u64, Failure> {
    let mut freed = 0;
    for part in PARTS.iter().filter(|part| part.is_rebuildable) {
        for file in files_of(part, &measured.state.path) {
            let size = size_of(&file);
            // Removing a file that the workspace shares frees nothing.
            if size == 0 && is_build_output(&file) {
                continue;
            }
            match remove(&file) {
                Ok(()) => freed += size,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    let what = format!("{} cannot be removed", file.display());
                    return Err(Failure::io(&what, &error));
                }
            }
        }
    }
    Ok(freed)
}

/// Removes a file, also from a folder that may not be written to, as some package managers leave theirs.
fn remove(file: &Path) -> std::io::Result<()> {
    match (fs::remove_file(file), file.parent()) {
        (Err(error), Some(folder)) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
            fs::remove_file(file)
        }
        (removed, _) => removed,
    }
}

fn sizes(state: &Path) -> Vec<u64> {
    let size = |part: &Part| files_of(part, state).iter().map(|file| size_of(file)).sum();
    PARTS.iter().map(size).collect()
}

fn files_of(part: &Part, state: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(state) else { return Vec::new() };
    let mut pending: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    pending.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A folder by its whole name, a file with what belongs to it.
        let is_folder = path.is_dir();
        let fits = |entry: &str| if is_folder { name == entry } else { name.starts_with(entry) };
        part.entries.iter().any(|entry| fits(entry))
    });
    let mut files = files_below(pending);
    files.retain(|file| (part.counts)(file));
    files
}
