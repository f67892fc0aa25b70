//! Changing files and folders: write, touch, mkdir, edit, move, remove.

use crate::{ContentHash, FileId, FileType, VersionId, WsPath};

/// What a write does where something is already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExisting {
    /// Nothing: it is a fault, and the file stays.
    Refuse,
    /// It becomes a new version.
    Replace,
}

/// Writes a whole file; missing folders are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub path: WsPath,
    /// Its bytes.
    pub content: Vec<u8>,
    /// The bytes were a JSON value that is no string (W3).
    pub json: bool,
    /// The type that it gets; `None` keeps that of an existing file and is a document for a new one.
    pub file_type: Option<FileType>,
    /// What happens to an existing file.
    pub on_existing: OnExisting,
    /// The hash that an existing file must have (R7).
    pub expected: Option<ContentHash>,
}

/// Sets a file's modification time to now, or makes an empty file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The file.
    pub path: WsPath,
}

/// Makes a folder and those above it that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mkdir {
    /// The folder.
    pub path: WsPath,
}

/// How an edit changes a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditAction {
    /// Replaces the one place where `old` stands.
    Replace {
        /// The text to be found, once.
        old: String,
        /// What stands there afterwards.
        new: String,
    },
    /// Inserts whole lines before line `line` (from 0; the number of lines appends).
    Insert {
        /// The line before which it is inserted.
        line: u64,
        /// What is inserted; a missing final newline is added.
        text: String,
    },
}

/// Edits a text in its own encoding and line ending (R5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: WsPath,
    /// The change.
    pub action: EditAction,
    /// The hash that the file must have (R7).
    pub expected: Option<ContentHash>,
}

/// What a write, touch, mkdir or edit left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The file or folder that changed, links resolved.
    pub path: WsPath,
    /// Its id.
    pub file: FileId,
    /// The new version; a folder or a touched file has none.
    pub version: Option<VersionId>,
    /// The hash of its content; a folder has none.
    pub hash: Option<ContentHash>,
}

/// Moves or renames a file, folder or link. Nothing is ever overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// What moves.
    pub from: WsPath,
    /// Where it goes. An existing folder takes it under its own name.
    pub to: WsPath,
    /// `to` must be an existing folder.
    pub into_folder: bool,
}

/// Where a move ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Where it was.
    pub from: WsPath,
    /// Where it is.
    pub to: WsPath,
    /// Its id.
    pub file: FileId,
}

/// Removes a file, a link or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remove {
    /// What goes.
    pub path: WsPath,
    /// A folder goes with everything below it; else it must be empty.
    pub recursive: bool,
}

/// What was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Where it was.
    pub path: WsPath,
    /// The id under which it can be restored.
    pub file: FileId,
    /// The store knew it before it was removed.
    pub was_known: bool,
}
