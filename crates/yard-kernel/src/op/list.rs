//! list: a folder's entries, to the requested depth, including entries that only the disk has (W4).

use std::cmp::Ordering;
use std::collections::HashSet;

use yard_core::op::{Depth, Entry, List, ListOrder, Listing};
use yard_core::{Call, Effect, EffectKind, FileKind, FileType, Result, WsPath};
use yard_disk::{EntryKind, ResolvedPath};
use yard_search::{Flow, Visit, Walk, WalkOptions, is_unreadable};

use crate::lookup::node_lookup::NodeLookup;
use crate::lookup::read_target::{folder_at, own_folder_at};
use crate::proposal::{Execute, Planned};
use crate::virtual_files::VirtualEntries;
use crate::virtual_files::command_output;
use crate::workspace::Workspace;

impl Execute for List {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Listing>> {
        let (path, virtuals) = match self.depth {
            Depth::Own | Depth::Levels(0 | 1) => own_folder_at(workspace, &self.path)?,
            _ => folder_at(workspace, &self.path)?,
        };
        let mut visits = visits(self, workspace, &path, &virtuals, call)?;
        visits.retain(|visit| call.may_list(&visit.path));
        let linked = linked_folders(workspace, &visits)?;
        let is_folder = |visit: &Visit| is_folder(visit) || linked.contains(&visit.path);
        visits.sort_unstable_by(|a, b| compare(self.order, is_folder, a, b));
        let total = visits.len();
        let limit = self.limit.unwrap_or(workspace.limits().answer_entries);
        let page: Vec<Visit> = visits.into_iter().skip(self.skip).take(limit).collect();
        let truncated = self.skip + page.len() < total;
        let mut entries = entries(workspace, page, &virtuals, call)?;
        for entry in entries.iter_mut().filter(|entry| linked.contains(&entry.path)) {
            *entry = as_folder(entry.clone());
        }
        let mut effect = Effect::one(EffectKind::List, path.clone());
        if self.depth != Depth::Own {
            effect = effect.with_contents();
        }
        Ok(Planned::Answer { effect, answer: Listing { path, entries, total, truncated } })
    }
}

fn is_folder(visit: &Visit) -> bool {
    visit.kind.known() == Some(FileKind::Folder)
}

/// The links among these that lead to a folder in the workspace: they are listed as folders (R3).
fn linked_folders(workspace: &Workspace, visits: &[Visit]) -> Result<HashSet<WsPath>> {
    let mut linked = HashSet::new();
    for visit in visits.iter().filter(|visit| visit.kind == EntryKind::Known(FileKind::Link)) {
        if workspace.is_folder(visit)? {
            linked.insert(visit.path.clone());
        }
    }
    Ok(linked)
}

/// The entry of a link to a folder: its kind is link, and its type is folder.
pub(crate) fn as_folder(entry: Entry) -> Entry {
    Entry { file_type: FileType::Folder, size: None, ..entry }
}

impl Workspace {
    /// Whether an entry is a folder, or a link to one in the workspace.
    pub(crate) fn is_folder(&self, visit: &Visit) -> Result<bool> {
        if visit.kind != EntryKind::Known(FileKind::Link) || visit.path.is_command_output() {
            return Ok(is_folder(visit));
        }
        // A link that is broken, leaves the workspace or may not be followed is listed as a file.
        let target = self.disk.locate(&visit.path, true).ok().and_then(ResolvedPath::present);
        Ok(target.is_some_and(|(_, stat)| stat.is(FileKind::Folder)))
    }
}

fn visits(
    list: &List,
    workspace: &Workspace,
    path: &WsPath,
    virtuals: &VirtualEntries,
    call: &Call,
) -> Result<Vec<Visit>> {
    let mut visits = match list.depth {
        Depth::Own | Depth::Levels(0 | 1) => own(workspace, path, virtuals)?,
        Depth::Levels(levels) => levels_of(workspace, path, levels, virtuals, call)?,
        Depth::All => {
            let mut all = Vec::new();
            let options = WalkOptions { recursive: true, include_ignored: true };
            let view = virtuals.view();
            Walk::new(workspace.disk_of(path), call, options).viewing(&view).run(
                path,
                &mut |visit| {
                    all.push(visit);
                    Ok(Flow::Continue(()))
                },
            )?;
            all
        }
    };
    if !list.hidden {
        let above = path.relative().len();
        visits.retain(|visit| !is_hidden(&visit.path.relative()[above..]));
    }
    Ok(visits)
}

