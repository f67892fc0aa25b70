//! What people have seen, one row a mark.

use rusqlite::params;
use yard_core::{ContentHash, Timestamp, WsPath};

use super::connections::Flush;
use super::error::corrupt;
use super::value::{self, get, limit, number, unsigned};
use super::{SqliteStore, all, run};
use crate::seen::MAX_SEEN_MARKS;
use crate::{Result, SeenMark, SeenMarks};

impl SeenMarks for SqliteStore {
    fn mark_seen(
        &self,
        person: &str,
        path: &WsPath,
        content: &ContentHash,
        at: Timestamp,
    ) -> Result<()> {
        let add = "INSERT OR IGNORE INTO seen (person, path, content, at) VALUES (?1, ?2, ?3, ?4)";
        let forget = "DELETE FROM seen WHERE id IN (SELECT id FROM seen WHERE person = ?1 \
                      ORDER BY id DESC LIMIT -1 OFFSET ?2)";
        let mark = params![person, path.relative(), content.as_bytes(), at.as_millis()];
        self.db.write(Flush::Later, |connection| {
            if run(connection, add, mark)? > 0 {
                run(connection, forget, params![person, number(MAX_SEEN_MARKS)])?;
            }
            Ok(())
        })
    }

    fn unmark_seen(&self, person: &str, path: &WsPath, content: &ContentHash) -> Result<()> {
        let sql = "DELETE FROM seen WHERE person = ?1 AND path = ?2 AND content = ?3";
        let mark = params![person, path.relative(), content.as_bytes()];
        self.db.write(Flush::Later, |connection| run(connection, sql, mark).map(drop))
    }

    fn seen_marks(&self, person: &str, after: u64, count: usize) -> Result<Vec<SeenMark>> {
        let sql = "SELECT id, path, content FROM seen WHERE person = ?1 AND id > ?2 \
                   ORDER BY id LIMIT ?3";
        let wanted = params![person, number(after), limit(count)];
        self.db.read(|connection| {
            all(connection, sql, wanted, |row| {
                Ok(SeenMark {
                    number: unsigned(row, 0)?,
                    path: value::path(row, 1)?.ok_or_else(|| corrupt("a mark has no path"))?,
                    content: ContentHash::from_bytes(get(row, 2)?),
                })
            })
        })
    }
}
