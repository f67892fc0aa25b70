//! How much of the disk the files take that Toolyard stores for a workspace. This module only looks.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use yard_store::Retention;

use crate::kept_name::retention_of;

/// Bytes per block, as `stat` counts them.
const BLOCK_BYTES: u64 = 512;
/// The folders with contents of versions, and with what is on its way there.
const CONTENTS: [&str; 4] = ["blobs", "stage", "dropped", "leftovers"];

/// The bytes that a workspace takes in its state folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateUsage {
    /// The database: the history with its small contents, chats, questions and requests.
    pub journal: u64,
    /// The other contents of the history.
    pub contents: u64,
    /// What can be made again: command output beyond what answers show, and build output that is not in the tree any more.
    pub kept: u64,
}

impl StateUsage {
    /// Measures a state folder.
    pub fn measure(state: &Path) -> Self {
        let in_folders =
            |names: &[&str]| files_below(names.iter().map(|name| state.join(name)).collect());
        let total = |files: &[PathBuf]| files.iter().map(|file| size_of(file)).sum::<u64>();
        let (builds, versions): (Vec<PathBuf>, Vec<PathBuf>) =
            in_folders(&["kept"]).into_iter().partition(|file| is_build_output(file));
        Self {
            journal: total(&journal_files(state)),
            contents: total(&in_folders(&CONTENTS)) + total(&versions),
            kept: total(&in_folders(&["output"])) + total(&builds),
        }
    }
}

/// The files of the database.
fn journal_files(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state).into_iter().flatten().flatten();
    let is_journal = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("journal.db"))
    };
    entries.map(|entry| entry.path()).filter(is_journal).collect()
}

/// The files among these paths and in the folders among them.
pub fn files_below(mut pending: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    while let Some(path) = pending.pop() {
        match path.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {
                let inside = fs::read_dir(&path).into_iter().flatten().flatten();
                pending.extend(inside.map(|entry| entry.path()));
            }
            Ok(_) => files.push(path),
            Err(_) => {}
        }
    }
    files
}

/// The disk space of a file; nothing if it is build output that the workspace shares.
pub fn size_of(file: &Path) -> u64 {
    let Ok(meta) = file.symlink_metadata() else { return 0 };
    let is_shared = is_build_output(file) && meta.nlink() > 1;
    if is_shared { 0 } else { meta.blocks().saturating_mul(BLOCK_BYTES) }
}

/// Whether a stored file is build output, which is in the folder of kept versions under names of its own.
pub fn is_build_output(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    file.parent().is_some_and(|folder| folder.ends_with("kept"))
        && retention_of(&name.to_string_lossy()) == Retention::Evictable
}
