//! The forms of contents: which form a new content is stored in, and how bytes are read back from one.
//!
//! It knows compression and the `blobs/` folder, and nothing of the history or of transactions. Apart from opening
//! the database, this is the only place of the crate that touches files.

mod codec;
mod file;
mod form_bytes;
mod prepared;
mod prepared_files;
mod splice;
mod waiting_file;

use std::path::Path;
use std::sync::Arc;

use yard_core::ContentHash;

pub(crate) use codec::{expand, expand_against};
pub(crate) use file::{create_folder, fill_up, lock_file, make_private};
pub(crate) use splice::{unsplice, unsplice_in_place};

pub use prepared::{Base, Effort, KeptFile, Prepared, Retention};
pub(crate) use prepared::{Form, TINY};
pub(crate) use prepared_files::AbandonedFiles;

use crate::{Result, StoreError};
use file::{BlobFolder, BlobWriter, Written};
use splice::Overlap;

/// Longest chain of contents that one read has to follow, the one from which it starts included.
pub(crate) const MAX_CHAIN: u8 = 16;
/// Above this raw size nothing is buffered compressed in memory, and no delta is tried.
const SMALL: usize = 1 << 20;
/// Compressed contents above this are files of their own: rows that large slow the database down.
const INLINE: usize = 256 << 10;
/// Contents up to this size are stored uncompressed while a caller waits.
const HURRIED: usize = 64 << 10;
/// Below this size a splice saves nothing.
const MIN_DELTA: usize = 96;

/// The content that another one may be stored as a difference to.
#[derive(Clone, Copy)]
pub(crate) struct DeltaBase<'a> {
    /// Which one, and its bytes.
    pub(crate) base: Base<'a>,
    /// Its depth in its own chain; 0 for one that is not a splice.
    pub(crate) depth: u8,
}

/// The contents that are stored as files, and the choice of the form of every new content.
#[derive(Debug)]
pub(crate) struct Blobs {
    folder: BlobFolder,
}

