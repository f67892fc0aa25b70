//! The slow, obvious twin of undo: the recorded changes, played again without one step on a tree in
//! memory. It shares no code with the kernel's merge. It relies on lines that are unique in the whole
//! history: a line is found by what it says, never by its number.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use yard_core::{Author, ContentHash, FileId, FileKind, FileState, Name, StepId};
use yard_store::{Change, StepRow, Store};

use crate::{EntrySnapshot, tree};

/// What is at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// File or folder.
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    /// Its bytes; a folder has none.
    pub bytes: Vec<u8>,
}

/// Everything below a root, by path.
pub type ExpectedTree = BTreeMap<String, TreeEntry>;

/// What the disk shows below `root`, where there are files and folders alone.
pub fn read_tree(root: &Path) -> ExpectedTree {
    tree(root).into_iter().map(|(path, entry)| (path, TreeEntry::of(entry))).collect()
}

impl TreeEntry {
    fn of(entry: EntrySnapshot) -> Self {
        match entry {
            EntrySnapshot::Folder(mode) => Self { kind: FileKind::Folder, mode, bytes: Vec::new() },
            EntrySnapshot::File(mode, bytes) => Self { kind: FileKind::File, mode, bytes },
            other => panic!("a history of files and folders has {other:?}"),
        }
    }
}

