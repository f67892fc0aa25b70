//! Operations on what was: a folder and a file as they were after a step.

use super::FetchedVersion;
use crate::{ContentHash, FileId, FileKind, StepId, WsPath};

/// Lists a folder as it was after a step, as far as the history knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeAt {
    /// The step.
    pub step: StepId,
    /// The path of then.
    pub path: WsPath,
    /// That many entries are left out first.
    pub skip: usize,
    /// At most that many.
    pub limit: usize,
}

/// A folder as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeThen {
    /// Folders first, then by name. What the caller may not see now, by its path of then or of now, is left out.
    pub entries: Vec<EntryThen>,
    /// More remain.
    pub truncated: bool,
}

/// An entry as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryThen {
    /// The file.
    pub file: FileId,
    /// Its path of then.
    pub path: WsPath,
    /// What it was.
    pub kind: FileKind,
    /// Its size in bytes; a folder has none.
    pub size: Option<u64>,
    /// Its content; none for a folder, and for what the caller may not read.
    pub hash: Option<ContentHash>,
}

/// Reads a range of the bytes that a file had after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchAt {
    /// The step.
    pub step: StepId,
    /// The path of then.
    pub path: WsPath,
    /// The first byte.
    pub offset: u64,
    /// At most that many bytes, and never more than [`super::FETCH_BYTES`].
    pub length: u64,
}

/// What [`FetchAt`] answers.
pub type FetchedThen = FetchedVersion;
