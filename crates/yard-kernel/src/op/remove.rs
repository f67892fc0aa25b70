//! remove: removes a file, a link or a folder, which can be restored. A folder is removed entry by entry, so that every file
//! below it is a version first.

use yard_core::op::{OnFolder, Remove, Removed};
use yard_core::{Call, Fault, FaultCode, FileKind, Name, Result, Subject, WsPath};
use yard_disk::{EntryKind, is_folder, not_found, special};

use crate::draft::basis::ExpectedEntry;
use crate::lookup::path_faults::root_cannot_change;
use crate::planner::{Current, Large, Planner, join};
use crate::proposal::done_part::DonePart;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Remove {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Removed>> {
        if self.path.is_root() {
            return Err(root_cannot_change());
        }
        let located = workspace.locate_to_move_away(&self.path)?;
        let (path, stat) = located.present().ok_or_else(|| not_found(&self.path))?;
        if let EntryKind::Special(what) = stat.kind {
            return Err(special(&path, what));
        }
        if stat.is(FileKind::Folder) && self.on_folder == OnFolder::Refuse {
            return Err(is_folder(&path));
        }
        let mut planner = Planner::new(workspace, call);
        planner.check_writable_above(&path)?;
        planner.draft.exclusive = stat.is(FileKind::Folder);
        let current = planner.current(&path, Large::Keep)?;
        if stat.is(FileKind::Folder) {
            clear(&mut planner, &current, self.on_folder == OnFolder::WithContents)?;
        }
        planner.remove(&current);
        let removed = planner.draft.changes.iter().filter_map(|change| change.from.clone());
        let paths = removed.collect();
        let answer = Removed { path, file: current.id, was_known: current.was_known, paths };
        planner.propose::<Self>(answer)
    }

    fn answer_for_part(mut answer: Removed, done: &DonePart) -> Removed {
        answer.paths.retain(|path| done.touches(path));
        answer
    }
}

/// Plans that everything below a folder is removed, deepest first. This does not recurse, because a tree may be too deep for
/// the stack of a thread.
fn clear(planner: &mut Planner<'_>, folder: &Current, recursive: bool) -> Result<()> {
    let mut below = Vec::new();
    let mut ahead = vec![folder.clone()];
    while let Some(folder) = ahead.pop() {
        planner.call.check()?;
        for current in entries_of_removed(planner, &folder, recursive)? {
            if current.stat.is(FileKind::Folder) {
                ahead.push(current.clone());
            }
            below.push(current);
        }
    }
    // Folders come before their entries in `below`.
    below.iter().rev().for_each(|current| planner.remove(current));
    Ok(())
}

/// The entries of a folder that is removed.
pub(crate) fn entries_of_removed(
    planner: &mut Planner<'_>,
    folder: &Current,
    recursive: bool,
) -> Result<Vec<Current>> {
    let names = planner.workspace.disk.list(&folder.path)?;
    if !names.is_empty() && !recursive {
        return Err(not_empty(&folder.path, names.len()));
    }
    if !names.is_empty() {
        planner.workspace.stage.check_writable(&planner.workspace.disk, &folder.path)?;
    }
    let inode = folder.stat.signature.inode;
    planner.expect(&folder.path, ExpectedEntry::FolderHolding { inode, names: names.len() });
    let mut names: Vec<Vec<u8>> = names.into_iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    adopt_missing(planner, folder, &names)?;
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        let name =
            Name::new(&name).map_err(|error| unnameable(&folder.path, &error.to_string()))?;
        let current = planner.current(&join(&folder.path, &name)?, Large::Keep)?;
        // Nothing is written to the entry, so that its bytes are not needed.
        entries.push(current.without_bytes());
    }
    Ok(entries)
}

/// Adopts that entries of a folder are no longer on disk.
fn adopt_missing(planner: &mut Planner<'_>, folder: &Current, names: &[Vec<u8>]) -> Result<()> {
    for node in planner.store().children(folder.id)? {
        if names.binary_search_by(|name| name.as_slice().cmp(node.last.name.as_bytes())).is_err() {
            let path = join(&folder.path, &node.last.name)?;
            planner.adopt_gone(&node, &path)?;
        }
    }
    Ok(())
}

fn not_empty(path: &WsPath, entries: usize) -> Fault {
    let entries = if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
    let message = format!("{path} is not empty ({entries}); remove what is in it first");
    Fault::new(FaultCode::NotEmpty, message).about(Subject::Path)
}

fn unnameable(path: &WsPath, why: &str) -> Fault {
    Fault::new(FaultCode::BadPath, format!("an entry of {path} cannot be handled: {why}"))
        .about(Subject::Path)
}
