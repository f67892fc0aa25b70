//! Checks that the sections of a patch do not contradict each other: old paths are of the tree before the patch, new
//! paths of the tree after it, so that the order of sections does not matter. It compares names only, and does not know
//! which files exist.
//!
//! Several plain updates of one file are no contradiction: [`super::Job::apply`] does them one after
//! the other, each to the result of the one before it.

use std::collections::HashMap;

use crate::{WsPath, path};

use super::{Action, FilePatch, Patch, PatchError, Transfer};

/// What one section does to the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathChange {
    /// The file is changed and stays at the path.
    Change,
    /// A file is made at the path.
    Make,
    /// The file is removed from the path.
    Clear,
}

impl PathChange {
    fn description(self, file: &FilePatch) -> &'static str {
        match (self, file.transfer) {
            (Self::Change, _) => "updates it",
            (Self::Make, None) => "adds it",
            (Self::Make, Some(_)) => "moves another file to it",
            (Self::Clear, None | Some(Transfer::Copy)) => "deletes it",
            (Self::Clear, Some(Transfer::Rename)) => "moves it away",
        }
    }
}

/// Refuses a patch in which two sections contradict each other.
pub fn check(patch: &Patch) -> Result<(), PatchError> {
    let mut seen: HashMap<String, (PathChange, &FilePatch)> = HashMap::new();
    for file in &patch.files {
        for (path, change) in path_changes(file) {
            let Some((earlier, first)) = seen.insert(key(path), (change, file)) else { continue };
            if (earlier, change) != (PathChange::Change, PathChange::Change) {
                return Err(contradiction(path, (earlier, first), (change, file)));
            }
        }
    }
    Ok(())
}

fn path_changes(file: &FilePatch) -> impl Iterator<Item = (&str, PathChange)> {
    let (old, new) = (file.old_path.as_deref(), file.new_path.as_deref());
    let stays = file.action == Action::Update && file.transfer.is_none();
    let copied = file.action == Action::Update && file.transfer == Some(Transfer::Copy);
    let clear = old.filter(|_| !stays && !copied).map(|path| (path, PathChange::Clear));
    let make = new.filter(|_| !stays).map(|path| (path, PathChange::Make));
    let change = new.filter(|_| stays).map(|path| (path, PathChange::Change));
    [clear, make, change].into_iter().flatten()
}

/// One name for all the ways to write a path.
pub(super) fn key(path: &str) -> String {
    let bytes = path::unshow(path);
    WsPath::from_bytes(&bytes).map_or_else(|_| path.to_owned(), |path| path.to_string())
}

fn contradiction(
    path: &str,
    (earlier, first): (PathChange, &FilePatch),
    (change, file): (PathChange, &FilePatch),
) -> PatchError {
    let message = format!(
        "this section of {path} contradicts the one of line {}: that one {}, this one {}. Expected \
         one section that says what becomes of the file",
        first.line,
        earlier.description(first),
        change.description(file)
    );
    PatchError::new(file.line, message)
}
