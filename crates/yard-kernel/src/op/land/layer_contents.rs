//! Compares the entries of a layer with the workspace. Nothing is planned here.

use yard_core::{Call, Fault, FaultCode, FileKind, Remedy, Result, WsPath};
use yard_disk::{EntryKind, EntryStat, OverlayLayer, SET_ID};

use crate::workspace::Workspace;

/// The mode with which an entry of a layer lands: without set-id bits. A file that the command did not change keeps them.
/// So does a folder: no command can set them, so that it inherited them from the folder in which it was made.
fn landing_mode(stat: &EntryStat, below: Option<&EntryStat>) -> u32 {
    let same_kind = below.filter(|below| below.kind == stat.kind);
    let is_unchanged = |below: &EntryStat| {
        let fields = |stat: &EntryStat| (stat.mode, stat.size(), stat.signature.mtime);
        fields(below) == fields(stat)
    };
    match stat.is(FileKind::Folder) || same_kind.is_some_and(is_unchanged) {
        true => stat.mode,
        false => stat.mode & !SET_ID,
    }
}

/// The differences between a layer and the workspace.
#[derive(Default)]
pub(super) struct LayerContents {
    /// Removed entries, without those below a removed folder.
    pub(super) gone: Vec<(WsPath, EntryStat)>,
    /// New folders with their modes, parents first.
    pub(super) folders: Vec<(WsPath, u32)>,
    /// Existing folders with their new modes.
    pub(super) modes: Vec<(WsPath, u32)>,
    /// New and changed files and links.
    pub(super) entries: Vec<LayerEntry>,
    /// Entries that cannot land.
    pub(super) left_out: Vec<WsPath>,
}

pub(super) struct LayerEntry {
    pub(super) path: WsPath,
    pub(super) stat: EntryStat,
    /// The entry of the same kind that the workspace has at this path.
    pub(super) below: Option<EntryStat>,
}

impl LayerContents {
    pub(super) fn read(workspace: &Workspace, layer: &OverlayLayer, call: &Call) -> Result<Self> {
        let mut contents = Self::default();
        // For each folder: whether the workspace has a folder at that path, and whether the layer hides the entries of
        // that. A folder in an opaque one hides those entries too, without being marked opaque itself.
        let mut ahead = vec![(WsPath::root(), true, false)];
        while let Some((folder, shows, hidden)) = ahead.pop() {
            call.check()?;
            let mut names: Vec<Vec<u8>> =
                layer.disk.list(&folder)?.into_iter().map(|entry| entry.name).collect();
            names.sort_unstable();
            let mut below = Vec::new();
            for name in &names {
                let Ok(path) = folder.join_bytes(name) else {
                    // No path can have this name, so the folder is reported instead.
                    contents.left_out.push(folder.clone());
                    continue;
                };
                below.extend(contents.add_entry(workspace, layer, path, shows)?);
            }
            let hidden = hidden || layer.is_opaque(&folder)?;
            if shows && hidden {
                contents.add_hidden(workspace, &folder, &names)?;
            }
            // The first folder is read next.
            ahead.extend(below.into_iter().rev().map(|(path, shows)| (path, shows, hidden)));
        }
        contents.left_out.dedup();
        contents.check_size(workspace)?;
        Ok(contents)
    }

    /// A fault if the command wrote more than commands may write. A sparse file counts with its full length, because its
    /// bytes are hashed and can be read.
    fn check_size(&self, workspace: &Workspace) -> Result<()> {
        let sizes = self.entries.iter().map(|entry| entry.stat.size());
        let written = sizes.fold(0_u64, u64::saturating_add);
        let most = workspace.most_written();
        if written <= most {
            return Ok(());
        }
        let message = format!(
            "the files that the command wrote or changed are {written} bytes long together, and {most} may \
             be: nothing of it was kept. Write less"
        );
        Err(Fault::new(FaultCode::TooLarge, message).with_remedy(Remedy::WriteMore))
    }

    /// Adds an entry. Returns a folder, with whether the workspace has it too, so that its entries are read.
    fn add_entry(
        &mut self,
        workspace: &Workspace,
        layer: &OverlayLayer,
        path: WsPath,
        shows: bool,
    ) -> Result<Option<(WsPath, bool)>> {
        let Some(mut stat) = layer.disk.stat(&path)? else { return Ok(None) };
        layer.open_up(&path, &stat)?;
        let below = if shows { workspace.disk.stat(&path)? } else { None };
        stat.mode = landing_mode(&stat, below.as_ref());
        match stat.kind {
            EntryKind::Special(_) => {
                match below {
                    Some(below) if layer.is_whiteout(&path)? => self.gone.push((path, below)),
                    _ if layer.is_whiteout(&path)? => {}
                    _ => self.left_out.push(path),
                }
                Ok(None)
            }
            EntryKind::Known(FileKind::Folder) => Ok(Some(self.add_folder(path, &stat, below))),
            EntryKind::Known(_) => {
                let same = below.filter(|below| below.kind == stat.kind);
                if let (None, Some(other)) = (&same, below) {
                    self.gone.push((path.clone(), other));
                }
                self.entries.push(LayerEntry { path, stat, below: same });
                Ok(None)
            }
        }
    }

    fn add_folder(
        &mut self,
        path: WsPath,
        stat: &EntryStat,
        below: Option<EntryStat>,
    ) -> (WsPath, bool) {
        match below {
            Some(below) if below.is(FileKind::Folder) => {
                if below.mode != stat.mode {
                    self.modes.push((path.clone(), stat.mode));
                }
                (path, true)
            }
            other => {
                self.gone.extend(other.map(|other| (path.clone(), other)));
                self.folders.push((path.clone(), stat.mode));
                (path, false)
            }
        }
    }

    /// Adds the entries of a folder of the workspace that its opaque counterpart in the layer does not have as removed.
    fn add_hidden(
        &mut self,
        workspace: &Workspace,
        folder: &WsPath,
        names: &[Vec<u8>],
    ) -> Result<()> {
        for entry in workspace.disk.list(folder)? {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            if names.binary_search(&entry.name).is_err()
                && let Some(stat) = workspace.disk.stat(&path)?
            {
                self.gone.push((path, stat));
            }
        }
        Ok(())
    }
}
