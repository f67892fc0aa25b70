//! Migrates contents that an older version of this program compressed with another content as the dictionary (form 2)
//! to a present form when their database is opened. No other module knows that form.

use std::path::Path;

use rusqlite::Connection;

use super::content;
use super::error::corrupt;
use super::value::{get, hash, unsigned};
use super::{all, one};
use crate::blobs::{Blobs, DeltaBase, expand_against, verified};
use crate::{Base, Effort, Prepared, Result, StoreError};

/// Re-encodes every such content of the database in `folder`. One that is damaged stays as it is, and
/// reading it is an error as before.
pub(super) fn re_encode(connection: &Connection, folder: &Path) -> Result<()> {
    let blobs = Blobs::open(&folder.join("blobs"))?;
    // The base of a content has a smaller depth, so it is re-encoded before.
    let sql = "SELECT id FROM content WHERE form = 2 ORDER BY depth, id";
    for row in all(connection, sql, [], |row| get(row, 0))? {
        match prepared(connection, &blobs, row) {
            Ok(prepared) => content::replace_form(connection, &blobs, row, &prepared)?,
            Err(StoreError::Corrupt(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn prepared(connection: &Connection, blobs: &Blobs, row: i64) -> Result<Prepared> {
    let missing = || corrupt("stands on a content that is not there");
    let sql = "SELECT c.hash, c.size, c.data, b.hash, b.depth FROM content c
               JOIN content b ON b.id = c.base WHERE c.id = ?1";
    let found = one(connection, sql, [row], |row| {
        let named = |at| hash(row, at)?.ok_or_else(|| corrupt("a content has no hash"));
        let data: Vec<u8> = get(row, 2)?;
        Ok((named(0)?, unsigned(row, 1)?, data, named(3)?, get::<u8>(row, 4)?))
    })?;
    let (hash, size, data, base, depth) = found.ok_or_else(missing)?;
    let bytes_before = content::bytes(connection, blobs, &base)?.ok_or_else(missing)?;
    let bytes = verified(&hash, expand_against(&data, &bytes_before, size)?)?;
    let delta_base = DeltaBase { base: Base { hash: base, bytes: &bytes_before }, depth };
    blobs.prepare(hash, &bytes, Some(delta_base), Effort::Thorough)
}
