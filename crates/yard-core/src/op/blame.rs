//! The operation that tells for each line of a file the step that it came from.

use super::HistoryEntry;
use crate::{ContentHash, FileId, StepId, VersionId, WsPath};

/// A file whose lines are asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlameOf {
    /// The file that is at this path now, or was last.
    Path(WsPath),
    /// A file by its id, wherever it is, or was.
    File(FileId),
}

/// Finds for each line of a version of a file the step that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The file.
    pub of: BlameOf,
    /// The version; the newest without one.
    pub version: Option<VersionId>,
    /// The first line, from 1 on.
    pub first_line: u64,
    /// At most that many ranges of lines.
    pub limit: usize,
}

/// Where the lines of a version came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// The file.
    pub file: FileId,
    /// Its path now, or its last one.
    pub path: WsPath,
    /// The version.
    pub version: VersionId,
    /// The content of that version.
    pub hash: ContentHash,
    /// How many lines it has.
    pub total_lines: u64,
    /// The lines in their order: those from one step that follow each other are one range.
    pub ranges: Vec<BlamedRange>,
    /// The steps of these ranges, each once, newest first.
    pub steps: Vec<HistoryEntry>,
    /// The line with which the rest begins, if more remain.
    pub next_line: Option<u64>,
}

/// Lines from one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlamedRange {
    /// The first of them, from 1 on.
    pub first_line: u64,
    /// The last of them.
    pub last_line: u64,
    /// The step.
    pub step: StepId,
}
