//! Reads every content back and compares its hash. The base of a splice is usually the content that was checked just
//! before, so its bytes and the states of its hash are reused, and only what follows the common start is hashed
//! again. Otherwise a file that grows by a line a step would cost the sum of all its versions sixteen times.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;

use rusqlite::Connection;
use yard_core::ContentHash;
use yard_core::hash::ContentHasher;

use super::content::{self, Stored};
use super::error::corrupt;
use crate::blobs::Blobs;
use crate::{ContentCheck, Result, StoreError};

/// Rows that are read at once.
const PAGE: usize = 64;
/// Bytes of contents that are kept as possible bases.
const KEPT_BYTES: usize = 64 << 20;
/// Most contents that are kept as possible bases.
const KEPT: usize = 4_096;
/// The state of a hash is kept every so many bytes.
const STRIDE: usize = 32 << 10;

/// Calls `each` for every content that was not purged, in the order in which they were stored.
pub(super) fn recheck(
    connection: &Connection,
    blobs: &Blobs,
    each: &mut dyn FnMut(&ContentHash, ContentCheck) -> ControlFlow<()>,
) -> Result<()> {
    let mut recent = Recent::default();
    let mut after = 0;
    loop {
        let rows = content::rows_after(connection, after, PAGE)?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = *last;
        for (row, stored) in rows {
            let hash = stored.hash;
            let found = match check(connection, blobs, &mut recent, row, stored) {
                Ok(found) => found,
                Err(StoreError::Corrupt(why)) => match confirm(connection, blobs, &hash, why)? {
                    Some(found) => found,
                    None => continue,
                },
                Err(error) => return Err(error),
            };
            if each(&hash, found).is_break() {
                return Ok(());
            }
        }
    }
}

/// Looks at a damaged content once more, in one snapshot: a purge between two queries erases contents, and stores
/// those that stood on them in another form. `None` if the content was purged meanwhile.
fn confirm(
    connection: &Connection,
    blobs: &Blobs,
    hash: &ContentHash,
    why: String,
) -> Result<Option<ContentCheck>> {
    let snapshot = connection.unchecked_transaction()?;
    match content::bytes(&snapshot, blobs, hash) {
        Ok(bytes) => Ok(bytes.map(|_| ContentCheck::Whole)),
        Err(StoreError::Corrupt(_)) => Ok(Some(ContentCheck::Damaged(why))),
        Err(error) => Err(error),
    }
}

fn check(
    connection: &Connection,
    blobs: &Blobs,
    recent: &mut Recent,
    row: i64,
    stored: Stored,
) -> Result<ContentCheck> {
    if let Some(file) = stored.kept_file()? {
        return Ok(ContentCheck::Kept(file));
    }
    let (hash, size, depth) = (stored.hash, stored.size, stored.depth);
    let mut made = match stored.base {
        Some(base) => recent.base(connection, blobs, base)?,
        None => Made::default(),
    };
    let same = match stored.base {
        Some(_) => content::make_from_base(&stored, &mut made.bytes)?,
        None => {
            made.bytes = content::plain(blobs, stored)?;
            0
        }
    };
    if made.bytes.len() as u64 != size {
        return Err(corrupt(format!("has {} bytes, not {size}", made.bytes.len())));
    }
    if made.hash(same) != hash {
        return Err(corrupt("has other bytes"));
    }
    made.is_root = depth == 0;
    recent.keep(row, made);
    Ok(ContentCheck::Whole)
}

/// Bytes of a content, and the states of their hash on the way to the end.
#[derive(Clone, Default)]
struct Made {
    bytes: Vec<u8>,
    /// The state after each stride.
    states: Vec<ContentHasher>,
    /// It is not a splice, and may be the base of many chains.
    is_root: bool,
}

impl Made {
    /// The hash of the bytes. The first `same` bytes are those that the kept states belong to.
    fn hash(&mut self, same: usize) -> ContentHash {
        self.states.truncate(same / STRIDE);
        let mut hasher = self.states.last().cloned().unwrap_or_default();
        let mut strides = self.bytes[self.states.len() * STRIDE..].chunks_exact(STRIDE);
        for stride in strides.by_ref() {
            hasher.update(stride);
            self.states.push(hasher.clone());
        }
        hasher.update(strides.remainder());
        hasher.finish()
    }
}

/// Contents that were checked recently: the possible bases of the next ones.
#[derive(Default)]
struct Recent {
    by_row: HashMap<i64, Made>,
    order: VecDeque<i64>,
    bytes: usize,
}

impl Recent {
    /// The content of a row, as the base of another one; it is read if it is not here. Most versions are the base of
    /// only one other, so it is moved out and not copied.
    fn base(&mut self, connection: &Connection, blobs: &Blobs, row: i64) -> Result<Made> {
        if let Some(root) = self.by_row.get(&row).filter(|known| known.is_root) {
            return Ok(root.clone());
        }
        if let Some(known) = self.by_row.remove(&row) {
            self.bytes -= known.bytes.len();
            return Ok(known);
        }
        let bytes = content::bytes_of_row(connection, blobs, row)?
            .ok_or_else(|| corrupt("stands on a content that is not there"))?;
        let mut made = Made { bytes, ..Made::default() };
        made.hash(0);
        Ok(made)
    }

    fn keep(&mut self, row: i64, made: Made) {
        self.bytes += made.bytes.len();
        self.by_row.insert(row, made);
        self.order.push_back(row);
        while self.bytes > KEPT_BYTES || self.order.len() > KEPT {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(gone) = self.by_row.remove(&oldest) {
                self.bytes -= gone.bytes.len();
            }
        }
    }
}
