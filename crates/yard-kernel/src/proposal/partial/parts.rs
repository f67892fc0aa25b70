//! The parts into which a draft can be divided, the paths that name them, and which of them need which others.

use std::collections::{HashMap, HashSet};

use yard_core::diff::TextHunks;
use yard_core::{Fault, FaultCode, FileId, FileKind, Result, Subject, WsPath, git};
use yard_store::NewChange;

use crate::contents::build_output;
use crate::draft::Draft;
use crate::proposal::preview::is_internal_to_git;

/// Most parts that a fault names.
const MAX_NAMED: usize = 20;

/// What happens to one file.
struct Unit<'a> {
    file: FileId,
    first: &'a NewChange,
    last: &'a NewChange,
    changes: usize,
    /// The path under which it is listed.
    name: WsPath,
    /// The other paths by which it is chosen.
    other_names: Vec<WsPath>,
}

/// The parts of a draft.
pub(super) struct Parts<'a> {
    units: Vec<Unit<'a>>,
    by_name: HashMap<WsPath, Vec<usize>>,
    /// The units that make a folder, by the folder.
    made: HashMap<FileId, usize>,
    /// The units whose entry leaves a folder that the draft removes, by the folder.
    leaving: HashMap<FileId, Vec<usize>>,
    is_one_move: bool,
}

impl Unit<'_> {
    /// The path to which an entry comes.
    fn arrives(&self) -> Option<&WsPath> {
        self.last.to.as_ref().filter(|to| self.first.from.as_ref() != Some(to))
    }

    /// The path that an entry leaves.
    fn vacates(&self) -> Option<&WsPath> {
        self.first.from.as_ref().filter(|from| self.last.to.as_ref() != Some(from))
    }

    fn is_folder(&self) -> bool {
        let state = self.first.before.as_ref().or(self.last.after.as_ref());
        state.is_some_and(|state| state.kind == FileKind::Folder)
    }

    fn makes_folder(&self) -> bool {
        self.first.before.is_none() && self.is_folder()
    }

    fn removes_folder(&self) -> bool {
        self.last.after.is_none() && self.is_folder()
    }

    fn moves_folder(&self) -> bool {
        self.is_folder() && self.vacates().is_some() && self.last.to.is_some()
    }

    fn is_within(&self, folder: &WsPath) -> bool {
        let own = [&self.first.from, &self.first.to, &self.last.from, &self.last.to];
        own.into_iter().flatten().any(|path| path.is_within(folder))
    }
}

