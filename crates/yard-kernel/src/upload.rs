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
use yard_core::{
    Call, ContentHash, Fault, FaultCode, FileState, Result, UploadId, VersionId, WsPath,
};
use yard_store::{Prepared, Retention};

use crate::content::read_all;
use crate::disk::{Incoming, Shape, Staged, kept_name, not_found};
use crate::draft::{Current, Image, Planner};
use crate::output;
use crate::recovery::image;
use crate::workspace::{Workspace, store_fault};

/// The uploads of one process that arrived whole and wait for their place.
#[derive(Default)]
pub(crate) struct Uploads(Mutex<HashMap<UploadId, Arc<Arrived>>>);

impl Uploads {
    fn all(&self) -> MutexGuard<'_, HashMap<UploadId, Arc<Arrived>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    staged: Staged,
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

impl Workspace {
    /// Begins an upload: room in the staging folder for bytes that come in pieces.
    pub fn upload(&self, call: &Call) -> Result<Upload> {
        Ok(Upload {
            id: UploadId::new(call.world()),
            incoming: self.stage.incoming(&self.disk)?,
            hasher: ContentHasher::new(),
            size: 0,
            uploads: Arc::clone(&self.uploads),
        })
    }
}

impl Planner<'_> {
    /// Makes what arrived ready to be put in its place, and its content ready to be kept.
    pub(crate) fn receive(
        &mut self,
        arrived: &Arrived,
        shape: &Shape,
        path: &WsPath,
    ) -> Result<Image> {
        let Arrived { hash, size, staged } = arrived;
        let known = self.store().locate(hash).map_err(store_fault)?;
        if known.as_ref().is_none_or(output::is_evictable) {
            let file = kept_name::of_copy(hash, VersionId::new(self.call.world()));
            self.draft.kept.push(staged.keep_too(&file.name, path)?);
            self.draft.contents.push(Prepared::kept(*hash, *size, file));
        }
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let staged = stage.copy(disk, staged.open(path)?, shape, path)?;
        Ok(Image { hash: *hash, size: *size, staged })
    }

    /// Plans another state for a file that is too large to load and keeps its bytes.
    pub(crate) fn rewrite_unloaded(&mut self, current: &Current, after: FileState) -> Result<()> {
        let (workspace, path) = (self.workspace, &current.path);
        let put = self.put_image(current, after, |_, shape| {
            let (source, stat) = workspace.disk.open_seen(path, &current.stat)?;
            let hash = current.content().ok_or_else(|| not_found(path))?;
            let staged = workspace.stage.copy(&workspace.disk, source, shape, path)?;
            Ok(Image { hash, size: stat.size(), staged })
        });
        put?;
        self.keep_attributes(current)
    }

    /// Plans that a file gets a content that the store has, however large it is.
    pub(crate) fn rewrite_as_stored(
        &mut self,
        current: &Current,
        hash: ContentHash,
        size: u64,
        after: FileState,
    ) -> Result<()> {
        let (workspace, kind) = (self.workspace, after.kind);
        let put = self.put_image(current, after, |_, shape| {
            let staged = image(workspace, &hash, kind, shape, &current.path)?;
            let staged = staged.ok_or_else(|| crate::op::version::lost(workspace, &hash))?;
            Ok(Image { hash, size, staged })
        });
        put?;
        self.keep_attributes(current)
    }
}

/// Removes kept files that no content stands for: their steps never came. The caller holds the lock
/// and is the only living process.
pub(crate) fn sweep_kept(workspace: &Workspace) -> Result<()> {
    let mut orphans = Vec::new();
    for name in workspace.stage.kept_names() {
        // Of build output there are thousands, and what is in the tree too is no orphan worth a look.
        let is_evictable = kept_name::retention_of(&name) == Retention::Evictable;
        if is_evictable && workspace.stage.kept_alone(&name) == Some(0) {
            continue;
        }
        let Some(hash) = kept_name::content_in(&name) else { continue };
        let located = workspace.store().locate(&hash).map_err(store_fault)?;
        let kept = located.and_then(|located| located.kept).map(|file| file.name);
        if kept.as_ref() != Some(&name) {
            orphans.push(name);
        }
    }
    if orphans.is_empty() { Ok(()) } else { workspace.stage.remove_kept(&orphans) }
}
