//! Reading files: one row each, by id, by name, by folder, by age of their removal.

use rusqlite::{Connection, Row, params};
use yard_core::{FileId, Name, Signature, VersionId};

use super::error::corrupt;
use super::value::{self, StateColumns, get, limit, moment, unsigned};
use super::{all, one};
use crate::{Node, Result};

macro_rules! nodes {
    ($rest:literal) => {
        concat!(
            "SELECT uuid, parent, name, living, flags, mode, content, size, path, seq, version, \
             created, seen_size, seen_mtime, seen_ctime, seen_inode, id, last, purged FROM file ",
            $rest
        )
    };
}

pub(super) fn by_id(connection: &Connection, id: FileId) -> Result<Option<Node>> {
    Ok(at_row(connection, id)?.map(|found| found.node))
}

/// A file, its row, and the row of its last change.
pub(super) struct Stored {
    pub(super) row: i64,
    pub(super) last: i64,
    pub(super) node: Node,
}

pub(super) fn at_row(connection: &Connection, id: FileId) -> Result<Option<Stored>> {
    let sql = nodes!("WHERE id = (SELECT row FROM named WHERE id = ?1) AND uuid = ?1");
    one(connection, sql, [id.as_bytes()], stored)
}

pub(super) fn child(connection: &Connection, parent: FileId, name: &Name) -> Result<Option<Node>> {
    let sql = nodes!("WHERE parent = ?1 AND name = ?2 AND living = 1");
    one(connection, sql, params![parent.as_bytes(), name.as_bytes()], node)
}

pub(super) fn former_child(
    connection: &Connection,
    parent: FileId,
    name: &Name,
) -> Result<Option<Node>> {
    let sql = nodes!("WHERE parent = ?1 AND name = ?2 AND living = 0 ORDER BY last DESC LIMIT 1");
    one(connection, sql, params![parent.as_bytes(), name.as_bytes()], node)
}

pub(super) fn children(connection: &Connection, parent: FileId) -> Result<Vec<Node>> {
    all(connection, nodes!("WHERE parent = ?1 AND living = 1"), [parent.as_bytes()], node)
}

pub(super) fn removed(connection: &Connection, skip: usize, count: usize) -> Result<Vec<Node>> {
    let sql = nodes!("WHERE living = 0 AND purged IS NULL ORDER BY last DESC LIMIT ?1 OFFSET ?2");
    all(connection, sql, params![limit(count), limit(skip)], node)
}

/// Files by their rows, after `after`: for checks.
pub(super) fn rows_after(connection: &Connection, after: i64, count: usize) -> Result<Vec<Stored>> {
    let sql = nodes!("WHERE id > ?1 ORDER BY id LIMIT ?2");
    all(connection, sql, params![after, limit(count)], stored)
}

fn stored(row: &Row<'_>) -> Result<Stored> {
    Ok(Stored { row: get(row, 16)?, last: get(row, 17)?, node: node(row)? })
}

fn node(row: &Row<'_>) -> Result<Node> {
    let last = StateColumns {
        parent: FileId::from_bytes(get(row, 1)?),
        name: value::name(row, 2)?.ok_or_else(|| corrupt("a file has no name"))?,
        flags: get(row, 4)?,
        mode: get(row, 5)?,
        content: value::hash(row, 6)?,
        size: unsigned(row, 7)?,
    };
    let last = last.state()?;
    let living: bool = get(row, 3)?;
    Ok(Node {
        id: FileId::from_bytes(get(row, 0)?),
        state: living.then(|| last.clone()),
        last,
        path: value::path(row, 8)?.ok_or_else(|| corrupt("a file has no path"))?,
        seq: unsigned(row, 9)?,
        version: value::id(row, 10, VersionId::from_bytes)?,
        created_at: moment(row, 11)?,
        signature: signature(row)?,
        purged: get::<Option<i64>>(row, 18)?.is_some(),
    })
}

fn signature(row: &Row<'_>) -> Result<Option<Signature>> {
    let Some(size) = get::<Option<i64>>(row, 12)? else { return Ok(None) };
    Ok(Some(Signature {
        size: size.cast_unsigned(),
        mtime: get(row, 13)?,
        ctime: get(row, 14)?,
        inode: get::<i64>(row, 15)?.cast_unsigned(),
    }))
}
