//! Contents that an older version of this program compressed with another content as the dictionary: they are
//! stored in another form when their database is opened. Nothing else of the program knows that form.

use std::path::Path;

use rusqlite::Connection;

use super::all;
use super::content::{self, Stored};
use super::error::corrupt;
use super::value::get;
use crate::blobs::{Against, Blobs, expand_against, verified};
use crate::{Base, Effort, Prepared, Result, StoreError};

/// Re-encodes every such content of the database in `folder`. One that is damaged stays as it is: whoever
/// reads it, or verifies the workspace, is told so.
pub(super) fn re_encode(connection: &Connection, folder: &Path) -> Result<()> {
    let blobs = Blobs::open(&folder.join("blobs"))?;
    // The base of a content has a smaller depth, so it is re-encoded before.
    let sql = "SELECT id FROM content WHERE form = 2 ORDER BY depth, id";
    for row in all(connection, sql, [], |row| get(row, 0))? {
        match prepared(connection, &blobs, row) {
            Ok(prepared) => content::replace_form(connection, row, &prepared)?,
            Err(StoreError::Corrupt(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn prepared(connection: &Connection, blobs: &Blobs, row: i64) -> Result<Prepared> {
    let missing = || corrupt("stands on a content that is not there");
    let Stored { hash, size, base, data, .. } =
        content::by_row(connection, row)?.ok_or_else(missing)?;
    let base = content::by_row(connection, base.ok_or_else(missing)?)?.ok_or_else(missing)?;
    let bytes_before = content::bytes(connection, blobs, &base.hash)?.ok_or_else(missing)?;
    let bytes = expand_against(&data.unwrap_or_default(), &bytes_before, size)?;
    let against =
        Against { base: Base { hash: base.hash, bytes: &bytes_before }, depth: base.depth };
    blobs.prepare(hash, &verified(&hash, bytes)?, Some(against), Effort::Thorough)
}
