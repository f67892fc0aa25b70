//! New contents made ready: named by their hash, made small for the store, staged for the disk. Nothing
//! of that needs the plan that wants them, so that many are made at once, on all cores.

use rustix::io::Errno;
use yard_core::{Call, ContentHash, FileKind, Result, RunId, WsPath};
use yard_disk::{Disk, NewlyKept, Staged, StagedAttributes, hash_all, kept_name, write_fault};
use yard_store::{Base, Effort, Prepared};

use crate::recent;
use crate::workspace::Workspace;
use yard_search::parallel;

/// A content, and the file or link that it is going to be.
pub(crate) struct Wanted<'a> {
    pub(crate) bytes: &'a [u8],
    /// The version before it.
    pub(crate) base: Option<Base<'a>>,
    pub(crate) kind: FileKind,
    pub(crate) shape: StagedAttributes,
    pub(crate) path: WsPath,
    /// The layer that has it as a file of its own at that path.
    pub(crate) from: Option<&'a Disk>,
}

/// A file of a layer that is build output, and is going to be one of the workspace.
pub(crate) struct WantedOutput<'a> {
    pub(crate) layer: &'a Disk,
    pub(crate) shape: StagedAttributes,
    pub(crate) path: WsPath,
    pub(crate) run: RunId,
}

/// A content that is ready.
pub(crate) struct Made {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    /// None where the store has it.
    pub(crate) prepared: Option<Prepared>,
    pub(crate) staged: Staged,
    /// The file that stands for the content.
    pub(crate) kept: Option<NewlyKept>,
    /// Its bytes, where the next plan shall know them again.
    pub(crate) written: Option<Vec<u8>>,
}

impl Wanted<'_> {
    pub(crate) fn make(&self, workspace: &Workspace, effort: Effort) -> Result<Made> {
        let Self { bytes, base, kind, shape, path, from } = self;
        let hash = ContentHash::of(bytes);
        let prepared = workspace.store().prepare(hash, bytes, *base, effort)?;
        let (disk, stage) = (&workspace.disk, &workspace.stage);
        let staged = match (kind, from) {
            (FileKind::Link, _) => stage.link(disk, bytes, path)?,
            (_, Some(layer)) => stage.adopt(disk, layer, shape, path)?,
            (_, None) => stage.file(disk, bytes, shape, path)?,
        };
        let written = (bytes.len() <= recent::LARGEST).then(|| bytes.to_vec());
        let (size, prepared) = (bytes.len() as u64, Some(prepared));
        Ok(Made { hash, size, prepared, staged, kept: None, written })
    }
}

impl WantedOutput<'_> {
    /// The file itself stands for its content: it has a second name among the kept ones, and no byte of
    /// it is copied or made small. Whoever writes into it where it is changes both; then it is not kept.
    fn make(&self, workspace: &Workspace, call: &Call) -> Result<Made> {
        let Self { layer, shape, path, run } = self;
        let (mut file, stat) = layer.open_listed(path)?;
        let hash = hash_all(&mut file, path, call)?;
        let staged = workspace.stage.adopt(&workspace.disk, layer, shape, path)?;
        let located = workspace.store().locate(&hash)?;
        let (name, prepared) = match located {
            None => {
                let file = kept_name::of_build_output(&hash, *run);
                (Some(file.name.clone()), Some(Prepared::kept(hash, stat.size(), file)))
            }
            // It was evicted, and a command has made it again.
            Some(located) => {
                let name = located.kept.map(|file| file.name);
                (name.filter(|name| !workspace.stage.has_kept(name)), None)
            }
        };
        let kept = match name.map(|name| staged.keep_unflushed(&name)) {
            None | Some(Err(Errno::EXIST)) => None,
            Some(kept) => Some(kept.map_err(|errno| write_fault(errno, path))?),
        };
        Ok(Made { hash, size: stat.size(), prepared, staged, kept, written: None })
    }
}

/// Makes all of them; of several faults, the one of the first.
pub(crate) fn make_all(
    workspace: &Workspace,
    wanted: &[Wanted<'_>],
    effort: Effort,
    call: &Call,
) -> Result<Vec<Made>> {
    parallel::map(wanted, call, |wanted| wanted.make(workspace, effort))
}

/// The same for build output; all of it is durable when this returns.
pub(crate) fn make_outputs(
    workspace: &Workspace,
    wanted: &[WantedOutput<'_>],
    call: &Call,
) -> Result<Vec<Made>> {
    let made = parallel::map(wanted, call, |wanted| wanted.make(workspace, call))?;
    if !made.is_empty() {
        workspace.stage.note_spares();
        workspace.stage.flush()?;
    }
    Ok(made)
}
