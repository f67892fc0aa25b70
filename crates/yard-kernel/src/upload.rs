//! Contents that come in pieces, of any size: written to the staging folder as they arrive, hashed on
//! the way, never held. An upload changes nothing by itself; a `Place` makes it a file.
//!
//! What is too large to load becomes a kept file: a second name for the bytes that arrived, flushed
//! before the step that names it is recorded. The file in the tree is a copy of it, because programs
//! may write into that one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use yard_core::hash::ContentHasher;
use yard_core::{Call, ContentHash, Fault, FaultCode, Result, UploadId, WsPath};
use yard_disk::{Disk, Incoming, Stage, Staged, read_all};

/// The uploads of one process that arrived whole and wait for their place.
#[derive(Default)]
pub(crate) struct Uploads(Mutex<HashMap<UploadId, Arc<Arrived>>>);

impl Uploads {
    fn all(&self) -> MutexGuard<'_, HashMap<UploadId, Arc<Arrived>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an upload.
    pub(crate) fn begin(
        self: &Arc<Self>,
        stage: &Arc<Stage>,
        disk: &Disk,
        call: &Call,
    ) -> Result<Upload> {
        Ok(Upload {
            id: UploadId::new(call.world()),
            incoming: stage.incoming(disk)?,
            hasher: ContentHasher::new(),
            size: 0,
            uploads: Arc::clone(self),
        })
    }

    /// What arrived under an id.
    pub(crate) fn find(&self, id: UploadId) -> Result<Arc<Arrived>> {
        self.all().get(&id).cloned().ok_or_else(|| {
            let message = format!("there is no upload {id}; send its bytes again");
            Fault::new(FaultCode::NotFound, message)
        })
    }
}

/// Bytes that arrived: a flushed file in the staging folder.
pub(crate) struct Arrived {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    pub(crate) staged: Staged,
}

impl Arrived {
    /// A flushed file with its hash.
    pub(crate) fn new(hash: ContentHash, size: u64, staged: Staged) -> Self {
        Self { hash, size, staged }
    }

    /// The bytes, of one that may be loaded.
    pub(crate) fn bytes(&self, path: &WsPath) -> Result<Vec<u8>> {
        read_all(&mut self.staged.open(path)?, self.size, path)
    }
}

/// Bytes on their way in. Dropped before it is finished, nothing is left of it.
pub struct Upload {
    id: UploadId,
    incoming: Incoming,
    hasher: ContentHasher,
    size: u64,
    uploads: Arc<Uploads>,
}

impl Upload {
    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.incoming.write(bytes)?;
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// There are no more: what arrived is flushed and can be placed.
    pub fn finish(self) -> Result<Uploaded> {
        let Self { id, incoming, hasher, size, uploads } = self;
        let (hash, staged) = (hasher.finish(), incoming.finish()?);
        uploads.all().insert(id, Arc::new(Arrived { hash, size, staged }));
        Ok(Uploaded { id, hash, size, uploads })
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upload({}, {} bytes so far)", self.id, self.size)
    }
}

/// An upload that arrived whole. It can be placed until this is dropped; then nothing is left of it
/// but what was placed.
pub struct Uploaded {
    id: UploadId,
    hash: ContentHash,
    size: u64,
    uploads: Arc<Uploads>,
}

impl Uploaded {
    /// What a `Place` names.
    pub fn id(&self) -> UploadId {
        self.id
    }

    /// The hash of its bytes.
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for Uploaded {
    fn drop(&mut self) {
        self.uploads.all().remove(&self.id);
    }
}

impl fmt::Debug for Uploaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uploaded({}, {} bytes)", self.id, self.size)
    }
}