impl<'a> Parts<'a> {
    pub(super) fn of(draft: &'a Draft) -> Self {
        let (mut units, mut by_file) = (Vec::<Unit<'a>>::new(), HashMap::new());
        for change in &draft.changes {
            let at = *by_file.entry(change.file).or_insert(units.len());
            match units.get_mut(at) {
                Some(unit) => (unit.last, unit.changes) = (change, unit.changes + 1),
                None => units.push(Unit {
                    file: change.file,
                    first: change,
                    last: change,
                    changes: 1,
                    name: WsPath::root(),
                    other_names: Vec::new(),
                }),
            }
        }
        let mut by_name: HashMap<WsPath, Vec<usize>> = HashMap::new();
        let mut made: HashMap<FileId, usize> = HashMap::new();
        let mut leaving: HashMap<FileId, Vec<usize>> = HashMap::new();
        for (at, unit) in units.iter_mut().enumerate() {
            (unit.name, unit.other_names) = names_of(draft, unit);
            for name in std::iter::once(&unit.name).chain(&unit.other_names) {
                by_name.entry(name.clone()).or_default().push(at);
            }
            if unit.makes_folder() {
                made.insert(unit.file, at);
            }
            let before = unit.first.before.as_ref().map(|before| before.parent);
            let after = unit.last.after.as_ref().map(|after| after.parent);
            if let Some(folder) = before.filter(|_| before != after) {
                leaving.entry(folder).or_default().push(at);
            }
        }
        Self { units, by_name, made, leaving, is_one_move: draft.is_one_move }
    }

    pub(super) fn file(&self, unit: usize) -> FileId {
        self.units[unit].file
    }

    /// The one change of these units, if there is only one.
    pub(super) fn single_change(&self, units: &[usize]) -> Option<(FileId, &'a NewChange)> {
        match units {
            [unit] => {
                let unit = self.units.get(*unit).filter(|unit| unit.changes == 1)?;
                Some((unit.file, unit.first))
            }
            _ => None,
        }
    }

    /// The units that a path names; a fault that lists what there is. `hunks_of` finds the hunks of a change.
    pub(super) fn at(
        &self,
        path: &WsPath,
        hunks_of: impl Fn(&NewChange) -> Result<Option<(Vec<u8>, TextHunks)>>,
    ) -> Result<&[usize]> {
        if let Some(units) = self.by_name.get(path) {
            return Ok(units);
        }
        let (mut listed, mut seen) = (Vec::new(), HashSet::new());
        for unit in self.units.iter().filter(|unit| seen.insert(&unit.name)).take(MAX_NAMED) {
            let hunks = if unit.changes == 1 { hunks_of(unit.first)? } else { None };
            listed.push(match hunks {
                Some((_, hunks)) => format!("{} ({})", unit.name, in_words(hunks.count())),
                None => unit.name.to_string(),
            });
        }
        let all: HashSet<&WsPath> = self.units.iter().map(|unit| &unit.name).collect();
        let more = match all.len() - listed.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let message = format!("nothing changes at {path}. There is: {}{more}", listed.join(", "));
        Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Path))
    }

    /// The chosen units with the new folders that they need, and without the folders that cannot be removed because
    /// something in them stays. The fault names what has to be chosen too.
    pub(super) fn complete(&self, mut kept: HashSet<usize>) -> Result<HashSet<usize>> {
        if self.is_one_move && kept.len() < self.units.len() {
            return Err(one_move());
        }
        for mut at in kept.clone() {
            while let Some(folder) =
                self.units[at].last.after.as_ref().and_then(|after| self.made.get(&after.parent))
            {
                if !kept.insert(*folder) {
                    break;
                }
                at = *folder;
            }
        }
        self.drop_folders_that_stay(&mut kept);
        self.check_places(&kept)?;
        self.check_moved_folders(&kept)?;
        match kept.is_empty() {
            true => Err(nothing_chosen()),
            false => Ok(kept),
        }
    }

    /// Leaves out the removal of each folder in which something stays.
    fn drop_folders_that_stay(&self, kept: &mut HashSet<usize>) {
        let removed = self.units.iter().enumerate().filter(|(_, unit)| unit.removes_folder());
        let removed: Vec<(usize, &Vec<usize>)> =
            removed.filter_map(|(at, unit)| Some((at, self.leaving.get(&unit.file)?))).collect();
        // A folder that stays makes the one above it stay.
        loop {
            let before = kept.len();
            for (at, inside) in &removed {
                if inside.iter().any(|unit| !kept.contains(unit)) {
                    kept.remove(at);
                }
            }
            if kept.len() == before {
                return;
            }
        }
    }

    /// A fault if an entry would come to a path that a refused change would have vacated.
    fn check_places(&self, kept: &HashSet<usize>) -> Result<()> {
        let refused = self.units.iter().enumerate().filter(|(at, _)| !kept.contains(at));
        let occupied: HashSet<&WsPath> = refused.filter_map(|(_, unit)| unit.vacates()).collect();
        if occupied.is_empty() {
            return Ok(());
        }
        for unit in kept.iter().filter_map(|at| self.units.get(*at)) {
            let Some(to) = unit.arrives() else { continue };
            if let Some(at) = to.lineage().iter().find(|above| occupied.contains(above)) {
                return Err(needs(&unit.name, at));
            }
        }
        Ok(())
    }

    /// A fault if a folder would be moved without what happens in it, or that without the folder.
    fn check_moved_folders(&self, kept: &HashSet<usize>) -> Result<()> {
        for (at, moved) in self.units.iter().enumerate().filter(|(_, unit)| unit.moves_folder()) {
            let places = [moved.first.from.as_ref(), moved.last.to.as_ref()];
            for (other, unit) in self.units.iter().enumerate() {
                let is_inside = places.into_iter().flatten().any(|place| unit.is_within(place));
                if is_inside && kept.contains(&at) != kept.contains(&other) {
                    let (one, two) = (&moved.name, &unit.name);
                    return Err(if kept.contains(&at) { needs(one, two) } else { needs(two, one) });
                }
            }
        }
        Ok(())
    }

    /// The names of what is not kept, each once, in the order of the changes.
    pub(super) fn refused(&self, kept: &HashSet<usize>) -> Vec<WsPath> {
        let mut seen = HashSet::new();
        let refused = self.units.iter().enumerate().filter(|(at, _)| !kept.contains(at));
        let names = refused.map(|(_, unit)| &unit.name);
        names.filter(|name| seen.insert((*name).clone())).cloned().collect()
    }
}

