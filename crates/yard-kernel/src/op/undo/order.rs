//! The order in which changes are reversed, so that every path is the one that its entry has now: what happens inside of a
//! folder happens before the folder moves; a place is vacated before something comes to it; folders come back before
//! what comes back into them, and go after what goes from them. Otherwise the newest change is reversed first.

use std::collections::{BinaryHeap, HashMap};

use yard_core::op::ChangeSummary;
use yard_core::{FileId, FileKind, FileState, Result, WsPath};
use yard_store::{Change, Seq, Store};

/// All changes of one file, as one.
pub(super) struct FileChanges {
    pub(super) change: Change,
    /// When the last one was made: the step, and its place there.
    pub(super) last: (Seq, usize),
}

/// Whether a change moves a folder.
pub(super) fn moves_folder(change: &Change) -> bool {
    let is_folder = change.before.as_ref().is_some_and(|state| state.kind == FileKind::Folder);
    is_folder && change.summary() == ChangeSummary::Moved
}

/// One change that is to be reversed.
struct Item {
    change: Change,
    last: (Seq, usize),
    /// Where the entry is now, if it is there.
    now: Option<WsPath>,
    /// Where the entry comes to, if it moves or comes back.
    target: Option<Target>,
}

/// Where an entry comes to.
struct Target {
    path: WsPath,
    /// The nearest folder above it that is there now.
    living_folder: WsPath,
}

impl Item {
    fn comes_back(&self) -> bool {
        self.change.after.is_none()
    }

    fn goes(&self) -> bool {
        self.change.before.is_none()
    }

    fn moves(&self) -> bool {
        self.change.summary() == ChangeSummary::Moved
    }
}

/// The changes in the order in which they are reversed.
pub(super) fn order_of_reversal(
    store: &dyn Store,
    files: HashMap<FileId, FileChanges>,
) -> Result<Vec<Change>> {
    let changed = files.into_values().filter(|file| file.change.before != file.change.after);
    let mut items = changed
        .map(|FileChanges { change, last }| {
            let now = match change.after {
                Some(_) => store.path_of(change.file)?,
                None => None,
            };
            Ok(Item { change, last, now, target: None })
        })
        .collect::<Result<Vec<_>>>()?;
    // Ties do not depend on the order of a hash map.
    items.sort_by_key(|item| item.last);
    let by_file: HashMap<FileId, usize> =
        items.iter().enumerate().map(|(at, item)| (item.change.file, at)).collect();
    for at in 0..items.len() {
        if items[at].comes_back() || items[at].moves() {
            items[at].target = target(store, &items, &by_file, at)?;
        }
    }
    let constraints = Constraints::of(&items, &by_file);
    Ok(constraints.sorted(items))
}

/// Where an entry comes to, in folders that come back too; `None` if there is no place for it.
fn target(
    store: &dyn Store,
    items: &[Item],
    by_file: &HashMap<FileId, usize>,
    at: usize,
) -> Result<Option<Target>> {
    let Some(state) = &items[at].change.before else { return Ok(None) };
    let mut names = vec![&state.name];
    let mut highest = state;
    for above in folders_that_come_back(items, by_file, state) {
        names.push(&above.name);
        highest = above;
    }
    let Some(living_folder) = store.path_of(highest.parent)? else { return Ok(None) };
    let path =
        names.into_iter().rev().try_fold(living_folder.clone(), |path, name| path.join(name));
    Ok(path.ok().map(|path| Target { path, living_folder }))
}

/// The folders above an entry that come back with it, from the lowest upwards.
fn folders_that_come_back<'a>(
    items: &'a [Item],
    by_file: &'a HashMap<FileId, usize>,
    state: &'a FileState,
) -> impl Iterator<Item = &'a FileState> {
    let above = move |state: &&'a FileState| {
        let folder = &items[*by_file.get(&state.parent)?];
        folder.change.before.as_ref().filter(|_| folder.comes_back())
    };
    // No chain of folders is longer than the list of items.
    std::iter::successors(above(&state), above).take(items.len())
}

/// Which items have to come after which.
struct Constraints {
    /// By item, those that come after it.
    later: Vec<Vec<usize>>,
    /// By item, how many have to come before it.
    missing: Vec<usize>,
}

impl Constraints {
    fn of(items: &[Item], by_file: &HashMap<FileId, usize>) -> Self {
        let mut constraints =
            Self { later: vec![Vec::new(); items.len()], missing: vec![0; items.len()] };
        let mut vacated: HashMap<&WsPath, usize> = HashMap::new();
        for (at, item) in items.iter().enumerate().filter(|(_, item)| item.goes() || item.moves()) {
            vacated.extend(item.now.as_ref().map(|now| (now, at)));
        }
        let moved_folder = |path: &WsPath| {
            vacated.get(path).copied().filter(|at| moves_folder(&items[*at].change))
        };
        for (at, item) in items.iter().enumerate() {
            for above in item.now.iter().flat_map(WsPath::ancestors) {
                constraints.add(Some(at), moved_folder(&above));
            }
            let going_from = item.change.after.as_ref().filter(|_| item.goes() || item.moves());
            let emptied = going_from.and_then(|state| by_file.get(&state.parent).copied());
            constraints.add(Some(at), emptied.filter(|folder| items[*folder].goes()));
            let (Some(target), Some(state)) = (&item.target, &item.change.before) else { continue };
            constraints.add(vacated.get(&target.path).copied(), Some(at));
            let folder = by_file.get(&state.parent).copied();
            constraints.add(folder.filter(|folder| items[*folder].comes_back()), Some(at));
            for above in target.living_folder.lineage() {
                constraints.add(Some(at), moved_folder(&above));
            }
        }
        constraints
    }

    /// Adds that one item comes before another one.
    fn add(&mut self, before: Option<usize>, after: Option<usize>) {
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            self.later[before].push(after);
            self.missing[after] += 1;
        }
    }

    /// The changes sorted: of those that can come next, the newest one. In a ring, which no order satisfies, it is the
    /// newest one, too.
    fn sorted(mut self, items: Vec<Item>) -> Vec<Change> {
        let mut ready: BinaryHeap<usize> =
            (0..items.len()).filter(|at| self.missing[*at] == 0).collect();
        let mut rest: Vec<Option<Change>> =
            items.into_iter().map(|item| Some(item.change)).collect();
        let mut sorted = Vec::with_capacity(rest.len());
        loop {
            let next = ready.pop().or_else(|| rest.iter().rposition(Option::is_some));
            let Some(next) = next else { return sorted };
            let Some(change) = rest[next].take() else { continue };
            sorted.push(change);
            for later in std::mem::take(&mut self.later[next]) {
                self.missing[later] = self.missing[later].saturating_sub(1);
                if self.missing[later] == 0 {
                    ready.push(later);
                }
            }
        }
    }
}
