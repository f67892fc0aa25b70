//! The folders of a plan, which are looked up, made, and checked to be writable; and the paths that the plan vacates.

use yard_core::{EffectKind, FaultCode, FileId, FileKind, FileState, FileType, Result, WsPath};
use yard_disk::not_found;

use super::adoption::Observed;
use super::{Current, Large, Planner};
use crate::draft::basis::ExpectedEntry;
use crate::lookup::path_faults::not_a_folder;

impl Planner<'_> {
    /// The id of a folder that exists on disk. It is adopted if the store does not know it.
    pub(crate) fn folder(&mut self, path: &WsPath) -> Result<FileId> {
        let mut id = FileId::ROOT;
        for folder in path.lineage() {
            id = self.folder_in(id, &folder)?;
        }
        Ok(id)
    }

    fn folder_in(&mut self, parent: FileId, path: &WsPath) -> Result<FileId> {
        if let Some(id) = self.known.folders.get(path) {
            return Ok(*id);
        }
        let name = path.name().ok_or_else(|| not_found(path))?;
        let stat = self.workspace.disk.stat(path)?.ok_or_else(|| not_found(path))?;
        if !stat.is(FileKind::Folder) {
            return Err(not_a_folder(path));
        }
        self.expect(path, ExpectedEntry::Folder { inode: stat.signature.inode });
        let node = self.store().child(parent, &name)?;
        let id = match node {
            Some(node) if node.last.kind == FileKind::Folder => node.id,
            other => {
                if let Some(node) = other {
                    self.adopt_gone(&node, path)?;
                }
                let observed = Observed::folder(stat);
                self.adopt_new(parent, path, &observed, Large::Leave)?.0
            }
        };
        self.known.folders.insert(path.clone(), id);
        Ok(id)
    }

    /// The id of a folder. It and the folders above it are made if they are missing.
    pub(crate) fn make_folders(&mut self, path: &WsPath) -> Result<FileId> {
        let mut id = FileId::ROOT;
        for folder in path.lineage() {
            let is_planned = self.known.folders.contains_key(&folder);
            let is_vacated = self.known.vacated.contains(&folder);
            id = if is_planned || (!is_vacated && self.workspace.disk.stat(&folder)?.is_some()) {
                self.folder_in(id, &folder)?
            } else {
                self.make_folder_in(id, &folder, self.workspace.folder_mode)?
            };
        }
        Ok(id)
    }

    /// Plans a new folder with that mode.
    pub(crate) fn make_folder_as(&mut self, path: &WsPath, mode: u32) -> Result<FileId> {
        let parent = self.make_folders(&path.parent().unwrap_or_else(WsPath::root))?;
        self.make_folder_in(parent, path, mode)
    }

    fn make_folder_in(&mut self, parent: FileId, path: &WsPath, mode: u32) -> Result<FileId> {
        let name = path.name().ok_or_else(|| not_found(path))?;
        self.expect_free(parent, path)?;
        self.check_writable_above(path)?;
        self.known.writable.insert(path.clone());
        let id = FileId::new(self.call.world());
        let after = FileState {
            parent,
            name,
            kind: FileKind::Folder,
            file_type: FileType::Folder,
            mode,
            content: None,
            size: 0,
            json: false,
        };
        self.push_change(id, None, Some(after), None, Some(path.clone()));
        self.effect.push(EffectKind::Create, path.clone(), FileType::Folder);
        self.known.folders.insert(path.clone(), id);
        Ok(id)
    }

    /// A fault if the nearest existing folder above `path` cannot be written to.
    pub(crate) fn check_writable_above(&mut self, path: &WsPath) -> Result<()> {
        let above = path.parent().unwrap_or_else(WsPath::root);
        if self.known.writable.contains(&above) {
            return Ok(());
        }
        let (disk, stage) = (&self.workspace.disk, &self.workspace.stage);
        let mut nearest = above.clone();
        loop {
            match (stage.check_writable(disk, &nearest), nearest.parent()) {
                (Err(fault), Some(parent))
                    if fault.code() == FaultCode::NotFound || self.is_at_vacated(&nearest) =>
                {
                    nearest = parent
                }
                (checked, _) => {
                    checked?;
                    break;
                }
            }
        }
        self.known.writable.insert(above);
        Ok(())
    }

    /// Expects that nothing is at a path. Entries at and below a vacated path are expected already, because they are
    /// removed.
    pub(crate) fn expect_free(&mut self, parent: FileId, path: &WsPath) -> Result<()> {
        if self.is_at_vacated(path) {
            return Ok(());
        }
        self.adopt_missing(parent, path)?;
        self.expect(path, ExpectedEntry::Absent);
        Ok(())
    }

    /// Whether this plan vacates a path, or a folder above it.
    pub(crate) fn is_at_vacated(&self, path: &WsPath) -> bool {
        !self.known.vacated.is_empty()
            && path.lineage().iter().any(|above| self.known.vacated.contains(above))
    }

    /// Plans that an entry is removed, so that another one may be made at its path.
    pub(crate) fn vacate(&mut self, current: &Current) {
        self.remove(current);
        self.note_vacated(&current.path);
    }

    /// Notes that this plan vacates a path, so that another entry may be made there.
    pub(crate) fn note_vacated(&mut self, path: &WsPath) {
        self.known.vacated.insert(path.clone());
    }

    /// Whether this plan vacates that path.
    pub(crate) fn is_vacated(&self, path: &WsPath) -> bool {
        self.known.vacated.contains(path)
    }
}
