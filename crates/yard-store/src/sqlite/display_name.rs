//! Display names of files, one row each.

use rusqlite::params;
use yard_core::FileId;

use super::connections::Flush;
use super::value::get;
use super::{SqliteStore, append, one, run};
use crate::{AuditEntry, DisplayNames, Result};

impl DisplayNames for SqliteStore {
    fn display_name(&self, file: FileId) -> Result<Option<String>> {
        let sql = "SELECT name FROM display_name WHERE file = ?1";
        self.db.glance(|connection| one(connection, sql, [file.as_bytes()], |row| get(row, 0)))
    }

    fn set_display_name(&self, file: FileId, name: Option<&str>, audit: &AuditEntry) -> Result<()> {
        self.db.write(Flush::Now, |connection| {
            match name {
                Some(name) => {
                    let sql = "INSERT OR REPLACE INTO display_name (file, name) VALUES (?1, ?2)";
                    run(connection, sql, params![file.as_bytes(), name])?
                }
                None => {
                    let sql = "DELETE FROM display_name WHERE file = ?1";
                    run(connection, sql, [file.as_bytes()])?
                }
            };
            append::note(connection, audit)
        })
    }
}
