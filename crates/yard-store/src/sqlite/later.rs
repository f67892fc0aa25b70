//! Marks of people on what waits, one row each.

use rusqlite::params;
use yard_core::Timestamp;

use super::connections::Flush;
use super::value::{get, limit, moment};
use super::{SqliteStore, all, run};
use crate::{LaterMarks, Result, WaitingItem};

impl LaterMarks for SqliteStore {
    fn put_off(
        &self,
        person: &str,
        item: WaitingItem,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<()> {
        self.db.write(Flush::Later, |connection| {
            let sql = "DELETE FROM later WHERE person = ?1 AND (item = ?2 OR until <= ?3)";
            run(connection, sql, params![person, item, now.as_millis()])?;
            let Some(until) = until else { return Ok(()) };
            let sql = "INSERT INTO later (person, item, until) VALUES (?1, ?2, ?3)";
            run(connection, sql, params![person, item, until.as_millis()]).map(drop)
        })
    }

    fn put_off_by(
        &self,
        person: &str,
        now: Timestamp,
        count: usize,
    ) -> Result<Vec<(WaitingItem, Timestamp)>> {
        let sql = "SELECT item, until FROM later WHERE person = ?1 AND until > ?2 \
                   ORDER BY until, item LIMIT ?3";
        let wanted = params![person, now.as_millis(), limit(count)];
        self.db.read(|connection| {
            all(connection, sql, wanted, |row| Ok((get(row, 0)?, moment(row, 1)?)))
        })
    }
}
