//! What is recorded of the files of the steps that may not be on disk: the identities of the staged files that they
//! placed and of the entries that they displaced. Nothing here looks at the disk.

use std::collections::{HashMap, HashSet};

use yard_core::{ContentHash, FileId, FileKind, FileState, WsPath};
use yard_store::{Change, FileIdentity, Placement, Seq};

/// Whether the machine was restarted since the steps happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boot {
    /// The machine kept running: a process may have been killed, but no write was lost.
    Same,
    /// The machine was restarted, or may have been: what was not flushed may be lost.
    Another,
}

/// A staged file that a step put in its place.
#[derive(Clone, Copy, Debug)]
struct Placed {
    seq: Seq,
    identity: FileIdentity,
    content: Option<ContentHash>,
}

/// The identity of a file right before a step.
#[derive(Clone, Copy, Debug)]
struct Past {
    seq: Seq,
    identity: FileIdentity,
    /// The step removed the file or put another inode in its place. Otherwise only its name or its times changed.
    is_displaced: bool,
}

/// The newest of the steps that changed a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    /// The step.
    pub(super) seq: Seq,
    /// The index of the change in the step.
    pub(super) change: u64,
    /// The step changed the disk. Otherwise it only recorded what was there.
    pub(super) places: bool,
    /// The identities that recovery needs were recorded, as far as there are any.
    pub(super) is_identified: bool,
    /// The step makes the entry.
    makes: bool,
    /// The step, or one before it, changes the mode of an existing folder.
    sets_mode: bool,
}

/// What is recorded of all files that these steps touched.
#[derive(Debug, Default)]
pub(super) struct RecordedFiles {
    placed: HashMap<FileId, Vec<Placed>>,
    past: HashMap<FileId, Vec<Past>>,
    /// Files that were removed from a path, where another one may be by now.
    removed_at: HashMap<WsPath, Vec<Past>>,
    /// Paths to which entries were moved.
    moved_to: HashSet<WsPath>,
    /// Files that were moved away from a path, with their identities before that.
    moved_from: HashMap<WsPath, Vec<(FileId, Past)>>,
    /// The steps that made an entry or brought it back.
    made: HashMap<FileId, Vec<Seq>>,
    /// The folders that an entry was in, each with the first step after which it was in it.
    parents: HashMap<FileId, Vec<(Seq, FileId)>>,
    newest: HashMap<FileId, Newest>,
    /// The files that steps placed or displaced which were rolled back: they are at no path because of these steps.
    rolled_back: Vec<FileIdentity>,
}

impl RecordedFiles {
    /// Adds the placements of a step that was rolled back.
    pub(super) fn add_rolled_back(&mut self, placements: &[Placement]) {
        let both = placements.iter().flat_map(|placement| [placement.placed, placement.displaced]);
        self.rolled_back.extend(both.flatten());
    }

    /// Adds one change of a step, with the placements of the step.
    pub(super) fn add(&mut self, seq: Seq, index: u64, change: &Change, all: &[Placement]) {
        let own: Vec<&Placement> =
            all.iter().filter(|placement| placement.change == index).collect();
        let (before, after) = (change.before.as_ref(), change.after.as_ref());
        let looks = |state: &FileState| (state.kind, state.mode, state.content);
        let stays =
            before.is_some() && before.map(looks) == after.map(looks) && change.from == change.to;
        let moves = before.is_some() && after.is_some() && change.from != change.to;
        if let Some(to) = change.to.as_ref().filter(|_| moves) {
            self.moved_to.insert(to.clone());
        }
        for placement in &own {
            if let Some(identity) = placement.placed {
                let content = after.and_then(|state| state.content);
                let placed = Placed { seq, identity, content };
                self.placed.entry(change.file).or_default().push(placed);
            }
            let Some(identity) = placement.displaced else { continue };
            let past = Past { seq, identity, is_displaced: !moves && !stays };
            self.past.entry(change.file).or_default().push(past);
        }
        self.add_parent(seq, change);
        // A file without a known content must never be replaced, because its bytes are in no history.
        let may_be_replaced = moves && before.is_some_and(|state| state.content.is_some());
        let past = self.past.get(&change.file);
        if let (true, Some(from), Some(past)) = (may_be_replaced, &change.from, past) {
            let all = past.iter().map(|past| (change.file, *past));
            self.moved_from.entry(from.clone()).or_default().extend(all);
        }
        if let (None, Some(from), Some(past)) = (after, &change.from, self.past.get(&change.file)) {
            // The earlier steps may be lost too, so that the file may have its identity before any of them.
            self.removed_at.entry(from.clone()).or_default().extend(past);
        }
        if stays && self.newest.contains_key(&change.file) {
            // Only the times or the store's record changed: the step before decides what has to be on disk.
            return;
        }
        let is_folder = |state: &FileState| state.kind == FileKind::Folder;
        let mode = |state: Option<&FileState>| state.map(|state| state.mode);
        let set_before = self.newest.get(&change.file).is_some_and(|newest| newest.sets_mode);
        let makes = before.is_none();
        let needs_none = after.is_some_and(is_folder) && makes;
        let is_identified =
            needs_none || own.iter().any(|p| p.placed.is_some() || p.displaced.is_some());
        self.newest.insert(
            change.file,
            Newest {
                seq,
                change: index,
                places: !own.is_empty() && !stays,
                is_identified,
                makes,
                sets_mode: !makes && (set_before || mode(before) != mode(after)),
            },
        );
    }

