//! The entry that a reading operation finds at a path: one on disk, a virtual file, their folder, or command output.

use yard_core::{FileKind, Result, WsPath};
use yard_disk::not_found;

use crate::lookup::path_faults::not_a_folder;
use crate::virtual_files::VirtualEntries;
use crate::workspace::Workspace;

/// An entry that can be read.
pub(crate) struct ReadTarget {
    pub(crate) path: WsPath,
    pub(crate) is_folder: bool,
    /// The virtual files that are visible from there.
    pub(crate) virtuals: VirtualEntries,
}

/// Finds the entry at a path, with links followed.
pub(crate) fn read_target(workspace: &Workspace, path: &WsPath) -> Result<ReadTarget> {
    read_target_showing(workspace, path, Workspace::virtual_entries_below)
}

/// As [`read_target`]; `show` says which virtual files are visible from a folder.
fn read_target_showing(
    workspace: &Workspace,
    path: &WsPath,
    show: fn(&Workspace, &WsPath) -> Result<VirtualEntries>,
) -> Result<ReadTarget> {
    if path.is_command_output() {
        let is_folder = workspace.stat_command_output(path)?.is(FileKind::Folder);
        return Ok(ReadTarget {
            path: path.clone(),
            is_folder,
            virtuals: VirtualEntries::default(),
        });
    }
    if let Some(file) = workspace.virtual_file(path)? {
        let virtuals = VirtualEntries::single(file);
        return Ok(ReadTarget { path: path.clone(), is_folder: false, virtuals });
    }
    let virtuals = show(workspace, path)?;
    if virtuals.are_in(path) {
        return Ok(ReadTarget { path: path.clone(), is_folder: true, virtuals });
    }
    let spot = workspace.disk.locate(path, true)?;
    if let Some(led) = workspace.virtual_target(path, &spot) {
        return read_target_showing(workspace, &led, show);
    }
    let (found, stat) = spot.present().ok_or_else(|| not_found(path))?;
    let virtuals = if found == *path { virtuals } else { show(workspace, &found)? };
    Ok(ReadTarget { path: found, is_folder: stat.is(FileKind::Folder), virtuals })
}

/// The folder at a path, and the virtual files that are visible from it.
pub(crate) fn folder_at(workspace: &Workspace, path: &WsPath) -> Result<(WsPath, VirtualEntries)> {
    folder_of(read_target(workspace, path)?)
}

/// As [`folder_at`], for a listing of only the folder's own entries.
pub(crate) fn own_folder_at(
    workspace: &Workspace,
    path: &WsPath,
) -> Result<(WsPath, VirtualEntries)> {
    folder_of(read_target_showing(workspace, path, Workspace::virtual_entries_in)?)
}

fn folder_of(place: ReadTarget) -> Result<(WsPath, VirtualEntries)> {
    let ReadTarget { path, is_folder, virtuals } = place;
    if is_folder { Ok((path, virtuals)) } else { Err(not_a_folder(&path)) }
}
