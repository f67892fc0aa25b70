//! Whether the sections of a patch can all be meant: every old path is of the tree before the
//! patch, every new one of the tree after it, so that the order of sections does not matter. It
//! compares names only; what is really there is somebody else's to check.
//!
//! Several plain updates of one file are no contradiction: [`super::apply_all`] does them one after
//! the other, each to what the one before it left.

use std::collections::HashMap;

use crate::{WsPath, path};

use super::{Action, FilePatch, Patch, PatchError, Transfer};

/// What one section does at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// The file that is there changes and stays there.
    Change,
    /// A file comes to be there.
    Make,
    /// The file that is there goes away.
    Clear,
}

impl Deed {
    fn words(self, file: &FilePatch) -> &'static str {
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
    let mut seen: HashMap<String, (Deed, &FilePatch)> = HashMap::new();
    for file in &patch.files {
        for (path, deed) in deeds(file) {
            let Some((earlier, first)) = seen.insert(key(path), (deed, file)) else { continue };
            if (earlier, deed) != (Deed::Change, Deed::Change) {
                return Err(contradiction(path, (earlier, first), (deed, file)));
            }
        }
    }
    Ok(())
}

fn deeds(file: &FilePatch) -> impl Iterator<Item = (&str, Deed)> {
    let (old, new) = (file.old_path.as_deref(), file.new_path.as_deref());
    let stays = file.action == Action::Update && file.transfer.is_none();
    let copied = file.action == Action::Update && file.transfer == Some(Transfer::Copy);
    let clear = old.filter(|_| !stays && !copied).map(|path| (path, Deed::Clear));
    let make = new.filter(|_| !stays).map(|path| (path, Deed::Make));
    let change = new.filter(|_| stays).map(|path| (path, Deed::Change));
    [clear, make, change].into_iter().flatten()
}

/// One name for all the ways to write a path.
pub(super) fn key(path: &str) -> String {
    let bytes = path::unshow(path);
    WsPath::from_bytes(&bytes).map_or_else(|_| path.to_owned(), |path| path.to_string())
}

fn contradiction(
    path: &str,
    (earlier, first): (Deed, &FilePatch),
    (deed, file): (Deed, &FilePatch),
) -> PatchError {
    let message = format!(
        "this section of {path} contradicts the one of line {}: that one {}, this one {}. Expected \
         one section that says what becomes of the file",
        first.line,
        earlier.words(first),
        deed.words(file)
    );
    PatchError::new(file.line, message)
}
