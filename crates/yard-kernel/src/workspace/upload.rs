//! Uploads: contents of any size that arrive in pieces. They are written to the staging folder and hashed as they arrive,
//! and never in memory as a whole. An upload changes nothing by itself; the operation `Place` makes it a file.
//!
//! A content that is too large to load becomes a kept file: a second name for the uploaded file, flushed before the step
//! that names it is recorded. The file in the workspace is a copy of it, because programs may write into that one.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::hash::ContentHasher;
use yard_core::{Call, ContentHash, Fault, FaultCode, Result, UploadId, WsPath};
use yard_disk::{Disk, Incoming, Stage, Staged, read_all};

/// The complete uploads of one process that wait for a `Place`.
#[derive(Default)]
pub(crate) struct Uploads(Mutex<HashMap<UploadId, Arc<ReceivedFile>>>);

impl Uploads {
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

    /// The upload of an id.
    pub(crate) fn find(&self, id: UploadId) -> Result<Arc<ReceivedFile>> {
        self.0.lock().get(&id).cloned().ok_or_else(|| {
            let message = format!("there is no upload {id}; send its bytes again");
            Fault::new(FaultCode::NotFound, message)
        })
    }
}

/// A received content: a flushed file in the staging folder.
pub(crate) struct ReceivedFile {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    pub(crate) staged: Staged,
}

impl ReceivedFile {
    /// The bytes of a file that is small enough to be loaded.
    pub(crate) fn bytes(&self, path: &WsPath) -> Result<Vec<u8>> {
        read_all(&mut self.staged.open(path)?, self.size, path)
    }
}

/// An upload in progress. Dropping it before it is finished removes what arrived so far.
pub struct Upload {
    id: UploadId,
    incoming: Incoming,
    hasher: ContentHasher,
    size: u64,
    uploads: Arc<Uploads>,
}

impl Upload {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.incoming.write(bytes)?;
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Ends the upload: its bytes are flushed and can be placed.
    pub fn finish(self) -> Result<Uploaded> {
        let Self { id, incoming, hasher, size, uploads } = self;
        let (hash, staged) = (hasher.finish(), incoming.finish()?);
        uploads.0.lock().insert(id, Arc::new(ReceivedFile { hash, size, staged }));
        Ok(Uploaded { id, hash, size, uploads })
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upload({}, {} bytes so far)", self.id, self.size)
    }
}

/// A complete upload. It can be placed until this is dropped, which removes the upload but no file that was made of it.
pub struct Uploaded {
    id: UploadId,
    hash: ContentHash,
    size: u64,
    uploads: Arc<Uploads>,
}

impl Uploaded {
    /// The id that a `Place` names.
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
        self.uploads.0.lock().remove(&self.id);
    }
}

impl fmt::Debug for Uploaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uploaded({}, {} bytes)", self.id, self.size)
    }
}
