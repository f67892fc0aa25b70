//! The table of contents: putting a prepared one in, and following a chain of deltas back to bytes.
//! Which form a content takes is decided in `blobs/`.

use rusqlite::{Connection, OptionalExtension, params};
use yard_core::ContentHash;

use super::error::corrupt;
use super::value::{get, hash, limit, unsigned};
use super::{all, one};
use crate::blobs::{Blobs, MAX_CHAIN, expand, expand_against, verified};
use crate::prepared::Form;
use crate::{Located, Prepared, Result, StoreError};

const RAW: i64 = 0;
const ZSTD: i64 = 1;
const DELTA: i64 = 2;
const BLOB: i64 = 3;
const KEPT: i64 = 4;

/// Stores a content unless its bytes are stored already; its row.
pub(super) fn store(connection: &Connection, prepared: &Prepared) -> Result<i64> {
    let sql = "SELECT id, form FROM content WHERE hash = ?1";
    let mut found = connection.prepare_cached(sql)?;
    let found: Option<(i64, i64)> = found
        .query_row([prepared.hash.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        None => insert(connection, prepared, None),
        // Bytes are better than the name of a file that the kernel keeps.
        Some((id, KEPT)) if prepared.kept_name().is_none() => {
            insert(connection, prepared, Some(id))
        }
        Some((id, _)) => Ok(id),
    }
}

fn insert(connection: &Connection, prepared: &Prepared, id: Option<i64>) -> Result<i64> {
    let (form, depth, base, data) = match &prepared.form {
        Form::Raw(data) => (RAW, 0, None, Some(data.as_slice())),
        Form::Zstd(data) => (ZSTD, 0, None, Some(data.as_slice())),
        Form::Delta { base, depth, data } => {
            (DELTA, *depth, Some(needed(connection, base)?), Some(data.as_slice()))
        }
        Form::Blob => (BLOB, 0, None, None),
        Form::Kept(name) => (KEPT, 0, None, Some(name.as_bytes())),
    };
    let sql = "INSERT OR REPLACE INTO content (id, hash, size, form, depth, base, data)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let size = i64::try_from(prepared.size).map_err(|_| misfit(&prepared.hash, "is too large"))?;
    let hash = prepared.hash.as_bytes();
    connection.prepare_cached(sql)?.execute(params![id, hash, size, form, depth, base, data])?;
    Ok(connection.last_insert_rowid())
}

/// The row of a content that a step names.
pub(super) fn needed(connection: &Connection, hash: &ContentHash) -> Result<i64> {
    let mut statement = connection.prepare_cached("SELECT id FROM content WHERE hash = ?1")?;
    let id = statement.query_row([hash.as_bytes()], |row| row.get(0)).optional()?;
    id.ok_or_else(|| misfit(hash, "is not stored"))
}

fn misfit(hash: &ContentHash, why: &str) -> StoreError {
    StoreError::Misfit(format!("content {hash} {why}"))
}

pub(super) fn locate(connection: &Connection, hash: &ContentHash) -> Result<Option<Located>> {
    let sql =
        "SELECT size, CASE form WHEN 4 THEN CAST(data AS TEXT) END FROM content WHERE hash = ?1";
    one(connection, sql, [hash.as_bytes()], |row| {
        Ok(Located { size: unsigned(row, 0)?, kept: get(row, 1)? })
    })
}

pub(super) fn list(
    connection: &Connection,
    after: Option<&ContentHash>,
    count: usize,
) -> Result<Vec<ContentHash>> {
    let sql = "SELECT hash FROM content WHERE hash > ?1 ORDER BY hash LIMIT ?2";
    // The empty blob sorts before every hash.
    let after = after.map_or(&[][..], |hash| hash.as_bytes());
    all(connection, sql, params![after, limit(count)], |row| {
        hash(row, 0)?.ok_or_else(|| corrupt("a content has no hash"))
    })
}

/// A row, as far as reading its bytes needs it.
struct Stored {
    hash: ContentHash,
    size: u64,
    form: i64,
    depth: u8,
    base: Option<i64>,
    data: Option<Vec<u8>>,
}

/// What a new content could be stored against.
pub(super) enum Anchor {
    /// The version before itself, at this depth.
    Itself(u8),
    /// The version before is at the end of its chain, so the content that the chain stands on.
    Foot(ContentHash, Vec<u8>),
}

pub(super) fn anchor(
    connection: &Connection,
    blobs: &Blobs,
    hash: &ContentHash,
) -> Result<Option<Anchor>> {
    let sql = "SELECT depth, form FROM content WHERE hash = ?1";
    let found = one(connection, sql, [hash.as_bytes()], |row| {
        Ok((get::<u8>(row, 0)?, get::<i64>(row, 1)?))
    })?;
    match found {
        None | Some((_, KEPT)) => Ok(None),
        Some((depth, _)) if depth + 1 < MAX_CHAIN => Ok(Some(Anchor::Itself(depth))),
        Some(_) => foot(connection, blobs, hash).map(Some),
    }
}

fn foot(connection: &Connection, blobs: &Blobs, hash: &ContentHash) -> Result<Anchor> {
    let foot = chain(connection, hash)?.pop().ok_or_else(|| corrupt("a chain is empty"))?;
    let foot_hash = foot.hash;
    Ok(Anchor::Foot(foot_hash, verified(&foot_hash, plain(blobs, foot)?)?))
}

pub(super) fn bytes(
    connection: &Connection,
    blobs: &Blobs,
    hash: &ContentHash,
) -> Result<Option<Vec<u8>>> {
    let mut chain = chain(connection, hash)?;
    let Some(foot) = chain.pop() else { return Ok(None) };
    if foot.form == KEPT {
        return Ok(None);
    }
    let mut bytes = plain(blobs, foot)?;
    for stored in chain.into_iter().rev() {
        bytes = expand_against(stored.data.as_deref().unwrap_or_default(), &bytes, stored.size)?;
    }
    verified(hash, bytes).map(Some)
}

/// A content's row and those that it stands on, down to the one that stands by itself.
fn chain(connection: &Connection, hash: &ContentHash) -> Result<Vec<Stored>> {
    let by_hash = "SELECT hash, size, form, depth, base, data FROM content WHERE hash = ?1";
    let by_id = "SELECT hash, size, form, depth, base, data FROM content WHERE id = ?1";
    let mut chain: Vec<Stored> = Vec::new();
    let mut next = one(connection, by_hash, [hash.as_bytes()], stored)?;
    while let Some(stored_row) = next {
        let below = chain.last().is_none_or(|above| stored_row.depth < above.depth);
        let base = stored_row.base;
        chain.push(stored_row);
        next = match base {
            _ if !below => return Err(corrupt(format!("the chain of content {hash} is a loop"))),
            None => None,
            Some(base) => Some(
                one(connection, by_id, [base], stored)?
                    .ok_or_else(|| corrupt(format!("the chain of content {hash} is broken")))?,
            ),
        };
    }
    Ok(chain)
}

fn stored(row: &rusqlite::Row<'_>) -> Result<Stored> {
    Ok(Stored {
        hash: hash(row, 0)?.ok_or_else(|| corrupt("a content has no hash"))?,
        size: unsigned(row, 1)?,
        form: get(row, 2)?,
        depth: get(row, 3)?,
        base: get(row, 4)?,
        data: get(row, 5)?,
    })
}

fn plain(blobs: &Blobs, stored: Stored) -> Result<Vec<u8>> {
    match stored.form {
        RAW => Ok(stored.data.unwrap_or_default()),
        ZSTD => expand(&stored.data.unwrap_or_default(), stored.size),
        BLOB => blobs.read(&stored.hash, stored.size),
        form => Err(corrupt(format!("content {} has form {form}", stored.hash))),
    }
}
