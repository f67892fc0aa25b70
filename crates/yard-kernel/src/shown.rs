//! What tools are shown in the place of the disk: virtual files, and what commands wrote to their streams. Which
//! names are reserved for them is in `virtual_files.rs` and `spilled.rs`.

use yard_core::{Call, Fault, FaultCode, FileKind, Result, Subject, WsPath};
use yard_disk::{Disk, EntryStat, ResolvedPath, output_folder};

use crate::spilled::not_kept;
use crate::virtual_files::{
    ENDING, FOLDER, Shown, VirtualFile, check_free, is_reserved, is_their_folder, their_name,
};
use crate::workspace::Workspace;

impl Workspace {
    /// The virtual files that a search or listing of a folder and all below it shows: all in their own folder,
    /// none anywhere else.
    pub(crate) fn shown_below(&self, folder: &WsPath) -> Result<Shown> {
        if folder.is_root() {
            return Ok(Shown::none(self.shadowed_by_chats()?));
        }
        if is_their_folder(folder) { self.all_shown() } else { Ok(Shown::default()) }
    }

    /// All virtual files: for a search whose patterns name their folder.
    pub(crate) fn all_shown(&self) -> Result<Shown> {
        match &self.virtual_files {
            Some(files) => files.list().map(Shown::all),
            None => Ok(Shown::default()),
        }
    }

    /// The virtual files that the own entries of a folder need: all in their own folder; in the root, which
    /// shows their folder alone, the newest.
    pub(crate) fn shown_in(&self, folder: &WsPath) -> Result<Shown> {
        match &self.virtual_files {
            Some(files) if folder.is_root() => {
                Ok(Shown::all(files.newest()?.into_iter().collect()))
            }
            _ => self.shown_below(folder),
        }
    }

    /// The virtual file at a path.
    pub(crate) fn virtual_file(&self, path: &WsPath) -> Result<Option<VirtualFile>> {
        match (&self.virtual_files, is_reserved(path)) {
            (Some(files), true) => their_name(path).map_or(Ok(None), |name| files.find(&name)),
            _ => Ok(None),
        }
    }

    /// The text of the virtual file at a path.
    pub(crate) fn virtual_text(&self, path: &WsPath, call: &Call) -> Result<Option<Vec<u8>>> {
        match (&self.virtual_files, is_reserved(path)) {
            (Some(files), true) => {
                their_name(path).map_or(Ok(None), |name| files.text(&name, call))
            }
            _ => Ok(None),
        }
    }

    /// Where a path that is looked at leads, if its links lead to a place of virtual files, or to what
    /// commands said.
    pub(crate) fn leads_to_theirs(&self, asked: &WsPath, spot: &ResolvedPath) -> Option<WsPath> {
        let (ResolvedPath::Present { path, .. } | ResolvedPath::Missing { path }) = spot else {
            return None;
        };
        let chats = self.virtual_files.is_some() && (is_reserved(path) || is_their_folder(path));
        let theirs = chats || path.is_command_output();
        (theirs && path != asked).then(|| path.clone())
    }

    /// Finds what a path means that is about to change: a fault if that is reserved, as it was asked
    /// for or after its links are resolved.
    pub(crate) fn locate_to_change(&self, path: &WsPath, follow: bool) -> Result<ResolvedPath> {
        check_free(path)?;
        let spot = self.disk.locate(path, follow)?;
        if let ResolvedPath::Present { path, .. } | ResolvedPath::Missing { path } = &spot {
            check_free(path)?;
        }
        Ok(spot)
    }

    /// As [`Workspace::locate_to_change`], for what is to leave its place; a link at the end is itself.
    pub(crate) fn locate_to_take(&self, path: &WsPath) -> Result<ResolvedPath> {
        self.check_no_chats_in(path)?;
        self.locate_to_change(path, false)
    }

    /// A fault if a path is the folder of virtual files and there are any: it stays where it is.
    pub(crate) fn check_no_chats_in(&self, path: &WsPath) -> Result<()> {
        if !is_their_folder(path) || !self.shown_below(path)?.are_in(path) {
            return Ok(());
        }
        let message = format!(
            "{path} holds the transcripts of chats, which the system manages: it cannot be moved, removed \
             or replaced. Chats are removed by the chats API (/api/v1/workspaces/{{id}}/chats)"
        );
        Err(Fault::new(FaultCode::BadPath, message).about(Subject::Path))
    }

    /// What is on disk and cannot be seen, because a virtual file or their folder is in its place, or what
    /// commands said.
    pub(crate) fn shadowed(&self) -> Result<Vec<WsPath>> {
        let mut shadowed = vec![output_folder()?];
        if self.disk.stat(&shadowed[0])?.is_none() {
            shadowed.clear();
        }
        shadowed.extend(self.shadowed_by_chats()?);
        Ok(shadowed)
    }

    fn shadowed_by_chats(&self) -> Result<Vec<WsPath>> {
        let Some(files) = &self.virtual_files else { return Ok(Vec::new()) };
        let Ok(folder) = WsPath::root().join_bytes(FOLDER) else { return Ok(Vec::new()) };
        let Some(stat) = self.disk.stat(&folder)? else { return Ok(Vec::new()) };
        if !stat.is(FileKind::Folder) {
            return Ok(if files.newest()?.is_some() { vec![folder] } else { Vec::new() });
        }
        // A folder that cannot be listed shows nothing that could be left out.
        let Ok(listed) = self.disk.list(&folder) else { return Ok(Vec::new()) };
        let mut shadowed = Vec::new();
        for entry in listed.into_iter().filter(|entry| entry.name.ends_with(ENDING)) {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            if self.virtual_file(&path)?.is_some() {
                shadowed.push(path);
            }
        }
        shadowed.sort_unstable();
        Ok(shadowed)
    }

    /// Where what a path names is: in the workspace, or with what commands said.
    pub(crate) fn disk_of(&self, path: &WsPath) -> &Disk {
        if path.is_command_output() { self.spills.disk() } else { &self.disk }
    }

    /// Whether a caller may see what is kept at a path: what a command said may hold anything that its own
    /// caller could read. Whatever is no such output may be seen as far as this goes.
    pub fn may_see_output(&self, path: &WsPath, call: &Call) -> bool {
        let Some(reading) = call.reading() else { return true };
        let name = match path.name() {
            Some(name) if path.is_command_output() && path.parent() != Some(WsPath::root()) => name,
            _ => return true,
        };
        let run = name.as_bytes().split(|byte| *byte == b'.').next();
        let run = run.and_then(|run| std::str::from_utf8(run).ok()?.parse().ok());
        let note = run.and_then(|run| self.spills.noted(run));
        reading.may_see(&note.unwrap_or_default())
    }

    /// Looks at kept output, or the folder of it.
    pub(crate) fn spilled(&self, path: &WsPath) -> Result<EntryStat> {
        self.spills.disk().stat(path)?.ok_or_else(|| not_kept(path))
    }
}
