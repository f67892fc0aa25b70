//! Removing contents for good. The contents that only purged files name are erased; contents that are spliced
//! from them are first stored by themselves. Versions, steps and hashes stay, so that the audit chain holds.
//!
//! A content's row stays too, without its bytes: steps name contents by row, and a row number that
//! came to mean another content would change the past.

use rusqlite::{Connection, OptionalExtension, params};
use yard_core::{ContentHash, FileId};

use super::content::ContentForm;
use super::error::corrupt;
use super::value::{get, hash, unsigned};
use super::{all, append, content, quotations, run};
use crate::blobs::{AbandonedFiles, Blobs};
use crate::traces::Traces;
use crate::{AuditEntry, Effort, KeptFile, Purged, Result, StoreError};

/// Most bytes of contents that are compared with kept texts. Above that, every kept text is removed.
const LOOKED_THROUGH: u64 = 256 << 20;

/// A content that no remaining file names.
struct UnreferencedContent {
    row: i64,
    hash: ContentHash,
    size: u64,
    kept: Option<KeptFile>,
}

/// Purges removed files, and leaves the audit row of it.
pub(super) fn purge(
    connection: &Connection,
    blobs: &Blobs,
    files: &[FileId],
    entry: &AuditEntry,
) -> Result<Purged> {
    let rows = files.iter().map(|file| mark(connection, *file)).collect::<Result<Vec<i64>>>()?;
    let unreferenced = unreferenced_contents(connection, &rows)?;
    let traces = traces(connection, blobs, &rows, &unreferenced)?;
    release_dependents(connection, blobs, &unreferenced)?;
    for content in &unreferenced {
        erase(connection, content)?;
    }
    quotations::forget(connection, &traces, entry)?;
    append::note(connection, entry)?;
    let bytes = unreferenced.iter().map(|content| content.size).sum();
    let mut contents: Vec<ContentHash> = unreferenced.iter().map(|content| content.hash).collect();
    contents.sort_unstable();
    Ok(Purged { contents, bytes })
}

/// Marks a removed file as purged; its row.
fn mark(connection: &Connection, file: FileId) -> Result<i64> {
    let sql = "UPDATE file SET purged = 1 WHERE id = (SELECT row FROM named WHERE id = ?1)
               AND uuid = ?1 AND living = 0 RETURNING id";
    let mut statement = connection.prepare_cached(sql)?;
    let row = statement.query_row([file.as_bytes()], |row| row.get(0)).optional()?;
    row.ok_or_else(|| StoreError::Misfit(format!("file {file} is not a removed one")))
}

/// The contents of these files that only purged files name.
fn unreferenced_contents(
    connection: &Connection,
    files: &[i64],
) -> Result<Vec<UnreferencedContent>> {
    // One pass over all changes: there is no index by content, because a step would pay for it.
    let sql = "SELECT k.id, k.hash, k.size, k.form, CASE WHEN k.form IN (?3, ?4) THEN k.data END
               FROM content k WHERE k.form <> ?2 AND k.id IN (
                   SELECT c.content FROM change c WHERE c.file IN (SELECT value FROM json_each(?1))
                   EXCEPT
                   SELECT c.content FROM change c JOIN file f ON f.id = c.file
                   WHERE f.purged IS NULL AND c.content IS NOT NULL
               ) ORDER BY k.id";
    let forms = [ContentForm::Purged, ContentForm::Kept, ContentForm::Evictable];
    all(connection, sql, params![rows_as_json(files), forms[0], forms[1], forms[2]], |row| {
        Ok(UnreferencedContent {
            row: get(row, 0)?,
            hash: hash(row, 1)?.ok_or_else(|| corrupt("a content has no hash"))?,
            size: unsigned(row, 2)?,
            kept: content::kept_file(row, 3)?,
        })
    })
}

/// The traces by which the purged contents, and the files that had them, are recognized in other texts.
fn traces(
    connection: &Connection,
    blobs: &Blobs,
    files: &[i64],
    unreferenced: &[UnreferencedContent],
) -> Result<Traces> {
    let mut traces = Traces::default();
    for path in paths(connection, files)? {
        traces.add_path(&path);
    }
    let too_much = unreferenced.iter().map(|content| content.size).sum::<u64>() > LOOKED_THROUGH;
    let mut before = Vec::new();
    for content in unreferenced {
        if too_much || content.kept.is_some() {
            traces.add_unknown();
            break;
        }
        // One that was damaged before has nothing that could be quoted from it any more.
        if let Ok(Some(bytes)) = content::bytes(connection, blobs, &content.hash) {
            traces.add_content(&bytes, &before);
            before = bytes;
        }
    }
    Ok(traces)
}

/// Every path that these files ever had; of a folder and what is in it, the folder's.
fn paths(connection: &Connection, files: &[i64]) -> Result<Vec<Vec<u8>>> {
    let sql = "SELECT DISTINCT path FROM (
                   SELECT destination AS path FROM change
                   WHERE file IN (SELECT value FROM json_each(?1))
                   UNION SELECT origin FROM change WHERE file IN (SELECT value FROM json_each(?1))
               ) WHERE path IS NOT NULL ORDER BY path";
    let all = all(connection, sql, [rows_as_json(files)], |row| get::<Vec<u8>>(row, 0))?;
    let mut topmost: Vec<Vec<u8>> = Vec::new();
    for path in all {
        let is_below = topmost.last().is_some_and(|above| {
            path.strip_prefix(above.as_slice()).is_some_and(|rest| rest.first() == Some(&b'/'))
        });
        if !is_below {
            topmost.push(path);
        }
    }
    Ok(topmost)
}

