//! New contents made ready: named by their hash, made small for the store, staged for the disk. Nothing
//! of that needs the plan that wants them, so that many are made at once, on all cores.

use yard_core::{Call, ContentHash, FileKind, Result, WsPath};
use yard_store::{Base, Effort, Prepared};

use crate::disk::{Disk, Shape, Staged};
use crate::recent;
use crate::spread;
use crate::workspace::{Workspace, store_fault};

/// A content, and the file or link that it is going to be.
pub(crate) struct Wanted<'a> {
    pub(crate) bytes: &'a [u8],
    /// The version before it.
    pub(crate) base: Option<Base<'a>>,
    pub(crate) kind: FileKind,
    pub(crate) shape: Shape,
    pub(crate) path: WsPath,
    /// The layer that has it as a file of its own at that path.
    pub(crate) from: Option<&'a Disk>,
}

/// A content that is ready.
pub(crate) struct Made {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    pub(crate) prepared: Prepared,
    pub(crate) staged: Staged,
    /// Its bytes, where the next plan shall know them again.
    pub(crate) written: Option<Vec<u8>>,
}

impl Wanted<'_> {
    pub(crate) fn make(&self, workspace: &Workspace, effort: Effort) -> Result<Made> {
        let Self { bytes, base, kind, shape, path, from } = self;
        let hash = ContentHash::of(bytes);
        let prepared =
            workspace.store().prepare(hash, bytes, *base, effort).map_err(store_fault)?;
        let (disk, stage) = (&workspace.disk, &workspace.stage);
        let staged = match (kind, from) {
            (FileKind::Link, _) => stage.link(disk, bytes, path)?,
            (_, Some(layer)) => stage.adopt(disk, layer, shape, path)?,
            (_, None) => stage.file(disk, bytes, shape, path)?,
        };
        let written = (bytes.len() <= recent::LARGEST).then(|| bytes.to_vec());
        Ok(Made { hash, size: bytes.len() as u64, prepared, staged, written })
    }
}

/// Makes all of them; of several faults, the one of the first.
pub(crate) fn make_all(
    workspace: &Workspace,
    wanted: &[Wanted<'_>],
    effort: Effort,
    call: &Call,
) -> Result<Vec<Made>> {
    spread::over_cores(wanted, call, |wanted| wanted.make(workspace, effort))
}
