//! What a layer holds, beside what the workspace has by now. Nothing is planned here.

use yard_core::{Call, Fault, FaultCode, FileKind, Result, WsPath};
use yard_disk::{EntryKind, EntryStat, OverlayLayer, SET_ID};

use crate::workspace::Workspace;

/// The mode with which an entry of a layer can land: without the bits that let a file run as its owner or
/// its group. A file that the command did nothing to keeps them, and so does a folder: no command can set
/// them, so that it has them from the folder that it was made in, whose group it shares.
fn landing_mode(stat: &EntryStat, below: Option<&EntryStat>) -> u32 {
    let same_kind = below.filter(|below| below.kind == stat.kind);
    let is_unchanged = |below: &EntryStat| {
        let looks = |stat: &EntryStat| (stat.mode, stat.size(), stat.signature.mtime);
        looks(below) == looks(stat)
    };
    match stat.is(FileKind::Folder) || same_kind.is_some_and(is_unchanged) {
        true => stat.mode,
        false => stat.mode & !SET_ID,
    }
}

/// What a layer holds, beside what the workspace has by now.
#[derive(Default)]
pub(super) struct Found {
    /// What is not to be there any more, the uppermost of each.
    pub(super) gone: Vec<(WsPath, EntryStat)>,
    /// New folders, those above before those below, with their modes.
    pub(super) folders: Vec<(WsPath, u32)>,
    /// Folders that stay, with other modes.
    pub(super) modes: Vec<(WsPath, u32)>,
    /// Files and links as the layer has them, and what of their kind is there.
    pub(super) entries: Vec<Entry>,
    pub(super) left_out: Vec<WsPath>,
}

pub(super) struct Entry {
    pub(super) path: WsPath,
    pub(super) stat: EntryStat,
    pub(super) below: Option<EntryStat>,
}

impl Found {
    pub(super) fn in_layer(
        workspace: &Workspace,
        layer: &OverlayLayer,
        call: &Call,
    ) -> Result<Self> {
        let mut found = Self::default();
        // With each folder: whether the workspace has one there, and whether that one is hidden whole. A
        // folder that was made in a hidden one hides what is below it too, and does not say so.
        let mut ahead = vec![(WsPath::root(), true, false)];
        while let Some((folder, shows, hidden)) = ahead.pop() {
            call.check()?;
            let mut names: Vec<Vec<u8>> =
                layer.disk.list(&folder)?.into_iter().map(|entry| entry.name).collect();
            names.sort_unstable();
            let mut below = Vec::new();
            for name in &names {
                let Ok(path) = folder.join_bytes(name) else {
                    // No path can name it: the folder that holds it is what can be said.
                    found.left_out.push(folder.clone());
                    continue;
                };
                below.extend(found.entry(workspace, layer, path, shows)?);
            }
            let hidden = hidden || layer.is_opaque(&folder)?;
            if shows && hidden {
                found.hidden(workspace, &folder, &names)?;
            }
            // The first one is looked at next.
            ahead.extend(below.into_iter().rev().map(|(path, shows)| (path, shows, hidden)));
        }
        found.left_out.dedup();
        found.check_fits(workspace)?;
        Ok(found)
    }

    /// A fault if what the command wrote is more than commands may write. By the lengths of the files: one
    /// that has holes counts whole, because its bytes are hashed and can be asked for.
    fn check_fits(&self, workspace: &Workspace) -> Result<()> {
        let sizes = self.entries.iter().map(|entry| entry.stat.size());
        let written = sizes.fold(0_u64, u64::saturating_add);
        let most = workspace.most_written();
        if written <= most {
            return Ok(());
        }
        let message = format!(
            "the files that the command wrote or changed are {written} bytes long together, and {most} may \
             be: nothing of it was kept. Write less, or have the operator raise `written_mib` of `[commands]`"
        );
        Err(Fault::new(FaultCode::TooLarge, message))
    }

    /// Notes one entry; if it is a folder, it is to be looked into.
    fn entry(
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
            EntryKind::Known(FileKind::Folder) => Ok(Some(self.folder(path, &stat, below))),
            EntryKind::Known(_) => {
                let same = below.filter(|below| below.kind == stat.kind);
                if let (None, Some(other)) = (&same, below) {
                    self.gone.push((path.clone(), other));
                }
                self.entries.push(Entry { path, stat, below: same });
                Ok(None)
            }
        }
    }

    fn folder(
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

    /// What a folder of the workspace has that its opaque counterpart does not show.
    fn hidden(&mut self, workspace: &Workspace, folder: &WsPath, shown: &[Vec<u8>]) -> Result<()> {
        for entry in workspace.disk.list(folder)? {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            if shown.binary_search(&entry.name).is_err()
                && let Some(stat) = workspace.disk.stat(&path)?
            {
                self.gone.push((path, stat));
            }
        }
        Ok(())
    }
}
