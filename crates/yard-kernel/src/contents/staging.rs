//! Prepares new contents: hashes them, compresses them for the store, and stages them for the disk. This does not need the
//! plan, so that many contents are staged in parallel.

use rustix::io::Errno;
use yard_core::{Call, ContentHash, FileKind, Result, RunId, WsPath};
use yard_disk::{Disk, NewlyKept, Staged, StagedAttributes, hash_all, kept_name, write_fault};
use yard_store::{Base, Effort, Prepared};

use crate::workspace::Workspace;
use crate::workspace::caches::content_cache;
use yard_search::parallel;

/// A content, with the file or link that it becomes.
pub(crate) struct ContentToStage<'a> {
    pub(crate) bytes: &'a [u8],
    /// The version before it, against which the store may compress it.
    pub(crate) base: Option<Base<'a>>,
    pub(crate) kind: FileKind,
    pub(crate) attributes: StagedAttributes,
    pub(crate) path: WsPath,
    /// The layer that already has it as a file at that path.
    pub(crate) layer: Option<&'a Disk>,
}

/// A file of a layer that is build output.
pub(crate) struct BuildOutputToStage<'a> {
    pub(crate) layer: &'a Disk,
    pub(crate) attributes: StagedAttributes,
    pub(crate) path: WsPath,
    pub(crate) run: RunId,
}

/// A content that is staged.
pub(crate) struct StagedContent {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    /// `None` if the store already has the content.
    pub(crate) prepared: Option<Prepared>,
    pub(crate) staged: Staged,
    /// The whole file as which the content is stored, if it is new.
    pub(crate) stored_file: Option<NewlyKept>,
    /// Its bytes, if they are small enough for the cache of written contents.
    pub(crate) written: Option<Vec<u8>>,
}

impl ContentToStage<'_> {
    pub(crate) fn stage(
        &self,
        workspace: &Workspace,
        effort: Effort,
        call: &Call,
    ) -> Result<StagedContent> {
        let Self { bytes, base, kind, attributes, path, layer } = self;
        let hash = ContentHash::of(bytes);
        let prepared = workspace.store().prepare(hash, bytes, *base, effort)?;
        let (disk, stage) = (&workspace.disk, &workspace.stage);
        let staged = match (kind, layer) {
            (FileKind::Link, _) => stage.link(disk, bytes, path)?,
            (_, Some(layer)) => stage.adopt(disk, layer, attributes, path, call)?,
            (_, None) => stage.file(disk, bytes, attributes, path)?,
        };
        let written = (bytes.len() <= content_cache::MAX_CONTENT_BYTES).then(|| bytes.to_vec());
        let (size, prepared) = (bytes.len() as u64, Some(prepared));
        Ok(StagedContent { hash, size, prepared, staged, stored_file: None, written })
    }
}

impl BuildOutputToStage<'_> {
    /// Stages the file itself and gives it a second name among the kept files, so that no byte of it is copied or
    /// compressed. A program that writes into the file in the workspace changes the kept one too, which then counts as
    /// lost.
    fn stage(&self, workspace: &Workspace, call: &Call) -> Result<StagedContent> {
        let Self { layer, attributes, path, run } = self;
        let (mut file, stat) = layer.open_listed(path)?;
        let hash = hash_all(&mut file, path, call)?;
        let staged = workspace.stage.adopt(&workspace.disk, layer, attributes, path, call)?;
        let located = workspace.store().locate(&hash)?;
        let (name, prepared) = match located {
            None => {
                let file = kept_name::of_build_output(&hash, *run);
                (Some(file.name.clone()), Some(Prepared::kept(hash, stat.size(), file)))
            }
            // The store knows the content, but its file may have been evicted.
            Some(located) => {
                let name = located.kept.map(|file| file.name);
                (name.filter(|name| !workspace.stage.has_kept(name)), None)
            }
        };
        let stored_file = match name.map(|name| staged.keep_unflushed(&name)) {
            None | Some(Err(Errno::EXIST)) => None,
            Some(stored) => Some(stored.map_err(|errno| write_fault(errno, path))?),
        };
        Ok(StagedContent { hash, size: stat.size(), prepared, staged, stored_file, written: None })
    }
}

/// Stages all of these contents. If several fail, the fault is that of the first one.
pub(crate) fn stage_all(
    workspace: &Workspace,
    contents: &[ContentToStage<'_>],
    effort: Effort,
    call: &Call,
) -> Result<Vec<StagedContent>> {
    parallel::map(contents, call, |content| content.stage(workspace, effort, call))
}

/// Stages build output, all of which is durable when this returns.
pub(crate) fn stage_build_outputs(
    workspace: &Workspace,
    files: &[BuildOutputToStage<'_>],
    call: &Call,
) -> Result<Vec<StagedContent>> {
    let staged = parallel::map(files, call, |file| file.stage(workspace, call))?;
    if !staged.is_empty() {
        workspace.stage.note_evictable();
        workspace.stage.flush()?;
    }
    Ok(staged)
}
