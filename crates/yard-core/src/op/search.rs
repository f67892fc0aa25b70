//! Searching: by name and metadata (find), by content (grep).

use crate::op::Entry;
use crate::{FileType, WsPath};

/// Inclusive bounds on a file's size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeRange {
    /// At least that many.
    pub min: Option<u64>,
    /// At most that many.
    pub max: Option<u64>,
}

impl SizeRange {
    /// Every size: everything but folders matches.
    pub const FILES: Self = Self { min: Some(0), max: None };

    /// Whether either bound is set; folders then never match.
    pub fn is_set(&self) -> bool {
        self.min.is_some() || self.max.is_some()
    }

    /// Whether `size` lies within.
    pub fn holds(&self, size: u64) -> bool {
        self.min.is_none_or(|min| size >= min) && self.max.is_none_or(|max| size <= max)
    }
}

/// The condition on the names of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindBy {
    /// All entries.
    Any,
    /// Globs (`*`, `**`, `?`, `[]`, `{}`). Without a slash one matches the name at any depth; with
    /// one it is relative to the folder that is searched, with a leading slash to the root (W11).
    Globs(Vec<String>),
    /// A shell pattern on the name alone (`*`, `?`, `[]`), as `find -name` has it.
    Name(String),
}

/// Finds entries by name and metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    /// The folder below which is searched; it is never a match itself.
    pub path: WsPath,
    /// By name.
    pub by: FindBy,
    /// By the type that the store knows; for others folder or document.
    pub file_type: Option<FileType>,
    /// By size.
    pub size: SizeRange,
    /// Below subfolders too.
    pub recursive: bool,
    /// Also what ignore files exclude.
    pub include_ignored: bool,
    /// At most that many; `None` is all that an answer may hold.
    pub limit: Option<usize>,
    /// Only what sorts after this path (how a cut answer goes on).
    pub after: Option<WsPath>,
}

impl Find {
    /// Finds everything below a folder, of any type and size, that ignore files do not exclude.
    pub fn below(path: WsPath, by: FindBy) -> Self {
        Self {
            path,
            by,
            file_type: None,
            size: SizeRange::default(),
            recursive: true,
            include_ignored: false,
            limit: None,
            after: None,
        }
    }
}

/// Entries in the order of their path bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The folder that was searched, links resolved.
    pub path: WsPath,
    /// The entries, cut at the limit.
    pub entries: Vec<Entry>,
    /// Whether the limit cut any.
    pub truncated: bool,
    /// How many entries ignore files excluded from what was walked.
    pub ignored: u64,
    /// How many of those that were looked for the caller may not see.
    pub withheld: u64,
}

/// Which spelling of regular expressions a pattern uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexFlavor {
    /// Rust's, with look-around and back-references.
    Plain,
    /// The same, with PostgreSQL's own escapes (R9).
    Postgres,
}

/// Which files a search looks into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathFilter {
    /// All.
    All,
    /// W10: case-insensitive over the whole path; `%` and `*` stand for anything, `?` for one
    /// character; without any of them the path must contain it.
    Like(String),
    /// Globs as in [`FindBy::Globs`].
    Globs(Vec<String>),
}

/// Where a cut search goes on: after this line of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchCursor {
    /// The file of the last match.
    pub path: WsPath,
    /// Its line.
    pub line: u64,
}

/// Searches text by regular expression, line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grep {
    /// The expression.
    pub pattern: String,
    /// Its spelling.
    pub flavor: RegexFlavor,
    /// Whether case counts.
    pub case_sensitive: bool,
    /// The folder or file to search.
    pub path: WsPath,
    /// Which files below it.
    pub filter: PathFilter,
    /// Lines shown before each match.
    pub before: usize,
    /// Lines shown after each match.
    pub after: usize,
    /// Also what ignore files exclude.
    pub include_ignored: bool,
    /// At most that many matches; `None` is all that an answer may hold.
    pub limit: Option<usize>,
    /// Go on after this match.
    pub cursor: Option<MatchCursor>,
}

/// Matches ordered by path bytes, then line: always the first ones in that order (R8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepAnswer {
    /// The matches, cut at the limit.
    pub matches: Vec<GrepMatch>,
    /// Whether the limit cut any.
    pub truncated: bool,
    /// How many entries ignore files excluded from what was walked.
    pub ignored: u64,
    /// How many files were not searched because the caller may not read them.
    pub withheld: u64,
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepMatch {
    /// The file.
    pub path: WsPath,
    /// The line's number, from 1.
    pub line: u64,
    /// The line, decoded, without its terminator, cut at the limit for shown lines.
    pub text: String,
    /// Lines before it, nearest last.
    pub before: Vec<String>,
    /// Lines after it.
    pub after: Vec<String>,
}
