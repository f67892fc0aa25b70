//! Which contents of files people have seen, by person and path: marks that fall off when a file changes, because its
//! content has another hash.

use yard_core::{ContentHash, Timestamp, WsPath};

use crate::Result;

/// Marks of one person that are kept. With more, the oldest ones are forgotten.
pub const MAX_SEEN_MARKS: u64 = 20_000;

/// A content that a person has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenMark {
    /// Its number: larger than that of every mark before it.
    pub number: u64,
    /// The file.
    pub path: WsPath,
    /// The content.
    pub content: ContentHash,
}

/// The marks of people in one workspace, in the same database as its journal.
///
/// **Crash notes.** Changes may be lost in a crash: marks only save a person work. Everything else reads, and returns at
/// most `limit` rows.
pub trait SeenMarks: Send + Sync {
    /// Marks a content as seen by a person.
    fn mark_seen(
        &self,
        person: &str,
        path: &WsPath,
        content: &ContentHash,
        at: Timestamp,
    ) -> Result<()>;

    /// Takes that back.
    fn unmark_seen(&self, person: &str, path: &WsPath, content: &ContentHash) -> Result<()>;

    /// The marks of a person after number `after`, oldest first.
    fn seen_marks(&self, person: &str, after: u64, limit: usize) -> Result<Vec<SeenMark>>;
}