/// Where two trees differ, in words; nothing if they are equal.
pub fn differences(wanted: &ExpectedTree, found: &ExpectedTree) -> String {
    let paths: BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
    let differing = paths.into_iter().filter(|path| wanted.get(*path) != found.get(*path));
    let shown = differing.map(|path| {
        format!(
            "{path}\n  wanted {}\n  found  {}",
            describe(wanted.get(path)),
            describe(found.get(path))
        )
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn describe(thing: Option<&TreeEntry>) -> String {
    thing.map_or("nothing".to_owned(), |thing| {
        let TreeEntry { kind, mode, bytes } = thing;
        format!("{kind:?} {mode:o} {:?}", String::from_utf8_lossy(bytes))
    })
}

/// One file, folder or link in a tree that is keyed by ids.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spot {
    parent: FileId,
    name: Name,
    thing: TreeEntry,
}

impl Spot {
    fn place(&self) -> (FileId, &Name) {
        (self.parent, &self.name)
    }
}

/// The living entries.
type Files = HashMap<FileId, Spot>;

/// Why something cannot be said for certain.
pub type Ambiguity = String;

/// One recorded step.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its row.
    pub row: StepRow,
    /// What it did.
    pub changes: Vec<Change>,
}

/// Everything that a store recorded, oldest first.
pub struct StepHistory {
    /// The steps.
    pub steps: Vec<Recorded>,
    contents: HashMap<ContentHash, Vec<u8>>,
}

impl StepHistory {
    /// Reads all of it.
    pub fn read(store: &dyn Store) -> Self {
        let mut past = Self { steps: Vec::new(), contents: HashMap::new() };
        for row in store.steps(None, None, 100_000).unwrap().into_iter().rev() {
            let changes = store.changes(row.seq).unwrap();
            let states = changes.iter().flat_map(|change| [&change.before, &change.after]);
            for hash in states.flatten().filter_map(|state| state.content) {
                let read = || store.content(&hash).unwrap().expect("a content that was recorded");
                past.contents.entry(hash).or_insert_with(read);
            }
            past.steps.push(Recorded { row, changes });
        }
        past
    }

    fn step(&self, id: StepId) -> &Recorded {
        self.steps.iter().find(|step| step.row.id == id).expect("a step that was recorded")
    }

    fn spot(&self, state: &FileState) -> Spot {
        let bytes = state.content.map(|hash| self.contents[&hash].clone()).unwrap_or_default();
        let thing = TreeEntry { kind: state.kind, mode: state.mode, bytes };
        Spot { parent: state.parent, name: state.name.clone(), thing }
    }

    /// The tree after all steps but `step`; a doubt where a later one does not find what it changed.
    /// `skipped` is the undo itself.
    pub fn without(
        &self,
        step: StepId,
        skipped: Option<StepId>,
    ) -> Result<ExpectedTree, Ambiguity> {
        let mut files = Files::new();
        let left_out = |id: StepId| id == step || Some(id) == skipped;
        for step in self.steps.iter().filter(|step| !left_out(step.row.id)) {
            for change in &step.changes {
                self.replay(&mut files, change)
                    .map_err(|doubt| format!("{} {}: {doubt}", step.row.verb, step.row.seq))?;
            }
        }
        draw(&files)
    }

    fn replay(&self, files: &mut Files, change: &Change) -> Result<(), Ambiguity> {
        let before = change.before.as_ref().map(|state| self.spot(state));
        let after = change.after.as_ref().map(|state| self.spot(state));
        let now = files.get(&change.file).cloned();
        match (before, after) {
            (None, Some(after)) if now.is_none() => settle(files, change.file, after),
            (None, _) => Err("what comes to be is there already".to_owned()),
            (before, None) => {
                let empty = !files.values().any(|spot| spot.parent == change.file);
                let same = now.is_some() && now == before && empty;
                files.remove(&change.file);
                if same { Ok(()) } else { Err("what goes away is not as it was".to_owned()) }
            }
            (Some(before), Some(after)) => {
                let now = now.ok_or("what changes is not there")?;
                settle(files, change.file, changed(now, &before, after)?)
            }
        }
    }

    /// The tree after all steps but `skipped`, each taken at its word.
    fn heads(&self, skipped: Option<StepId>) -> Files {
        let mut files = Files::new();
        for step in self.steps.iter().filter(|step| Some(step.row.id) != skipped) {
            for change in &step.changes {
                match &change.after {
                    Some(after) => files.insert(change.file, self.spot(after)),
                    None => files.remove(&change.file),
                };
            }
        }
        files
    }

    /// The tree as the newest steps left it.
    pub fn now(&self) -> Result<ExpectedTree, Ambiguity> {
        draw(&self.heads(None))
    }

    /// The tree after `step`, with what other programs made since as it was first seen. A folder of now stays where it holds
    /// such a thing.
    pub fn back_to(&self, step: StepId) -> Result<ExpectedTree, Ambiguity> {
        let seq = self.step(step).row.seq;
        let (mut files, mut seen) = (Files::new(), HashSet::new());
        for step in &self.steps {
            let is_later = step.row.seq > seq;
            for change in &step.changes {
                let is_first_later = is_later && seen.insert(change.file);
                let is_found = is_first_later
                    && step.row.author == Author::External
                    && change.before.is_none();
                match &change.after {
                    Some(after) if !is_later || is_found => {
                        files.insert(change.file, self.spot(after));
                    }
                    None if !is_later => {
                        files.remove(&change.file);
                    }
                    _ => {}
                }
            }
        }
        let now = self.heads(None);
        loop {
            let parents = files.values().map(|spot| spot.parent);
            let missing = parents.filter(|id| *id != FileId::ROOT && !files.contains_key(id));
            let Some(missing) = missing.collect::<Vec<_>>().pop() else { return draw(&files) };
            let folder = now.get(&missing).ok_or("a folder is not there any more")?;
            files.insert(missing, folder.clone());
        }
    }

    /// What undoing `step` now must give if it succeeds at all, value by value and line by line. A
    /// doubt where it must be refused. `skipped` is the undo itself. A folder that the step made stays
    /// where it holds something else by now, as long as anything is taken back.
    pub fn merged(&self, step: StepId, skipped: Option<StepId>) -> Result<ExpectedTree, Ambiguity> {
        let heads = self.heads(skipped);
        let (mut files, mut made) = (heads.clone(), Vec::new());
        let changes = &self.step(step).changes;
        let ids: HashSet<FileId> = changes.iter().map(|change| change.file).collect();
        for id in ids {
            let mut own = changes.iter().filter(|change| change.file == id);
            let (Some(first), last) = (own.next(), own.next_back()) else { continue };
            let theirs = first.before.as_ref().map(|state| self.spot(state));
            let base = last.unwrap_or(first).after.as_ref().map(|state| self.spot(state));
            let ours = files.remove(&id);
            let is_folder = |spot: &Spot| spot.thing.kind == FileKind::Folder;
            if let (None, Some(ours)) = (&theirs, ours.as_ref().filter(|ours| is_folder(ours))) {
                made.push((id, base, ours.clone()));
                continue;
            }
            files.extend(merge_spots(base, ours, theirs)?.map(|spot| (id, spot)));
        }
        // One that stays may be in another one, which stays too.
        for _ in 0..made.len() {
            for (id, _, ours) in &made {
                if files.values().any(|spot| spot.parent == *id) {
                    files.insert(*id, ours.clone());
                }
            }
        }
        let mut gone = made.iter().filter(|(id, _, _)| !files.contains_key(id));
        if gone.any(|(_, base, ours)| base.as_ref() != Some(ours)) {
            return Err("a folder was changed since".to_owned());
        }
        if !made.is_empty() && files == heads {
            return Err("nothing is taken back".to_owned());
        }
        draw(&files)
    }

    /// A later step that changed or abutted the lines that `step` changed.
    pub fn abutting(&self, step: StepId, skipped: Option<StepId>) -> Option<String> {
        let undone = self.step(step);
        let later = self.steps.iter().filter(|later| later.row.seq > undone.row.seq);
        let later: Vec<_> = later.filter(|later| Some(later.row.id) != skipped).collect();
        for change in &undone.changes {
            let Some(hunks) = self.line_changes(change) else { continue };
            for step in &later {
                let same = step.changes.iter().filter(|other| other.file == change.file);
                for other in same.filter_map(|other| self.line_changes(other)).flatten() {
                    if hunks.iter().any(|hunk| hunk.meets(&other)) {
                        return Some(format!("{} {} abuts", step.row.verb, step.row.seq));
                    }
                }
            }
        }
        None
    }

    fn line_changes(&self, change: &Change) -> Option<Vec<Hunk>> {
        let bytes = |state: &Option<FileState>| state.as_ref().map(|state| self.spot(state).thing);
        let (before, after) = (bytes(&change.before)?, bytes(&change.after)?);
        hunks(&lines(&before.bytes)?, &lines(&after.bytes)?).ok()
    }
}

/// `now`, changed as `before` was to become `after`.
fn changed(mut now: Spot, before: &Spot, after: Spot) -> Result<Spot, Ambiguity> {
    if before.place() != after.place() {
        if now.place() != before.place() {
            return Err("it moves from where it is not".to_owned());
        }
        (now.parent, now.name) = (after.parent, after.name);
    }
    let (old, new) = (&before.thing, after.thing);
    if old.mode != new.mode {
        if now.thing.mode != old.mode {
            return Err("its mode is not the one that is changed".to_owned());
        }
        now.thing.mode = new.mode;
    }
    if old.bytes != new.bytes {
        now.thing.bytes = match now.thing.bytes == old.bytes {
            true => new.bytes,
            false => patched(&now.thing.bytes, &old.bytes, &new.bytes)?,
        };
    }
    Ok(now)
}

/// Puts an entry where it says, if that is a place.
fn settle(files: &mut Files, file: FileId, spot: Spot) -> Result<(), Ambiguity> {
    files.insert(file, spot);
    draw(files).map(|_| ())
}

/// The tree that the entries form; a doubt if they form none.
fn draw(files: &Files) -> Result<ExpectedTree, Ambiguity> {
    let mut tree = ExpectedTree::new();
    for spot in files.values() {
        let mut path = format!("/{}", String::from_utf8_lossy(spot.name.as_bytes()));
        let (mut at, mut depth) = (spot.parent, 0);
        while at != FileId::ROOT {
            let above = files.get(&at).ok_or_else(|| format!("{path} is in no folder"))?;
            if above.thing.kind != FileKind::Folder || depth > files.len() {
                return Err(format!("{path} is in a file or in itself"));
            }
            path = format!("/{}{path}", String::from_utf8_lossy(above.name.as_bytes()));
            (at, depth) = (above.parent, depth + 1);
        }
        if tree.insert(path.clone(), spot.thing.clone()).is_some() {
            return Err(format!("two things are at {path}"));
        }
    }
    Ok(tree)
}

/// The lines of a text, and before them its byte order mark, as if it were one; none for binary
/// content.
fn lines(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b""];
    let mark = marks.into_iter().find(|mark| bytes.starts_with(mark)).unwrap_or_default();
    let (mark, body) = bytes.split_at(mark.len());
    let wide = mark.len() == 2;
    if !wide && body.contains(&0) {
        return None;
    }
    let width = if wide { 2 } else { 1 };
    let (mut lines, mut start) = (Vec::new(), 0);
    lines.extend(Some(mark).filter(|mark| !mark.is_empty()));
    for at in (0..body.len()).step_by(width) {
        let end = at + width;
        if (body[at] == b'\n' && (!wide || body[at + 1] == 0)) || end >= body.len() {
            lines.push(&body[start..end]);
            start = end;
        }
    }
    let unique: HashSet<&&[u8]> = lines.iter().collect();
    assert_eq!(unique.len(), lines.len(), "lines of a history are unique");
    Some(lines)
}

