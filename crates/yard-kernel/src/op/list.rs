//! list: a folder's entries, as deep as asked for; also what is only on disk (W4).

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use yard_core::op::{Depth, Entry, List, ListOrder, Listing};
use yard_core::{Call, Effect, EffectKind, FileId, FileKind, FileType, Name, Result, WsPath};
use yard_disk::{EntryKind, ResolvedPath, not_found};
use yard_search::{Flow, Rules, Visit, Walk, is_tolerable};
use yard_store::Node;

use crate::planner::not_a_folder;
use crate::proposal::{Execute, Planned};
use crate::spilled;
use crate::virtual_files::Shown;
use crate::workspace::Workspace;

impl Execute for List {
    fn asked(&self) -> Vec<WsPath> {
        vec![self.path.clone()]
    }

    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Listing>> {
        let (path, shown) = match self.depth {
            Depth::Own | Depth::Levels(0 | 1) => own_folder_at(workspace, &self.path)?,
            _ => folder_at(workspace, &self.path)?,
        };
        let mut visits = visits(self, workspace, &path, &shown, call)?;
        visits.retain(|visit| call.may_list(&visit.path));
        let linked = linked_folders(workspace, &visits)?;
        let is_folder = |visit: &Visit| is_folder(visit) || linked.contains(&visit.path);
        visits.sort_unstable_by(|a, b| in_order(self.order, is_folder, a, b));
        let total = visits.len();
        let limit = self.limit.unwrap_or(workspace.limits().answer_entries);
        let page: Vec<Visit> = visits.into_iter().skip(self.skip).take(limit).collect();
        let truncated = self.skip + page.len() < total;
        let mut entries = entries(workspace, page, &shown, call)?;
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

/// What an operation that looks at files finds at a path: an entry on disk, a virtual file or the folder of
/// virtual files, or the output of a command.
pub(crate) struct Place {
    pub(crate) path: WsPath,
    pub(crate) is_folder: bool,
    /// The virtual files that are seen from there.
    pub(crate) shown: Shown,
}

/// Finds what is at a path, its links followed.
pub(crate) fn place_at(workspace: &Workspace, path: &WsPath) -> Result<Place> {
    place_showing(workspace, path, Workspace::shown_below)
}

/// As [`place_at`]; `show` says which virtual files are seen from a folder.
fn place_showing(
    workspace: &Workspace,
    path: &WsPath,
    show: fn(&Workspace, &WsPath) -> Result<Shown>,
) -> Result<Place> {
    if path.is_command_output() {
        let is_folder = workspace.spilled(path)?.is(FileKind::Folder);
        return Ok(Place { path: path.clone(), is_folder, shown: Shown::default() });
    }
    if let Some(file) = workspace.virtual_file(path)? {
        return Ok(Place { path: path.clone(), is_folder: false, shown: Shown::only(file) });
    }
    let shown = show(workspace, path)?;
    if shown.are_in(path) {
        return Ok(Place { path: path.clone(), is_folder: true, shown });
    }
    let spot = workspace.disk.locate(path, true)?;
    if let Some(led) = workspace.leads_to_theirs(path, &spot) {
        return place_showing(workspace, &led, show);
    }
    let (found, stat) = match spot {
        ResolvedPath::Present { path, stat } => (path, stat),
        ResolvedPath::Missing { .. } | ResolvedPath::Blocked { .. } => return Err(not_found(path)),
    };
    let shown = if found == *path { shown } else { show(workspace, &found)? };
    Ok(Place { path: found, is_folder: stat.is(FileKind::Folder), shown })
}

/// The folder that a path means, and the virtual files that are seen from it.
pub(crate) fn folder_at(workspace: &Workspace, path: &WsPath) -> Result<(WsPath, Shown)> {
    folder_of(place_at(workspace, path)?)
}

/// As [`folder_at`], for one whose own entries alone are shown.
pub(crate) fn own_folder_at(workspace: &Workspace, path: &WsPath) -> Result<(WsPath, Shown)> {
    folder_of(place_showing(workspace, path, Workspace::shown_in)?)
}

fn folder_of(place: Place) -> Result<(WsPath, Shown)> {
    let Place { path, is_folder, shown } = place;
    if is_folder { Ok((path, shown)) } else { Err(not_a_folder(&path)) }
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

/// A link to a folder, as it is listed: it is still a link, of the folder's type.
pub(crate) fn as_folder(entry: Entry) -> Entry {
    Entry { file_type: FileType::Folder, size: None, ..entry }
}

impl Workspace {
    /// Whether an entry is a folder, or a link to one in the workspace.
    pub(crate) fn is_folder(&self, visit: &Visit) -> Result<bool> {
        if visit.kind != EntryKind::Known(FileKind::Link) || visit.path.is_command_output() {
            return Ok(is_folder(visit));
        }
        match self.disk.locate(&visit.path, true) {
            Ok(ResolvedPath::Present { stat, .. }) => Ok(stat.is(FileKind::Folder)),
            // One that leads to nothing, leaves the workspace or goes where nobody may is listed as a file.
            Ok(ResolvedPath::Missing { .. } | ResolvedPath::Blocked { .. }) | Err(_) => Ok(false),
        }
    }
}

fn visits(
    list: &List,
    workspace: &Workspace,
    path: &WsPath,
    shown: &Shown,
    call: &Call,
) -> Result<Vec<Visit>> {
    let mut visits = match list.depth {
        Depth::Own | Depth::Levels(0 | 1) => own(workspace, path, shown)?,
        Depth::Levels(levels) => levels_of(workspace, path, levels, shown, call)?,
        Depth::All => {
            let mut all = Vec::new();
            let rules = Rules { recursive: true, include_ignored: true };
            let listing = shown.listing();
            Walk::new(workspace.disk_of(path), call, rules).showing(&listing).run(
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
pub(crate) fn own(workspace: &Workspace, path: &WsPath, shown: &Shown) -> Result<Vec<Visit>> {
    let disk = workspace.disk_of(path);
    let listed = match disk.list(path) {
        // Their folder need not be on disk.
        Err(_) if shown.are_in(path) => None,
        listed => Some(listed?),
    };
    let mut visits = Vec::new();
    for entry in shown.among(path, listed).unwrap_or_default() {
        let Ok(below) = path.join_bytes(&entry.name) else { continue };
        let kind = match entry.kind {
            Some(kind) => Some(kind),
            None => disk.stat(&below)?.map(|stat| stat.kind),
        };
        visits.extend(kind.map(|kind| Visit { path: below, kind }));
    }
    Ok(visits)
}

/// The entries of a folder and of so many levels below it.
fn levels_of(
    workspace: &Workspace,
    path: &WsPath,
    levels: u32,
    shown: &Shown,
    call: &Call,
) -> Result<Vec<Visit>> {
    let mut all = own(workspace, path, shown)?;
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
            match own(workspace, &folder, shown) {
                Ok(entries) => all.extend(entries),
                // What vanished or may not be read is not in the answer.
                Err(fault) if is_tolerable(fault.code()) => {}
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

/// The place of an entry in a listing.
fn in_order(
    order: ListOrder,
    is_folder: impl Fn(&Visit) -> bool,
    a: &Visit,
    b: &Visit,
) -> Ordering {
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

/// Folders name by name: a slash is no letter that sorts.
fn by_names(a: Option<&WsPath>, b: Option<&WsPath>) -> Ordering {
    let names = |path: Option<&WsPath>| path.map(|path| path.names().collect::<Vec<_>>());
    names(a).cmp(&names(b))
}

/// Entries with their metadata; what vanished meanwhile is left out.
pub(crate) fn entries(
    workspace: &Workspace,
    visits: Vec<Visit>,
    shown: &Shown,
    call: &Call,
) -> Result<Vec<Entry>> {
    let Some(first) = visits.first() else { return Ok(Vec::new()) };
    // The output of commands is listed on its own, so that all of them are on one disk.
    let mut stats = workspace.disk_of(&first.path).stats();
    let mut lookup = Lookup::new(workspace);
    let mut entries = Vec::with_capacity(visits.len());
    for Visit { path, .. } in visits {
        call.check()?;
        let stat = if shown.holds(&path) { None } else { stats.stat(&path)? };
        if let Some(entry) = shown.entry(&path, stat.as_ref()) {
            entries.push(entry);
            continue;
        }
        let Some(stat) = stat else { continue };
        if path.is_command_output() {
            entries.push(spilled::entry(path, &stat));
            continue;
        }
        let known = workspace.judge(lookup.node(&path)?, &path, &stat, None, call)?;
        entries.push(workspace.entry(path, &stat, &known));
    }
    Ok(entries)
}

/// Looks up many nodes, a folder's children at once when more than a few of them are wanted.
pub(crate) struct Lookup<'a> {
    workspace: &'a Workspace,
    folders: HashMap<WsPath, Option<FileId>>,
    at: Option<Children>,
}

struct Children {
    folder: WsPath,
    asked: usize,
    all: Option<HashMap<Name, Node>>,
}

/// More than a page of an answer: loading a large folder costs as much as thousands of single look-ups.
const FEW: usize = 128;

impl<'a> Lookup<'a> {
    pub(crate) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, folders: HashMap::new(), at: None }
    }

    /// The living node at a path.
    pub(crate) fn node(&mut self, path: &WsPath) -> Result<Option<Node>> {
        let (Some(folder), Some(name)) = (path.parent(), path.name()) else { return Ok(None) };
        let Some(parent) = self.folder(&folder)? else { return Ok(None) };
        let store = self.workspace.store();
        if self.at.as_ref().is_none_or(|at| at.folder != folder) {
            self.at = Some(Children { folder, asked: 0, all: None });
        }
        let Some(at) = &mut self.at else { return Ok(None) };
        at.asked += 1;
        if let Some(all) = &mut at.all {
            return Ok(all.remove(&name));
        }
        if at.asked <= FEW {
            return Ok(store.child(parent, &name)?);
        }
        let children = store.children(parent)?;
        let mut all: HashMap<Name, Node> =
            children.into_iter().map(|node| (node.last.name.clone(), node)).collect();
        let found = all.remove(&name);
        at.all = Some(all);
        Ok(found)
    }

    fn folder(&mut self, path: &WsPath) -> Result<Option<FileId>> {
        if let Some(known) = self.folders.get(path) {
            return Ok(*known);
        }
        let mut id = Some(FileId::ROOT);
        for folder in path.lineage() {
            id = match (self.folders.get(&folder), id, folder.name()) {
                (Some(known), ..) => *known,
                (None, Some(parent), Some(name)) => {
                    let node = self.workspace.store().child(parent, &name)?;
                    node.map(|node| node.id)
                }
                _ => None,
            };
            self.folders.insert(folder, id);
        }
        Ok(id)
    }
}
