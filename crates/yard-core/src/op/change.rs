//! Operations that change files and folders: write, touch, mkdir, edit, patch, move, remove.

use crate::patch::{Action, AppliedHunk, Patch};
use crate::replace::EditAction;
use crate::{ContentHash, FileId, FileType, VersionId, WsPath};

/// What a write does if the file exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExisting {
    /// It fails, and the file stays.
    Refuse,
    /// It makes a new version.
    Replace,
}

/// What a write does if its folder is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMissingFolder {
    /// It fails.
    Refuse,
    /// It makes the folder, with those above it.
    Make,
}

/// Writes a whole file.
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
    /// What happens where its folder is missing.
    pub on_missing_folder: OnMissingFolder,
    /// The hash that an existing file must have (R7).
    pub expected: Option<ContentHash>,
}

impl Write {
    /// Writes these bytes over whatever the file holds, and makes the folders that are missing.
    pub fn replacing(path: WsPath, content: Vec<u8>) -> Self {
        Self {
            path,
            content,
            json: false,
            file_type: None,
            on_existing: OnExisting::Replace,
            on_missing_folder: OnMissingFolder::Make,
            expected: None,
        }
    }
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

/// Edits a text in its own encoding and line ending (R5): all of it, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: WsPath,
    /// The changes, at least one: each is done to what those before it left.
    pub actions: Vec<EditAction>,
    /// The hash that the file must have (R7).
    pub expected: Option<ContentHash>,
}

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The file.
    pub changed: Changed,
    /// How many places each of the actions changed.
    pub places: Vec<u64>,
}

/// Applies a patch to any number of files: all of it, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyPatch {
    /// The patch. Its paths are those of the workspace, as [`WsPath`] shows them.
    pub patch: Patch,
}

/// The result of a patch, in the order of its sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// File by file.
    pub files: Vec<PatchedFile>,
}

/// The result of a patch for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchedFile {
    /// What happened to it.
    pub action: Action,
    /// Where it is; of one that went away, where it was.
    pub path: WsPath,
    /// Where it was, if it was moved.
    pub moved_from: Option<WsPath>,
    /// The file that it is a copy of, if it is one.
    pub copied_from: Option<WsPath>,
    /// Bytes that it holds now; 0 for one that went away.
    pub size: u64,
    /// Where its hunks landed, and what was needed to find each place.
    pub hunks: Vec<AppliedHunk>,
}

/// The result of a write, touch, mkdir or edit.
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
    /// It was not there before.
    pub created: bool,
    /// It has the content that it had before.
    pub unchanged: bool,
}

/// Moves or renames a file, folder or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// What moves.
    pub from: WsPath,
    /// Where it goes. An existing folder takes it under its own name.
    pub to: WsPath,
    /// `to` must be an existing folder.
    pub into_folder: bool,
    /// What happens to a file that is there. A file that is replaced gets the content as its new
    /// version, and what moved goes to the trash; folders and links are never replaced.
    pub on_existing: OnExisting,
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

/// What a removal does with a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFolder {
    /// Nothing: it is a fault.
    Refuse,
    /// It goes if it is empty.
    IfEmpty,
    /// It goes with everything below it.
    WithContents,
}

/// Removes a file, a link or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remove {
    /// What goes.
    pub path: WsPath,
    /// What happens to a folder.
    pub on_folder: OnFolder,
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
    /// Everything that went, it included: what is in a folder before the folder.
    pub paths: Vec<WsPath>,
}