/// One maximal run of changed lines, with the lines around it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    above: Option<Vec<u8>>,
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
    below: Option<Vec<u8>>,
}

impl Hunk {
    /// Whether a later change meets the lines that this one left, or their direct neighbours.
    fn meets(&self, later: &Self) -> bool {
        let edges = [&self.above, &self.below];
        let is_neighbour = |line: &Vec<u8>| edges.iter().any(|edge| edge.as_ref() == Some(line));
        let removes = later.old.iter().any(|line| self.new.contains(line) || is_neighbour(line));
        let ours = |edge: &Option<Vec<u8>>| edge.as_ref().is_some_and(|at| self.new.contains(at));
        let inserts = !later.new.is_empty()
            && (ours(&later.above)
                || ours(&later.below)
                || (&later.above, &later.below) == (&self.above, &self.below));
        removes || inserts
    }
}

fn hunks(old: &[&[u8]], new: &[&[u8]]) -> Result<Vec<Hunk>, Ambiguity> {
    let (is_old, is_new): (HashSet<_>, HashSet<_>) = (old.iter().collect(), new.iter().collect());
    let kept: Vec<&[u8]> = old.iter().copied().filter(|line| is_new.contains(line)).collect();
    let also: Vec<&[u8]> = new.iter().copied().filter(|line| is_old.contains(line)).collect();
    if kept != also {
        return Err("lines changed their order".to_owned());
    }
    let gone = runs(old, &kept);
    let come = runs(new, &kept);
    let mut hunks = Vec::new();
    for (index, (old, new)) in gone.into_iter().zip(come).enumerate() {
        if old.is_empty() && new.is_empty() {
            continue;
        }
        let above = index.checked_sub(1).map(|above| kept[above].to_vec());
        let below = kept.get(index).map(|below| below.to_vec());
        hunks.push(Hunk { above, old, new, below });
    }
    Ok(hunks)
}

