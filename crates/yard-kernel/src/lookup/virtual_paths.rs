//! Resolves paths that do not lead to the workspace's own files: those of virtual files and of command output. Their
//! reserved names are in `virtual_files`.

use yard_core::{Call, Fault, FaultCode, FileKind, Remedy, Result, Subject, WsPath};
use yard_disk::{Disk, EntryStat, ResolvedPath, output_folder};

use crate::virtual_files::command_output::output_not_found;
use crate::virtual_files::{
    FOLDER, SUFFIX, VirtualEntries, VirtualFile, check_not_reserved, is_reserved,
    is_virtual_folder, virtual_file_name,
};
use crate::workspace::Workspace;

impl Workspace {
    /// The virtual files that a recursive search or listing of a folder shows: all of them in their own folder, and none
    /// in any other.
    pub(crate) fn virtual_entries_below(&self, folder: &WsPath) -> Result<VirtualEntries> {
        if folder.is_root() {
            return Ok(VirtualEntries::shadowing(self.shadowed_by_virtual_files()?));
        }
        if is_virtual_folder(folder) {
            self.all_virtual_entries()
        } else {
            Ok(VirtualEntries::default())
        }
    }

    /// All virtual files, for a search whose patterns name their folder.
    pub(crate) fn all_virtual_entries(&self) -> Result<VirtualEntries> {
        match &self.virtual_files {
            Some(files) => files.list().map(VirtualEntries::new),
            None => Ok(VirtualEntries::default()),
        }
    }

    /// The virtual files that a listing of a folder's own entries needs: all of them in their own folder, and in the root,
    /// which shows only their folder, the newest one.
    pub(crate) fn virtual_entries_in(&self, folder: &WsPath) -> Result<VirtualEntries> {
        match &self.virtual_files {
            Some(files) if folder.is_root() => {
                Ok(VirtualEntries::new(files.newest()?.into_iter().collect()))
            }
            _ => self.virtual_entries_below(folder),
        }
    }

    /// The virtual file at a path.
    pub(crate) fn virtual_file(&self, path: &WsPath) -> Result<Option<VirtualFile>> {
        match (&self.virtual_files, is_reserved(path)) {
            (Some(files), true) => {
                virtual_file_name(path).map_or(Ok(None), |name| files.find(&name))
            }
            _ => Ok(None),
        }
    }

    /// The text of the virtual file at a path.
    pub(crate) fn virtual_text(&self, path: &WsPath, call: &Call) -> Result<Option<Vec<u8>>> {
        match (&self.virtual_files, is_reserved(path)) {
            (Some(files), true) => {
                virtual_file_name(path).map_or(Ok(None), |name| files.text(&name, call))
            }
            _ => Ok(None),
        }
    }

    /// The path of virtual files or command output to which the links of a path lead, if they lead to one.
    pub(crate) fn virtual_target(&self, named: &WsPath, spot: &ResolvedPath) -> Option<WsPath> {
        let (ResolvedPath::Present { path, .. } | ResolvedPath::Missing { path }) = spot else {
            return None;
        };
        let chats = self.virtual_files.is_some() && (is_reserved(path) || is_virtual_folder(path));
        let is_virtual = chats || path.is_command_output();
        (is_virtual && path != named).then(|| path.clone())
    }

    /// Locates an entry that is about to change. A fault if its path is reserved, before or after its links are
    /// resolved.
    pub(crate) fn locate_to_change(&self, path: &WsPath, follow: bool) -> Result<ResolvedPath> {
        check_not_reserved(path)?;
        let spot = self.disk.locate(path, follow)?;
        if let ResolvedPath::Present { path, .. } | ResolvedPath::Missing { path } = &spot {
            check_not_reserved(path)?;
        }
        Ok(spot)
    }

    /// As [`Workspace::locate_to_change`], for an entry that is moved or removed: a link at the end is not followed.
    pub(crate) fn locate_to_move_away(&self, path: &WsPath) -> Result<ResolvedPath> {
        self.check_holds_no_chats(path)?;
        self.locate_to_change(path, false)
    }

    /// A fault if a path is the folder of virtual files and there are any: that folder cannot be moved or removed.
    pub(crate) fn check_holds_no_chats(&self, path: &WsPath) -> Result<()> {
        if !is_virtual_folder(path) || !self.virtual_entries_below(path)?.are_in(path) {
            return Ok(());
        }
        let message = format!(
            "{path} holds the transcripts of chats, which the system manages: it cannot be moved, removed \
             or replaced"
        );
        Err(Fault::new(FaultCode::BadPath, message)
            .about(Subject::Path)
            .with_remedy(Remedy::ManageChats))
    }

    /// Entries on disk that no tool shows, because their paths are those of virtual files or of command output.
    pub(crate) fn shadowed(&self) -> Result<Vec<WsPath>> {
        let mut shadowed = vec![output_folder()?];
        if self.disk.stat(&shadowed[0])?.is_none() {
            shadowed.clear();
        }
        shadowed.extend(self.shadowed_by_virtual_files()?);
        Ok(shadowed)
    }

    fn shadowed_by_virtual_files(&self) -> Result<Vec<WsPath>> {
        let Some(files) = &self.virtual_files else { return Ok(Vec::new()) };
        let Ok(folder) = WsPath::root().join_bytes(FOLDER) else { return Ok(Vec::new()) };
        let Some(stat) = self.disk.stat(&folder)? else { return Ok(Vec::new()) };
        if !stat.is(FileKind::Folder) {
            return Ok(if files.newest()?.is_some() { vec![folder] } else { Vec::new() });
        }
        // If the folder cannot be listed, nothing of it is shown anyway.
        let Ok(listed) = self.disk.list(&folder) else { return Ok(Vec::new()) };
        let mut shadowed = Vec::new();
        for entry in listed.into_iter().filter(|entry| entry.name.ends_with(SUFFIX)) {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            if self.virtual_file(&path)?.is_some() {
                shadowed.push(path);
            }
        }
        shadowed.sort_unstable();
        Ok(shadowed)
    }

    /// The disk that has the entry at a path: the workspace's, or that of command output.
    pub(crate) fn disk_of(&self, path: &WsPath) -> &Disk {
        if path.is_command_output() { self.commands.outputs.disk() } else { &self.disk }
    }

    /// Whether the caller may read the command output at a path. Output may contain anything that the command's own caller
    /// could read, so that the reader needs at least the same rights. True for every path that is no command output.
    pub fn may_see_output(&self, path: &WsPath, call: &Call) -> bool {
        let Some(reading) = call.reading() else { return true };
        let name = match path.name() {
            Some(name) if path.is_command_output() && path.parent() != Some(WsPath::root()) => name,
            _ => return true,
        };
        let run = name.as_bytes().split(|byte| *byte == b'.').next();
        let run = run.and_then(|run| std::str::from_utf8(run).ok()?.parse().ok());
        let note = run.and_then(|run| self.commands.outputs.noted(run));
        reading.may_see(&note.unwrap_or_default())
    }

    /// The metadata of stored command output, or of the folder of it.
    pub(crate) fn stat_command_output(&self, path: &WsPath) -> Result<EntryStat> {
        self.commands.outputs.disk().stat(path)?.ok_or_else(|| output_not_found(path))
    }
}
