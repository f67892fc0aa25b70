//! Files as they were after a step: the entries of a folder, one file, and what changed between two steps. No index is for
//! this, because it would make every write slower; the rows of changes are short, and some are read one after the other.

use std::ops::Range;

use rusqlite::{Connection, params};
use yard_core::{FileId, FileState, Name};

use super::history::{STATE_COLUMNS, state, state_columns};
use super::value::{self, get, number};
use super::{all, one};
use crate::{FileThen, NetChange, Result, Seq};

/// The entries of a folder after a step, in no order; only the one of that name, if one is given.
pub(super) fn children(
    connection: &Connection,
    parent: FileId,
    name: Option<&Name>,
    seq: Seq,
) -> Result<Vec<FileThen>> {
    // A file that was in the folder then has its newest change of then among those that name the folder. The last part
    // of a path stands for the name where a change has none.
    let sql = concat!(
        "SELECT ",
        state_columns!("c", "cp", "cc"),
        ", f.uuid FROM (SELECT DISTINCT file FROM change \
         WHERE id < COALESCE((SELECT first FROM step WHERE seq > ?1 ORDER BY seq LIMIT 1), ?2) \
         AND (parent = ?3 OR parent = ?4) \
         AND (?5 IS NULL OR name = ?5 OR name IS NULL AND substr(destination, -length(?5)) = ?5)) d \
         JOIN change c ON c.id = (SELECT x.id FROM change x WHERE x.file = d.file AND x.seq <= ?1 \
         ORDER BY x.seq DESC, x.id DESC LIMIT 1) \
         JOIN file f ON f.id = c.file LEFT JOIN file cp ON cp.id = NULLIF(c.parent, 0) \
         LEFT JOIN content cc ON cc.id = c.content WHERE c.parent = ?3 OR c.parent = ?4"
    );
    let row_of = "SELECT row FROM named WHERE id = ?1";
    let row: Option<i64> = match parent == FileId::ROOT {
        true => Some(0),
        false => one(connection, row_of, [parent.as_bytes()], |row| get(row, 0))?,
    };
    let parameters =
        params![number(seq), value::AFTER_NEWEST, row, parent.as_bytes(), name.map(Name::as_bytes)];
    let found = all(connection, sql, parameters, |row| {
        let to = value::path(row, STATE_COLUMNS - 1)?;
        let file = FileId::from_bytes(get(row, STATE_COLUMNS)?);
        Ok(state(row, 0, to.as_ref())?.map(|state| FileThen { file, state }))
    })?;
    let is_named = |found: &FileThen| name.is_none_or(|name| found.state.name == *name);
    Ok(found.into_iter().flatten().filter(is_named).collect())
}

/// The state of a file after a step.
pub(super) fn file(connection: &Connection, file: FileId, seq: Seq) -> Result<Option<FileState>> {
    let sql = concat!(
        "SELECT ",
        state_columns!("c", "cp", "cc"),
        " FROM change c LEFT JOIN file cp ON cp.id = NULLIF(c.parent, 0) \
         LEFT JOIN content cc ON cc.id = c.content \
         WHERE c.file = (SELECT row FROM named WHERE id = ?1) AND c.seq <= ?2 \
         ORDER BY c.seq DESC, c.id DESC LIMIT 1"
    );
    let found = one(connection, sql, params![file.as_bytes(), number(seq)], |row| {
        let to = value::path(row, STATE_COLUMNS - 1)?;
        state(row, 0, to.as_ref())
    })?;
    Ok(found.flatten())
}

/// Every file that these steps changed, with its state before the first of them and after the last, by the place of its
/// first change.
pub(super) fn net_changes(connection: &Connection, steps: Range<Seq>) -> Result<Vec<NetChange>> {
    // The state before a change is that after the change of the same file before it.
    let sql = concat!(
        "SELECT ",
        state_columns!("a", "ap", "ac"),
        ", ",
        state_columns!("b", "bp", "bc"),
        ", f.uuid FROM (SELECT file, min(id) AS first, max(id) AS last FROM change \
         WHERE id >= COALESCE((SELECT first FROM step WHERE seq >= ?1 ORDER BY seq LIMIT 1), ?3) \
         AND id < COALESCE((SELECT first FROM step WHERE seq >= ?2 ORDER BY seq LIMIT 1), ?3) \
         GROUP BY file) d JOIN change b ON b.id = d.last \
         LEFT JOIN change a ON a.id = (SELECT previous FROM change WHERE id = d.first) \
         JOIN file f ON f.id = d.file \
         LEFT JOIN file ap ON ap.id = NULLIF(a.parent, 0) LEFT JOIN content ac ON ac.id = a.content \
         LEFT JOIN file bp ON bp.id = NULLIF(b.parent, 0) LEFT JOIN content bc ON bc.id = b.content \
         ORDER BY d.first"
    );
    let bounds = params![number(steps.start), number(steps.end), value::AFTER_NEWEST];
    all(connection, sql, bounds, |row| {
        let (before, after) = (STATE_COLUMNS - 1, 2 * STATE_COLUMNS - 1);
        let (from, to) = (value::path(row, before)?, value::path(row, after)?);
        Ok(NetChange {
            file: FileId::from_bytes(get(row, 2 * STATE_COLUMNS)?),
            before: state(row, 0, from.as_ref())?,
            after: state(row, STATE_COLUMNS, to.as_ref())?,
        })
    })
}