/// What stands between the kept lines, before the first and after the last of them.
fn runs(lines: &[&[u8]], kept: &[&[u8]]) -> Vec<Vec<Vec<u8>>> {
    let mut runs = vec![Vec::new()];
    for line in lines {
        match kept.contains(line) {
            true => runs.push(Vec::new()),
            false => runs.last_mut().unwrap().push(line.to_vec()),
        }
    }
    runs
}

/// `now` with what made `new` of `old`, each place found by its lines.
fn patched(now: &[u8], old: &[u8], new: &[u8]) -> Result<Vec<u8>, Ambiguity> {
    let binary = || "binary content is one value".to_owned();
    let (old, new) = (lines(old).ok_or_else(binary)?, lines(new).ok_or_else(binary)?);
    let mut text: Vec<Vec<u8>> =
        lines(now).ok_or_else(binary)?.into_iter().map(<[u8]>::to_vec).collect();
    for hunk in hunks(&old, &new)? {
        let at = match hunk.old.first() {
            Some(first) => text.iter().position(|line| line == first),
            None => gap(&text, &hunk),
        };
        let at = at.ok_or("the place of a change is not there")?;
        let end = at + hunk.old.len();
        if text.get(at..end) != Some(&hunk.old) {
            return Err("the lines of a change are not there".to_owned());
        }
        if hunk.new.iter().any(|line| text.contains(line)) {
            return Err("a new line is there already".to_owned());
        }
        text.splice(at..end, hunk.new);
    }
    Ok(text.concat())
}

