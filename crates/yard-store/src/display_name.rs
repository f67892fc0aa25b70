//! Names that people gave to files, beside the names that the files have on disk.

use yard_core::FileId;

use crate::{AuditEntry, Result};

/// The display names of one workspace, in the same database as its journal.
///
/// **Crash notes.** `set_display_name` returns only after the name and its audit row are flushed, both or neither.
pub trait DisplayNames: Send + Sync {
    /// A file's name for people, if one was set.
    fn display_name(&self, file: FileId) -> Result<Option<String>>;

    /// Sets a file's name for people, or takes it back.
    fn set_display_name(&self, file: FileId, name: Option<&str>, audit: &AuditEntry) -> Result<()>;
}
