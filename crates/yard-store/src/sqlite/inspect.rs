//! Finds rows that contradict each other. The audit chain proves that history was not changed; this checks that
//! everything derived from history (numbers, links, the newest state of each file, the index of names) still follows
//! from it. It changes nothing.

use rusqlite::Connection;

use super::content::ContentForm;
use super::value::{get, unsigned};
use super::{all, history, node};
use crate::{Node, Result};

/// Most problems of one kind that are reported.
const MAX_REPORTED: usize = 20;
/// Files that are read with one query.
const PAGE: usize = 500;

/// A message for every contradiction.
pub(super) fn inspect(connection: &Connection) -> Result<Vec<String>> {
    let mut problems = steps(connection)?;
    problems.extend(notes(connection)?);
    let of_contents = content_contradictions();
    let of_contents = of_contents.iter().map(|(sql, what)| (sql.as_str(), *what));
    for (sql, what) in CONTRADICTIONS.into_iter().chain(of_contents) {
        let rows = all(connection, sql, [], |row| get::<String>(row, 0))?;
        problems.extend(rows.iter().take(MAX_REPORTED).map(|row| format!("{what}: {row}")));
    }
    problems.extend(files(connection)?);
    Ok(problems)
}

/// Queries that find nothing in a sound store, each with the problem if it does. A row is the text of one finding.
const CONTRADICTIONS: [(&str, &str); 10] = [
    (
        "SELECT 'change ' || c.id FROM change c LEFT JOIN step s ON s.seq = c.seq
         WHERE s.seq IS NULL OR c.id < s.first OR c.id >= s.first + s.files LIMIT 20",
        "a change does not belong to the step that it names",
    ),
    (
        "SELECT 'there are ' || count(*) || ' up to number ' || max(id) FROM change
         HAVING count(*) <> COALESCE(max(id), 0)
         OR count(*) <> (SELECT COALESCE(sum(files), 0) FROM step)",
        "changes are missing or too many",
    ),
    (
        "SELECT 'change ' || id FROM (SELECT id, previous,
             lag(id) OVER (PARTITION BY file ORDER BY id) AS before FROM change)
         WHERE previous IS NOT before LIMIT 20",
        "a change does not follow the one before it",
    ),
    // The bits that a change can have; and columns that nothing reads are empty.
    (
        "SELECT 'change ' || id FROM change WHERE (flags & ~4087) <> 0
         OR ((flags & 1) = 0 AND ((flags & ~4) <> 0 OR parent IS NOT NULL OR name IS NOT NULL
             OR mode IS NOT NULL OR content IS NOT NULL OR size IS NOT NULL))
         OR ((flags & 4) <> 0 AND origin IS NOT NULL) LIMIT 20",
        "a change says what no change says",
    ),
    (
        "SELECT 'change ' || c.id FROM change c LEFT JOIN content k ON k.id = c.content
         WHERE c.content IS NOT NULL AND k.size IS NOT c.size LIMIT 20",
        "a change and its content differ in size",
    ),
    (
        "SELECT 'file ' || id FROM file WHERE living NOT IN (0, 1) OR (flags & 1) = 0
         OR (flags & ~4083) <> 0 OR (purged IS NOT NULL AND (purged <> 1 OR living = 1)) LIMIT 20",
        "a file says what no file says",
    ),
    (
        "SELECT 'step ' || s.seq FROM step s LEFT JOIN named n ON n.id = s.id
         WHERE n.row IS NOT s.seq LIMIT 20",
        "a step is not found by its name",
    ),
    (
        "SELECT 'file ' || f.id FROM file f LEFT JOIN named n ON n.id = f.uuid
         WHERE n.row IS NOT f.id LIMIT 20",
        "a file is not found by its name",
    ),
    (
        "SELECT 'change ' || c.id FROM change c LEFT JOIN named n ON n.id = c.version
         WHERE c.version IS NOT NULL AND n.row IS NOT c.id LIMIT 20",
        "a version is not found by its name",
    ),
    (
        "SELECT count(*) || ' names' FROM named HAVING count(*) <> (SELECT count(*) FROM step)
         + (SELECT count(*) FROM file) + (SELECT count(*) FROM change WHERE version IS NOT NULL)",
        "there are names for nothing, or too few",
    ),
];

