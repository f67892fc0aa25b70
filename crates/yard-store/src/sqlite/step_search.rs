//! Looks for steps by actor, chat, operation and path. There is no index for it, because an index would make every write
//! slower: the rows of steps, or those of changes where a path is given, are read one after the other.

use std::ops::Range;

use rusqlite::{Connection, params};
use yard_core::FileId;

use super::all;
use super::history::{step_columns, step_joins, step_row};
use super::value::{self, limit, number, unsigned};
use crate::{ChangedEntry, Result, Seq, StepFilter, StepRow};

/// The steps of these numbers that fit the filter, newest first.
pub(super) fn find(
    connection: &Connection,
    filter: &StepFilter,
    numbers: Range<Seq>,
    count: usize,
) -> Result<Vec<StepRow>> {
    let Some(entry) = &filter.changed else { return fitting(connection, filter, numbers, count) };
    let mut found = Vec::new();
    let mut last = None;
    // The conditions on a path compare with what an entry below it has: its path, a slash, and more. The byte after the
    // slash, which is the digit 0, ends that range.
    let sql = "SELECT c.seq FROM change c \
               WHERE c.id >= (SELECT first FROM step WHERE seq >= ?1 ORDER BY seq LIMIT 1) \
               AND c.id < COALESCE((SELECT first FROM step WHERE seq >= ?2 ORDER BY seq LIMIT 1), ?3) \
               AND (c.destination = ?4 OR c.destination > ?5 AND c.destination < ?6 \
               OR c.origin = ?4 OR c.origin > ?5 AND c.origin < ?6 \
               OR c.file = (SELECT row FROM named WHERE id = ?7)) ORDER BY c.id DESC";
    let ChangedEntry { path, file } = entry;
    let path = path.relative();
    let (first, end) = ([path, b"/"].concat(), [path, b"0"].concat());
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![
        number(numbers.start),
        number(numbers.end),
        value::AFTER_NEWEST,
        path,
        first,
        end,
        file.as_ref().map(FileId::as_bytes)
    ])?;
    while found.len() < count
        && let Some(row) = rows.next()?
    {
        let seq = unsigned(row, 0)?;
        if last.replace(seq) != Some(seq) {
            found.extend(fitting(connection, filter, seq..seq + 1, 1)?);
        }
    }
    Ok(found)
}

/// The steps of these numbers that fit everything but the path.
fn fitting(
    connection: &Connection,
    filter: &StepFilter,
    numbers: Range<Seq>,
    count: usize,
) -> Result<Vec<StepRow>> {
    let sql = concat!(
        "SELECT ",
        step_columns!(),
        " FROM step s",
        step_joins!(0),
        "WHERE s.seq >= ?1 AND s.seq < ?2 AND (?3 IS NULL OR s.actor = ?3) \
         AND (?4 IS NULL OR s.verb = ?4) AND (?5 IS NULL OR s.chat = ?5) \
         AND (?6 IS NULL OR s.author = ?6) ORDER BY s.seq DESC LIMIT ?7"
    );
    let parameters = params![
        number(numbers.start),
        number(numbers.end),
        filter.actor,
        filter.verb,
        filter.chat.as_ref().map(|chat| chat.as_bytes()),
        filter.author.map(value::to_number),
        limit(count)
    ];
    all(connection, sql, parameters, |row| step_row(row, 0))
}
