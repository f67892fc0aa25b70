//! Stores what steps do to the disk until the disk is flushed, and the identity of the root.

use rusqlite::{Connection, Row, params};

use super::value::{self, get, number};
use super::{all, one, run};
use crate::{FileIdentity, Mark, Placement, RecoveryNote, Result, RootIdentity, Seq, StoreError};

/// The change of a note of recovery, which belongs to none.
const NO_CHANGE: i64 = -1;

/// Stores a placement of the step whose first change is row `first`.
pub(super) fn insert(connection: &Connection, first: i64, placement: &Placement) -> Result<()> {
    let sql =
        "INSERT INTO placement (change, placed_inode, placed_birth, placed_mtime, placed_ctime,
               displaced_inode, displaced_birth, displaced_mtime, displaced_ctime)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let Placement { change, placed, displaced } = placement;
    let inode = |identity: &Option<FileIdentity>| identity.map(|file| file.inode.cast_signed());
    let values = params![
        first + number(*change),
        inode(placed),
        placed.map(|file| file.birth),
        placed.map(|file| file.mtime),
        placed.map(|file| file.ctime),
        inode(displaced),
        displaced.map(|file| file.birth),
        displaced.map(|file| file.mtime),
        displaced.map(|file| file.ctime),
    ];
    run(connection, sql, values).map(drop)
}

pub(super) fn add(connection: &Connection, seq: Seq, placements: &[Placement]) -> Result<()> {
    let Some((first, _)) = changes_of(connection, seq)? else {
        return Err(StoreError::Misfit(format!("there is no step {seq} to be placed again")));
    };
    placements.iter().try_for_each(|placement| insert(connection, first, placement))
}

pub(super) fn of_step(connection: &Connection, seq: Seq) -> Result<Vec<Placement>> {
    let Some((first, files)) = changes_of(connection, seq)? else { return Ok(Vec::new()) };
    let sql =
        "SELECT change, placed_inode, placed_birth, placed_mtime, placed_ctime, displaced_inode,
               displaced_birth, displaced_mtime, displaced_ctime FROM placement
               WHERE change >= ?1 AND change < ?1 + ?2 ORDER BY change, id";
    all(connection, sql, [first, files], |row| {
        let change: i64 = get(row, 0)?;
        Ok(Placement {
            change: change.abs_diff(first),
            placed: identity(row, 1)?,
            displaced: identity(row, 5)?,
        })
    })
}

/// The notes of a recovery that was cut off. They are placements of no change, so that older programs, which do not
/// know them, skip and remove them.
pub(super) fn recovery_notes(connection: &Connection) -> Result<Vec<RecoveryNote>> {
    let sql = "SELECT displaced_inode, displaced_birth, displaced_mtime, displaced_ctime,
               placed_inode IS NOT NULL FROM placement WHERE change = ?1 ORDER BY id";
    let notes = all(connection, sql, [NO_CHANGE], |row| {
        let is_temporary = get(row, 4)?;
        Ok(identity(row, 0)?.map(|found| RecoveryNote { found, is_temporary }))
    })?;
    Ok(notes.into_iter().flatten().collect())
}

pub(super) fn add_recovery_notes(connection: &Connection, notes: &[RecoveryNote]) -> Result<()> {
    notes.iter().try_for_each(|note| {
        let placed = note.is_temporary.then_some(note.found);
        let placement = Placement { change: 0, placed, displaced: Some(note.found) };
        insert(connection, NO_CHANGE, &placement)
    })
}

/// Moves the mark up to which the disk is flushed, and forgets the placements up to it and the notes of recovery.
pub(super) fn set_flushed_mark(connection: &Connection, mark: Mark) -> Result<()> {
    let sql = "INSERT INTO mark (id, seq, boot) VALUES (1, ?1, ?2)
               ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, boot = excluded.boot";
    let values = params![number(mark.seq), mark.boot.to_be_bytes()];
    run(connection, sql, values)?;
    let sql = "DELETE FROM placement WHERE change = ?2 OR change < (SELECT first + files FROM step
               WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1)";
    run(connection, sql, [number(mark.seq), NO_CHANGE]).map(drop)
}

pub(super) fn root(connection: &Connection) -> Result<Option<RootIdentity>> {
    one(connection, "SELECT filesystem, inode, birth FROM root WHERE id = 1", [], |row| {
        let filesystem: Option<i64> = get(row, 0)?;
        let inode: i64 = get(row, 1)?;
        Ok(RootIdentity {
            filesystem: filesystem.map(i64::cast_unsigned),
            inode: inode.cast_unsigned(),
            birth: get(row, 2)?,
        })
    })
}

pub(super) fn set_root(connection: &Connection, root: RootIdentity) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO root (id, filesystem, inode, birth) VALUES (1, ?1, ?2, ?3)";
    let filesystem = root.filesystem.map(u64::cast_signed);
    run(connection, sql, params![filesystem, root.inode.cast_signed(), root.birth]).map(drop)
}

/// The row of a step's first change, and how many it has.
fn changes_of(connection: &Connection, seq: Seq) -> Result<Option<(i64, i64)>> {
    let sql = "SELECT first, files FROM step WHERE seq = ?1";
    one(connection, sql, [value::number(seq)], |row| Ok((get(row, 0)?, get(row, 1)?)))
}

fn identity(row: &Row<'_>, at: usize) -> Result<Option<FileIdentity>> {
    let inode: Option<i64> = get(row, at)?;
    let Some(inode) = inode else { return Ok(None) };
    let inode = inode.cast_unsigned();
    let (birth, mtime, ctime) = (get(row, at + 1)?, get(row, at + 2)?, get(row, at + 3)?);
    Ok(Some(FileIdentity { inode, birth, mtime, ctime }))
}