    /// Adds the folders that an entry is in before and after a change.
    fn add_parent(&mut self, seq: Seq, change: &Change) {
        let parents = self.parents.entry(change.file).or_default();
        if let (true, Some(before)) = (parents.is_empty(), &change.before) {
            parents.push((0, before.parent));
        }
        if let Some(after) = &change.after {
            parents.push((seq, after.parent));
            if change.before.is_none() {
                self.made.entry(change.file).or_default().push(seq);
            }
        }
    }

    /// Whether an entry was made, or brought back, by one of the steps after `from` and up to `until`.
    pub(super) fn is_made_between(&self, file: FileId, from: Seq, until: Seq) -> bool {
        let mut made = self.made.get(&file).into_iter().flatten();
        made.any(|seq| *seq > from && *seq <= until)
    }

    /// The folder that an entry was in after the step `until`. `None` if none of the steps changed the entry.
    pub(super) fn parent_at(&self, file: FileId, until: Seq) -> Option<FileId> {
        let parents = self.parents.get(&file)?;
        parents.iter().rev().find(|(seq, _)| *seq <= until).map(|(_, parent)| *parent)
    }

    /// Whether an entry is a different file than this one, which a step moved away from this path, untouched since: the
    /// step's rename was lost.
    pub(super) fn is_moved_from(
        &self,
        path: &WsPath,
        file: FileId,
        found: &FileIdentity,
        boot: Boot,
    ) -> bool {
        let mut moved = self.moved_from.get(path).into_iter().flatten();
        moved.any(|(other, past)| *other != file && is_as_before(&past.identity, found, boot))
    }

    /// The files that these steps touched, each with the newest step that touched it.
    pub(super) fn files(&self) -> impl Iterator<Item = (FileId, Newest)> {
        self.newest.iter().map(|(file, newest)| (*file, *newest))
    }

    /// The newest of the steps that changed a file, if one of them did.
    pub(super) fn newest(&self, file: FileId) -> Option<Newest> {
        self.newest.get(&file).copied()
    }

    /// Whether an entry is a file that a step removed or replaced, untouched since: the step's rename was lost.
    pub(super) fn is_displaced(&self, file: FileId, found: &FileIdentity, boot: Boot) -> bool {
        let mut past = self.past.get(&file).into_iter().flatten();
        past.any(|past| past.is_displaced && is_as_before(&past.identity, found, boot))
    }

    /// Whether an entry is a file as it was right before one of the steps up to `until`, untouched since.
    pub(super) fn is_past(
        &self,
        file: FileId,
        found: &FileIdentity,
        boot: Boot,
        until: Seq,
    ) -> bool {
        let mut past = self.past.get(&file).into_iter().flatten();
        past.any(|past| past.seq <= until && is_as_before(&past.identity, found, boot))
    }

    /// Whether one of the steps moved an entry to this path or to a folder above it.
    pub(super) fn is_moved_to(&self, path: &WsPath) -> bool {
        path.lineage().iter().any(|one| self.moved_to.contains(one))
    }

    /// Whether a step after this one replaced or removed a file.
    pub(super) fn is_replaced_after(&self, file: FileId, seq: Seq) -> bool {
        let mut past = self.past.get(&file).into_iter().flatten();
        past.any(|past| past.is_displaced && past.seq > seq)
    }

    /// Whether an entry is a file that one of the steps up to `until` removed from this path, untouched
    /// since.
    pub(super) fn is_removed_from(
        &self,
        path: &WsPath,
        found: &FileIdentity,
        boot: Boot,
        until: Seq,
    ) -> bool {
        let mut past = self.removed_at.get(path).into_iter().flatten();
        past.any(|past| past.seq <= until && is_as_before(&past.identity, found, boot))
    }

    /// The contents that steps up to `until` gave to the staged files with this identity. No program has written into
    /// such a file since it was staged, so that its bytes were lost if it holds anything else.
    pub(super) fn contents_of<'a>(
        &'a self,
        file: FileId,
        found: &'a FileIdentity,
        until: Seq,
    ) -> impl Iterator<Item = Option<ContentHash>> + 'a {
        let all = self.placed.get(&file).into_iter().flatten();
        let is_it =
            move |placed: &&Placed| placed.seq <= until && placed.identity.is_unwritten(found);
        all.filter(is_it).map(|placed| placed.content)
    }

    /// The files that these steps placed or displaced as this very inode.
    pub(super) fn files_of<'a>(
        &'a self,
        found: &'a FileIdentity,
    ) -> impl Iterator<Item = FileId> + 'a {
        let has_placed =
            |all: &Vec<Placed>| all.iter().any(|placed| placed.identity.is_same_inode(found));
        let has_past = |all: &Vec<Past>| all.iter().any(|past| past.identity.is_same_inode(found));
        let files = self.newest.keys().copied();
        files.filter(move |file| {
            self.placed.get(file).is_some_and(has_placed)
                || self.past.get(file).is_some_and(has_past)
        })
    }

    /// Whether one of the steps, rolled back or not, placed or displaced this very inode, and no program has written into it
    /// since. The ctime is not compared, because renaming an entry changes it.
    pub(super) fn is_recorded(&self, found: &FileIdentity) -> bool {
        let placed = self.placed.values().flatten().map(|placed| &placed.identity);
        let past = self.past.values().flatten().map(|past| &past.identity);
        let all = placed.chain(past).chain(&self.rolled_back);
        all.into_iter().any(|identity| identity.is_unwritten(found))
    }
}