impl Blobs {
    /// The folder `dir`, made if it is missing.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        Ok(Self { folder: BlobFolder::open(dir)? })
    }

    /// Brings bytes into the form in which they will be stored. If that is a file, it is written and flushed when this
    /// returns, and goes with the result unless it was given its place ([`Blobs::place`]).
    pub(crate) fn prepare(
        &self,
        hash: ContentHash,
        bytes: &[u8],
        delta_base: Option<DeltaBase<'_>>,
        effort: Effort,
    ) -> Result<Prepared> {
        let form = if bytes.len() > SMALL {
            self.large_form(hash, bytes)?
        } else {
            self.small_form(hash, bytes, delta_base, effort)?
        };
        Ok(Prepared { hash, size: bytes.len() as u64, form })
    }

    fn small_form(
        &self,
        hash: ContentHash,
        bytes: &[u8],
        delta_base: Option<DeltaBase<'_>>,
        effort: Effort,
    ) -> Result<Form> {
        let delta = match delta(bytes, delta_base) {
            Some(delta) if delta.is_tiny_beside(bytes) => return Ok(delta.form()),
            other => other,
        };
        if effort == Effort::Quick && bytes.len() <= HURRIED {
            return Ok(Form::Raw(bytes.to_vec().into()));
        }
        let plain = if bytes.len() <= TINY { None } else { compressed(bytes)? };
        let plain_len = plain.as_ref().map_or(bytes.len(), Vec::len);
        // Reading a splice means reading its chain, so it must save half.
        if let Some(delta) = delta.filter(|delta| delta.data.len() * 2 <= plain_len) {
            return Ok(delta.form());
        }
        match plain {
            Some(data) if data.len() <= INLINE => Ok(Form::Zstd(data.into())),
            None if bytes.len() <= INLINE => Ok(Form::Raw(bytes.to_vec().into())),
            _ => self.large_form(hash, bytes),
        }
    }

    fn large_form(&self, hash: ContentHash, bytes: &[u8]) -> Result<Form> {
        if self.folder.settle_existing(&hash)? {
            return Ok(Form::Blob(None));
        }
        let mut writer = BlobWriter::new(&self.folder, hash, INLINE);
        codec::compress_into(bytes, &mut writer).map_err(|error| file::fault(&error))?;
        Ok(match writer.finish()? {
            Written::Memory(data) => Form::Zstd(data.into()),
            Written::File(file) => Form::Blob(Some(Arc::new(file))),
        })
    }

    /// Moves the bytes of prepared contents from memory to a file.
    pub(crate) fn move_to_file(&self, contents: &mut [Prepared]) -> Result<()> {
        waiting_file::move_to_file(contents, &self.folder)
    }

    /// Gives those of the contents that are files their places, durably. It runs in a write transaction, so that no
    /// purge removes them meanwhile.
    pub(crate) fn place<'a>(&self, contents: impl Iterator<Item = &'a Prepared>) -> Result<()> {
        let files = contents.filter_map(|prepared| match &prepared.form {
            Form::Blob(file) => Some((&prepared.hash, file.as_deref())),
            _ => None,
        });
        match self.folder.place(files)? {
            None => Ok(()),
            Some(hash) => {
                let why = format!("content {hash} was purged while it was brought again");
                Err(StoreError::Misfit(why))
            }
        }
    }

    /// Whether contents that were never committed may be among the blobs, as in folders of older versions.
    pub(crate) fn is_of_older_version(&self) -> Result<bool> {
        self.folder.is_of_older_version()
    }

    /// Makes the folder of prepared files.
    pub(crate) fn create_prepared_folder(&self) -> Result<()> {
        self.folder.create_prepared_folder()
    }

    /// The prepared files that killed processes left.
    pub(crate) fn abandoned(&self) -> Result<AbandonedFiles> {
        self.folder.abandoned()
    }

    /// Removes such files.
    pub(crate) fn remove_abandoned(&self, files: AbandonedFiles) -> Result<()> {
        files.remove().map_err(|error| file::fault(&error))
    }

    /// Removes the blobs of contents that are not `named`. It runs in a write transaction.
    pub(crate) fn retain(&self, named: impl FnMut(&ContentHash) -> Result<bool>) -> Result<()> {
        self.folder.retain(named)
    }

    /// Whether a content of that size may have become a file.
    pub(crate) fn may_hold(size: u64) -> bool {
        size > INLINE as u64
    }

    /// Removes the file of a content for good, if there is one.
    pub(crate) fn remove(&self, hash: &ContentHash) -> Result<()> {
        self.folder.remove(hash)
    }

    /// Removes every file of a content that was prepared; plans that go on have to prepare it again.
    pub(crate) fn remove_prepared(&self, hash: &ContentHash) -> Result<()> {
        self.folder.remove_prepared(hash)
    }

    /// The bytes of a content that is a file; they are not yet compared with their hash.
    pub(crate) fn read(&self, hash: &ContentHash, size: u64) -> Result<Vec<u8>> {
        codec::expand_from(self.folder.open_blob(hash)?, size)
    }
}

/// The bytes, if they are the content of that name.
pub(crate) fn verified(hash: &ContentHash, bytes: Vec<u8>) -> Result<Vec<u8>> {
    if ContentHash::of(&bytes) == *hash {
        Ok(bytes)
    } else {
        Err(StoreError::Corrupt(format!("the bytes of content {hash} are not what was stored")))
    }
}

/// The compressed bytes, if they are at least a twentieth smaller.
pub(crate) fn compressed(bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let data = codec::compress(bytes)?;
    Ok((data.len() * 20 <= bytes.len() * 19).then_some(data))
}

struct Delta {
    base: ContentHash,
    depth: u8,
    data: Vec<u8>,
}

impl Delta {
    fn form(self) -> Form {
        Form::Splice { base: self.base, depth: self.depth, data: self.data.into() }
    }

    /// Whether it is so small that compression, which costs more, need not be tried.
    fn is_tiny_beside(&self, bytes: &[u8]) -> bool {
        self.data.len() * 4 <= bytes.len()
    }
}

/// The content as a splice of its base, where at least half of it is at the base's start or end. A wrong
/// guess costs space or time, never bytes.
fn delta(bytes: &[u8], delta_base: Option<DeltaBase<'_>>) -> Option<Delta> {
    let DeltaBase { base, depth } = delta_base?;
    if bytes.len() < MIN_DELTA || base.bytes.len() > SMALL || depth + 1 >= MAX_CHAIN {
        return None;
    }
    let overlap = Overlap::of(bytes, base.bytes);
    let data = overlap.is_half_of(bytes).then(|| overlap.splice(bytes))?;
    Some(Delta { base: base.hash, depth: depth + 1, data })
}
