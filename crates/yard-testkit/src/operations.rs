//! Short constructors of operations.

use yard_core::op;
use yard_core::{ContentHash, WsPath};

/// A path of the workspace.
pub fn at(path: &str) -> WsPath {
    WsPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A write that replaces an existing file.
pub fn write(path: &str, content: impl AsRef<[u8]>, expected: Option<ContentHash>) -> op::Write {
    op::Write { expected, ..op::Write::replacing(at(path), content.as_ref().to_vec()) }
}

/// An insertion of whole lines.
pub fn insert(path: &str, line: u64, text: &str) -> op::Edit {
    let action = op::EditAction::Insert { line, text: text.to_owned() };
    op::Edit { path: at(path), actions: vec![action], expected: None }
}

/// A replacement of one text by another.
pub fn replace(path: &str, old: &str, new: &str) -> op::Edit {
    let action = op::EditAction::Replace { old: old.to_owned(), new: new.to_owned(), all: false };
    op::Edit { path: at(path), actions: vec![action], expected: None }
}

/// A move to a path, or into a folder.
pub fn mv(from: &str, to: &str) -> op::Move {
    op::Move { from: at(from), to: at(to), into_folder: false, on_existing: op::OnExisting::Refuse }
}

/// A removal with everything below.
pub fn rm(path: &str) -> op::Remove {
    op::Remove { path: at(path), on_folder: op::OnFolder::WithContents }
}