/// Whether any name of a path begins with a dot.
fn is_hidden(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name.starts_with(b"."))
}

/// A folder's own entries.
pub(crate) fn own(
    workspace: &Workspace,
    path: &WsPath,
    virtuals: &VirtualEntries,
) -> Result<Vec<Visit>> {
    let disk = workspace.disk_of(path);
    let listed = match disk.list(path) {
        // The folder of virtual files need not be on disk.
        Err(_) if virtuals.are_in(path) => None,
        listed => Some(listed?),
    };
    let mut visits = Vec::new();
    for entry in virtuals.merged_with(path, listed).unwrap_or_default() {
        let Ok(below) = path.join_bytes(&entry.name) else { continue };
        let kind = match entry.kind {
            Some(kind) => Some(kind),
            None => disk.stat(&below)?.map(|stat| stat.kind),
        };
        visits.extend(kind.map(|kind| Visit { path: below, kind, ignored: 0 }));
    }
    Ok(visits)
}

/// The entries of a folder and of so many levels below it.
fn levels_of(
    workspace: &Workspace,
    path: &WsPath,
    levels: u32,
    virtuals: &VirtualEntries,
    call: &Call,
) -> Result<Vec<Visit>> {
    let mut all = own(workspace, path, virtuals)?;
    let mut level = 0..all.len();
    for _ in 1..levels {
        let folders: Vec<WsPath> = all[level.clone()]
            .iter()
            .filter(|visit| is_folder(visit) && !is_git(visit))
            .map(|visit| visit.path.clone())
            .collect();
        if folders.is_empty() {
            break;
        }
        level.start = all.len();
        for folder in folders {
            call.check()?;
            match own(workspace, &folder, virtuals) {
                Ok(entries) => all.extend(entries),
                // A folder that vanished or may not be read is left out.
                Err(fault) if is_unreadable(fault.code()) => {}
                Err(fault) => return Err(fault),
            }
        }
        level.end = all.len();
    }
    all.retain(|visit| !is_git(visit));
    Ok(all)
}

fn is_git(visit: &Visit) -> bool {
    visit.path.name().is_some_and(|name| name.as_bytes() == b".git")
}

/// Compares two entries by their place in a listing.
fn compare(order: ListOrder, is_folder: impl Fn(&Visit) -> bool, a: &Visit, b: &Visit) -> Ordering {
    let folders_first = |a: &Visit, b: &Visit| (!is_folder(a)).cmp(&!is_folder(b));
    match order {
        ListOrder::FoldersFirst => folders_first(a, b).then_with(|| a.path.cmp(&b.path)),
        ListOrder::BreadthFirst => {
            let (above, beside) = (a.path.parent(), b.path.parent());
            let depth = |path: &WsPath| path.names().count();
            depth(&a.path)
                .cmp(&depth(&b.path))
                .then_with(|| by_names(above.as_ref(), beside.as_ref()))
                .then_with(|| folders_first(a, b))
                .then_with(|| a.path.cmp(&b.path))
        }
    }
}

/// Compares two folders name by name, so that the slash has no place in the order.
fn by_names(a: Option<&WsPath>, b: Option<&WsPath>) -> Ordering {
    let names = |path: Option<&WsPath>| path.map(|path| path.names().collect::<Vec<_>>());
    names(a).cmp(&names(b))
}

/// Entries with their metadata, without those that vanished meanwhile.
pub(crate) fn entries(
    workspace: &Workspace,
    visits: Vec<Visit>,
    virtuals: &VirtualEntries,
    call: &Call,
) -> Result<Vec<Entry>> {
    let Some(first) = visits.first() else { return Ok(Vec::new()) };
    // Command output is never in one listing with other entries, so that all entries are on one disk.
    let mut stats = workspace.disk_of(&first.path).stats();
    let mut lookup = NodeLookup::new(workspace);
    let mut entries = Vec::with_capacity(visits.len());
    for Visit { path, .. } in visits {
        call.check()?;
        let stat = if virtuals.contain(&path) { None } else { stats.stat(&path)? };
        if let Some(entry) = virtuals.entry(&path, stat.as_ref()) {
            entries.push(entry);
            continue;
        }
        let Some(stat) = stat else { continue };
        if path.is_command_output() {
            entries.push(command_output::entry(path, &stat));
            continue;
        }
        let state = workspace.sync_state_of(lookup.take(&path)?, &path, &stat, None, call)?;
        entries.push(workspace.entry(path, &stat, &state));
    }
    Ok(entries)
}