/// Stores by themselves the remaining contents that are spliced from unreferenced ones.
fn release_dependents(
    connection: &Connection,
    blobs: &Blobs,
    unreferenced: &[UnreferencedContent],
) -> Result<()> {
    let rows: Vec<i64> = unreferenced.iter().map(|content| content.row).collect();
    let sql = "SELECT id, hash FROM content WHERE base IN (SELECT value FROM json_each(?1))
               AND id NOT IN (SELECT value FROM json_each(?1))";
    let dependents = all(connection, sql, [rows_as_json(&rows)], |row| {
        let hash = hash(row, 1)?.ok_or_else(|| corrupt("a content has no hash"))?;
        Ok((get::<i64>(row, 0)?, hash))
    })?;
    for (row, hash) in dependents {
        let bytes = content::bytes(connection, blobs, &hash)?
            .ok_or_else(|| corrupt(format!("content {hash} stands on one that is not there")))?;
        let plain = blobs.prepare(hash, &bytes, None, Effort::Thorough)?;
        content::replace_form(connection, blobs, row, &plain)?;
    }
    Ok(())
}

fn erase(connection: &Connection, content: &UnreferencedContent) -> Result<()> {
    // Any large content may have left a blob, also one whose step never came.
    if Blobs::may_hold(content.size) {
        add_pending_deletion(connection, &content.hash, None)?;
    }
    if content.kept.is_some() {
        add_pending_deletion(connection, &content.hash, content.kept.as_ref())?;
    }
    let sql = "UPDATE content SET form = ?2, depth = 0, base = NULL, data = NULL WHERE id = ?1";
    run(connection, sql, params![content.row, ContentForm::Purged]).map(drop)
}

/// Records that a file which held a content is to be deleted: a blob, or a file of the kernel's.
pub(super) fn add_pending_deletion(
    connection: &Connection,
    hash: &ContentHash,
    kept: Option<&KeptFile>,
) -> Result<()> {
    let sql = "INSERT INTO doomed (hash, kept) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    let name = kept.map_or("", |file| file.name.as_str());
    run(connection, sql, params![hash.as_bytes(), name]).map(drop)
}

/// Deletes the blobs of purged contents, except of those that were stored again since, and every other file that no
/// committed step names. It runs in a write transaction, so that no append can store a content whose blob is being
/// deleted.
pub(super) fn clear_blobs(connection: &Connection, blobs: &Blobs) -> Result<()> {
    let sql = "DELETE FROM doomed WHERE kept = '' RETURNING hash";
    let pending = all(connection, sql, [], |row| {
        hash(row, 0)?.ok_or_else(|| corrupt("a blob that is to be deleted has no name"))
    })?;
    for hash in pending {
        blobs.remove_prepared(&hash)?;
    }
    remove_unnamed_blobs(connection, blobs)
}

/// Deletes every blob that is no stored content. It runs in a write transaction.
pub(super) fn remove_unnamed_blobs(connection: &Connection, blobs: &Blobs) -> Result<()> {
    blobs.retain(|hash| content::is_blob(connection, hash))
}

/// As [`remove_unnamed_blobs`], of these contents.
pub(super) fn remove_blobs_unless_named<'a>(
    connection: &Connection,
    blobs: &Blobs,
    contents: impl Iterator<Item = &'a ContentHash>,
) -> Result<()> {
    for hash in contents {
        if !content::is_blob(connection, hash)? {
            blobs.remove(hash)?;
        }
    }
    Ok(())
}

/// Deletes what processes prepared that were killed, and the blobs of theirs that were placed and not committed.
pub(super) fn remove_abandoned(
    connection: &Connection,
    blobs: &Blobs,
    files: AbandonedFiles,
) -> Result<()> {
    remove_blobs_unless_named(connection, blobs, files.contents())?;
    blobs.remove_abandoned(files)
}

/// Whether blobs of purged contents are still to be deleted, as after a crash.
pub(super) fn has_pending_blobs(connection: &Connection) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM doomed WHERE kept = '')";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// The kernel's files that are to be deleted.
pub(super) fn pending_deletions(connection: &Connection) -> Result<Vec<String>> {
    all(connection, "SELECT kept FROM doomed WHERE kept <> '' ORDER BY kept", [], |row| get(row, 0))
}

/// Forgets files that the kernel has deleted.
pub(super) fn forget_deletions(connection: &Connection, names: &[String]) -> Result<()> {
    let mut statement = connection.prepare_cached("DELETE FROM doomed WHERE kept = ?1")?;
    for name in names.iter().filter(|name| !name.is_empty()) {
        statement.execute([name])?;
    }
    Ok(())
}

fn rows_as_json(rows: &[i64]) -> String {
    let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
    format!("[{}]", rows.join(","))
}
