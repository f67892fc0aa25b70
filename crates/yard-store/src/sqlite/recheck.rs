//! Reading every content back, each against its name. A version that stands on another one is made from
//! the bytes that were made just before, and only what differs from them is hashed again: else a file
//! that grows by a line a step would cost the sum of all its versions sixteen times over.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::rc::Rc;

use rusqlite::Connection;
use yard_core::ContentHash;
use yard_core::hash::ContentHasher;

use super::content::{self, Stored};
use super::error::corrupt;
use crate::blobs::{Blobs, common_start};
use crate::{ContentCheck, Result, StoreError};

/// Rows that are read at once.
const PAGE: usize = 64;
/// Bytes of contents that are kept for those that stand on them.
const KEPT_BYTES: usize = 64 << 20;
/// After how many bytes the state of a hash is kept.
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
                Err(StoreError::Corrupt(why)) => ContentCheck::Damaged(why),
                Err(error) => return Err(error),
            };
            if each(&hash, found).is_break() {
                return Ok(());
            }
        }
    }
}

fn check(
    connection: &Connection,
    blobs: &Blobs,
    recent: &mut Recent,
    row: i64,
    stored: Stored,
) -> Result<ContentCheck> {
    if let Some(name) = stored.kept_name()? {
        return Ok(ContentCheck::Kept(name));
    }
    let (hash, size) = (stored.hash, stored.size);
    let base = match stored.base {
        Some(base) => Some(recent.base(connection, blobs, base)?),
        None => None,
    };
    let bytes = content::made(blobs, stored, base.as_deref().map(|base| base.bytes.as_slice()))?;
    if bytes.len() as u64 != size {
        return Err(corrupt(format!("has {} bytes, not {size}", bytes.len())));
    }
    let hashed = Hashed::of(bytes, base.as_deref());
    if hashed.hash != hash {
        return Err(corrupt("has other bytes"));
    }
    recent.keep(row, Rc::new(hashed));
    Ok(ContentCheck::Whole)
}

/// Bytes with their hash, and the states of the hash on the way there.
struct Hashed {
    bytes: Vec<u8>,
    hash: ContentHash,
    /// The state after each stride.
    states: Vec<ContentHasher>,
}

impl Hashed {
    fn of(bytes: Vec<u8>, base: Option<&Self>) -> Self {
        let mut states = match base {
            Some(base) => {
                let same = common_start(&bytes, &base.bytes) / STRIDE;
                base.states[..same.min(base.states.len())].to_vec()
            }
            None => Vec::new(),
        };
        let mut hasher = states.last().cloned().unwrap_or_default();
        let mut strides = bytes[states.len() * STRIDE..].chunks_exact(STRIDE);
        for stride in strides.by_ref() {
            hasher.update(stride);
            states.push(hasher.clone());
        }
        hasher.update(strides.remainder());
        Self { bytes, hash: hasher.finish(), states }
    }
}

/// Contents that were made lately: the bases of those that come.
#[derive(Default)]
struct Recent {
    by_row: HashMap<i64, Rc<Hashed>>,
    order: VecDeque<i64>,
    bytes: usize,
}

impl Recent {
    /// The content of a row, made anew if it is not here.
    fn base(&mut self, connection: &Connection, blobs: &Blobs, row: i64) -> Result<Rc<Hashed>> {
        if let Some(known) = self.by_row.get(&row) {
            return Ok(Rc::clone(known));
        }
        let bytes = content::bytes_of_row(connection, blobs, row)?
            .ok_or_else(|| corrupt("stands on a content that is not there"))?;
        let made = Rc::new(Hashed::of(bytes, None));
        self.keep(row, Rc::clone(&made));
        Ok(made)
    }

    fn keep(&mut self, row: i64, made: Rc<Hashed>) {
        self.bytes += made.bytes.len();
        self.by_row.insert(row, made);
        self.order.push_back(row);
        while self.bytes > KEPT_BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(gone) = self.by_row.remove(&oldest) {
                self.bytes -= gone.bytes.len();
            }
        }
    }
}