/// The path under which a unit is listed, and the others by which it is chosen.
fn names_of(draft: &Draft, unit: &Unit<'_>) -> (WsPath, Vec<WsPath>) {
    let mut own: Vec<WsPath> = unit.last.to.iter().chain(&unit.first.from).cloned().collect();
    own.dedup();
    let path = own.first().cloned().unwrap_or_else(WsPath::root);
    // What is not shown one by one is listed as one.
    if draft.files.build_outputs.contains(&unit.file) {
        let folder = build_output::folder_of(&path).unwrap_or_else(|| path.clone());
        own.retain(|own| *own != folder);
        return (folder, own);
    }
    match git::repository(&path).filter(|_| is_internal_to_git(unit.last)) {
        // Git's objects, refs and index are consistent only together.
        Some(repository) => (repository, Vec::new()),
        None => (path, own.split_off(1.min(own.len()))),
    }
}

fn in_words(hunks: usize) -> String {
    match hunks {
        1 => "hunk 0".to_owned(),
        count => format!("hunks 0 to {}", count.saturating_sub(1)),
    }
}

/// The fault for a path that is chosen more than once.
pub(super) fn named_twice(path: &WsPath) -> Fault {
    let message =
        format!("{path} is chosen twice: name it once, with all of its hunks that are to be done");
    Fault::new(FaultCode::BadArgument, message).about(Subject::Path)
}

/// The fault for hunks of something that is decided whole.
pub(super) fn decided_whole(path: &WsPath) -> Fault {
    let message = format!(
        "{path} is decided whole, because its diff has no hunks of text: leave `hunks` out for it"
    );
    Fault::new(FaultCode::BadArgument, message).about(Subject::Path)
}

/// The fault for an index without a hunk.
pub(super) fn no_such_hunk(path: &WsPath, count: usize) -> Fault {
    let message = format!(
        "{path} has {}: name at least one of them, or leave `hunks` out for all",
        in_words(count)
    );
    Fault::new(FaultCode::BadArgument, message).about(Subject::Path)
}

fn one_move() -> Fault {
    let message = "a move is done as a whole: choose both of its paths without `hunks`, or deny it";
    Fault::new(FaultCode::BadArgument, message).about(Subject::Path)
}

fn needs(path: &WsPath, other: &WsPath) -> Fault {
    let message = format!(
        "{path} cannot be done without what happens to {other}: choose that too, or leave {path} out"
    );
    Fault::new(FaultCode::BadArgument, message).about(Subject::Path)
}

fn nothing_chosen() -> Fault {
    let message =
        "of these parts nothing would be done: choose at least one that is, or deny the request";
    Fault::new(FaultCode::BadArgument, message).about(Subject::Path)
}