/// Where an insertion goes: between its neighbours.
fn gap(text: &[Vec<u8>], hunk: &Hunk) -> Option<usize> {
    (0..=text.len()).find(|at| {
        let above = at.checked_sub(1).map(|above| &text[above]);
        above == hunk.above.as_ref() && text.get(*at) == hunk.below.as_ref()
    })
}

/// One of three equal-or-not values, as a three-way merge has it.
fn merge_values<T: PartialEq>(base: T, ours: T, theirs: T) -> Result<T, Ambiguity> {
    match (base == theirs, ours == base || ours == theirs) {
        (true, _) => Ok(ours),
        (_, true) => Ok(theirs),
        _ => Err("both sides changed a value".to_owned()),
    }
}

fn merge_spots(
    base: Option<Spot>,
    ours: Option<Spot>,
    theirs: Option<Spot>,
) -> Result<Option<Spot>, Ambiguity> {
    let (Some(base), Some(ours), Some(theirs)) = (&base, &ours, &theirs) else {
        return merge_values(base, ours, theirs);
    };
    let (parent, name) = merge_values(base.place(), ours.place(), theirs.place())?;
    let [base, ours, theirs] = [base, ours, theirs].map(|spot| &spot.thing);
    let mode = merge_values(base.mode, ours.mode, theirs.mode)?;
    let bytes = merge_values(&base.bytes, &ours.bytes, &theirs.bytes).cloned();
    let bytes = bytes.or_else(|_| merge_lines(&base.bytes, &ours.bytes, &theirs.bytes))?;
    let thing = TreeEntry { kind: ours.kind, mode, bytes };
    Ok(Some(Spot { parent, name: name.clone(), thing }))
}

/// Line by line: which are there, and the only order that all sides agree on.
fn merge_lines(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, Ambiguity> {
    let binary = || "binary content is one value".to_owned();
    let stores = [base, ours, theirs].map(lines);
    let [Some(base), Some(ours), Some(theirs)] = stores else { return Err(binary()) };
    let all: HashSet<&[u8]> = [&base, &ours, &theirs].into_iter().flatten().copied().collect();
    let mut left: HashSet<&[u8]> = HashSet::new();
    for line in &all {
        let has = |side: &[&[u8]]| side.contains(line);
        if merge_values(has(&base), has(&ours), has(&theirs))? {
            left.insert(line);
        }
    }
    let mut merged = Vec::new();
    // Lines that are not kept order the others all the same.
    let mut waiting = all;
    while !left.is_empty() {
        let is_first = |line: &&&[u8]| {
            [&base, &ours, &theirs].into_iter().all(|side| {
                let rest = side.iter().filter(|other| waiting.contains(*other));
                !side.contains(line) || rest.clone().next() == Some(line)
            })
        };
        let first: Vec<&[u8]> = waiting.iter().filter(is_first).copied().collect();
        let gone = first.iter().find(|line| !left.contains(*line)).copied();
        let next = match (gone, first.as_slice()) {
            (Some(gone), _) => gone,
            (None, [only]) => only,
            _ => return Err("the order of lines is open".to_owned()),
        };
        waiting.remove(next);
        if left.remove(next) {
            merged.push(next);
        }
    }
    Ok(merged.concat())
}