impl Newest {
    /// Whether a folder still has to get the mode that the step gave it.
    pub(super) fn lacks_mode(&self, is_displaced: bool, is_half_made: bool) -> bool {
        (self.sets_mode && is_displaced) || (self.makes && is_half_made)
    }
}

/// Whether a file is exactly as it was when a step displaced it. Its size is not compared: bytes that another program
/// wrote right before the step may have been lost with the step's own rename. If the machine kept running, the step
/// itself may have renamed the file already.
pub(super) fn is_as_before(displaced: &FileIdentity, found: &FileIdentity, boot: Boot) -> bool {
    match boot {
        Boot::Same => displaced.is_unwritten(found),
        Boot::Another => displaced == found,
    }
}

/// Whether a folder is the one that a step moved or removed, untouched since. Other steps add and remove its entries,
/// and may be lost too: the folder may look older, but not newer.
pub(super) fn is_folder_as_before(
    displaced: &FileIdentity,
    found: &FileIdentity,
    boot: Boot,
) -> bool {
    displaced.is_same_inode(found) && (boot == Boot::Same || found.ctime <= displaced.ctime)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(inode: u64, mtime: i64, ctime: i64) -> FileIdentity {
        FileIdentity { inode, birth: 1, mtime, ctime }
    }

    #[test]
    fn after_a_restart_a_displaced_file_is_recognized_only_by_its_exact_times() {
        let displaced = identity(5, 10, 20);
        let found = |inode, mtime, ctime| {
            is_as_before(&displaced, &identity(inode, mtime, ctime), Boot::Another)
        };
        assert!(found(5, 10, 20));
        assert!(!found(5, 10, 21), "its mode or its name was changed");
        assert!(!found(5, 11, 21), "it was written into");
        assert!(!found(6, 10, 20), "another file");
        let reused = FileIdentity { birth: 2, ..displaced };
        assert!(!is_as_before(&displaced, &reused, Boot::Another), "the inode's number was reused");
        let renamed = identity(5, 10, 21);
        assert!(is_as_before(&displaced, &renamed, Boot::Same), "the step may have renamed it");
    }

    #[test]
    fn a_repeated_step_considers_only_steps_up_to_itself() {
        let file = FileId::ROOT;
        let (first, second) = (identity(5, 10, 20), identity(6, 30, 40));
        let past = |seq, identity| Past { seq, identity, is_displaced: true };
        let placed = |seq, identity| Placed { seq, identity, content: None };
        let mut recorded = RecordedFiles::default();
        recorded.past.insert(file, vec![past(2, first), past(4, second)]);
        recorded.placed.insert(file, vec![placed(1, first), placed(3, second)]);
        assert!(recorded.is_past(file, &first, Boot::Another, 2));
        assert!(!recorded.is_past(file, &second, Boot::Another, 2), "step 3 put it there");
        assert_eq!(recorded.contents_of(file, &second, 2).count(), 0, "step 3 put it there");
        assert_eq!(recorded.contents_of(file, &second, 3).count(), 1);
        assert!(recorded.is_replaced_after(file, 2) && !recorded.is_replaced_after(file, 4));
    }

    #[test]
    fn a_file_whose_move_was_lost_is_replaced_only_by_another_file() {
        let (file, other) = (FileId::ROOT, "01a1ec5e-0000-7000-8000-000000000001".parse().unwrap());
        let path = WsPath::parse("/a").unwrap();
        let before = identity(5, 10, 20);
        let past = Past { seq: 2, identity: before, is_displaced: false };
        let mut recorded = RecordedFiles::default();
        recorded.moved_from.insert(path.clone(), vec![(file, past)]);
        let is_moved =
            |path: &WsPath, file, found| recorded.is_moved_from(path, file, &found, Boot::Another);
        assert!(is_moved(&path, other, before));
        assert!(!is_moved(&path, file, before), "it may be back");
        assert!(!is_moved(&path, other, identity(5, 10, 21)), "it was touched");
        assert!(!is_moved(&WsPath::parse("/b").unwrap(), other, before), "another path");
    }

    #[test]
    fn after_a_restart_a_folder_may_look_older_but_not_newer() {
        let displaced = identity(5, 10, 20);
        let found = |ctime, boot| is_folder_as_before(&displaced, &identity(5, ctime, ctime), boot);
        assert!(found(20, Boot::Another) && found(15, Boot::Another));
        assert!(!found(21, Boot::Another));
        assert!(found(21, Boot::Same));
    }
}