/// The same about the forms of contents.
fn content_contradictions() -> [(String, &'static str); 3] {
    let numbers = |forms: &[ContentForm]| -> String {
        forms.iter().map(|form| (*form as i64).to_string()).collect::<Vec<_>>().join(", ")
    };
    let known = numbers(&ContentForm::KNOWN);
    let (splice, purged) = (ContentForm::Splice as i64, ContentForm::Purged as i64);
    let without_data = numbers(&[ContentForm::Blob, ContentForm::Purged]);
    [
        (
            format!(
                "SELECT 'content ' || k.id FROM content k LEFT JOIN content b ON b.id = k.base
                 WHERE k.form NOT IN ({known}) OR (k.base IS NULL) = (k.form = {splice})
                 OR (k.data IS NULL) <> (k.form IN ({without_data}))
                 OR (k.base IS NOT NULL AND (b.id IS NULL OR b.depth >= k.depth)) LIMIT 20"
            ),
            "a content is stored in no form that there is",
        ),
        // A purged file has no content left that only purged files name.
        (
            format!(
                "SELECT 'file ' || f.id FROM file f JOIN change c ON c.file = f.id
                 JOIN content k ON k.id = c.content WHERE f.purged = 1 AND k.form <> {purged}
                 AND c.content NOT IN (SELECT o.content FROM change o JOIN file g ON g.id = o.file
                     WHERE g.purged IS NULL AND o.content IS NOT NULL) LIMIT 20"
            ),
            "a purged file still has its content",
        ),
        (
            format!(
                "SELECT 'file ' || f.id FROM file f JOIN content k ON k.hash = f.content
                 WHERE f.purged IS NULL AND k.form = {purged} LIMIT 20"
            ),
            "a file that was not purged has lost its content",
        ),
    ]
}

/// Steps are numbered without gaps, and their changes lie one after the other.
fn steps(connection: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT seq, first, files FROM step ORDER BY seq";
    let rows = all(connection, sql, [], |row| {
        Ok((unsigned(row, 0)?, get::<i64>(row, 1)?, get::<i64>(row, 2)?))
    })?;
    let (mut seq, mut first) = (1, 1);
    let mut problems = Vec::new();
    for row in rows {
        if (row.0, row.1) != (seq, first) {
            problems.push(format!("step {} is not at its place", row.0));
        }
        seq = row.0 + 1;
        first = row.1.saturating_add(row.2.max(0));
    }
    problems.truncate(MAX_REPORTED);
    Ok(problems)
}

/// Notes are counted without gaps, and none comes after a step that is not there.
fn notes(connection: &Connection) -> Result<Vec<String>> {
    let head = history::head(connection)?;
    let sql = "SELECT number, nth FROM note ORDER BY number";
    let rows = all(connection, sql, [], |row| Ok((unsigned(row, 0)?, unsigned(row, 1)?)))?;
    let (mut expected, mut step) = (1, 0);
    let mut problems = Vec::new();
    for (number, nth) in rows {
        let after = number.checked_sub(nth).filter(|after| (step..=head).contains(after));
        if nth != expected || after.is_none() {
            problems.push(format!("audit row {number} is not at its place"));
        }
        (expected, step) = (nth.saturating_add(1), after.unwrap_or(step));
    }
    problems.truncate(MAX_REPORTED);
    Ok(problems)
}

/// Checks that the row of each file follows from its changes.
fn files(connection: &Connection) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut after = 0;
    loop {
        let rows = node::rows_after(connection, after, PAGE)?;
        let Some(last) = rows.last() else { break };
        after = last.row;
        for stored in rows {
            if !follows(connection, &stored)? {
                problems.push(format!(
                    "{} ({}) is not what its changes made of it",
                    stored.node.path, stored.node.id
                ));
            }
        }
    }
    problems.truncate(MAX_REPORTED);
    Ok(problems)
}

fn follows(connection: &Connection, stored: &node::Stored) -> Result<bool> {
    let Some((change, made)) = history::made_by_changes(connection, stored.row, &stored.node)?
    else {
        return Ok(false);
    };
    // Changes contain neither signatures nor purges.
    let Node { signature, purged, .. } = stored.node;
    Ok(stored.last == change && stored.node == Node { signature, purged, ..made })
}
