//! A draft: the changes that a step would record, the staged files that it would put on disk, and what it expects to
//! find there; and what is recorded with it. Nothing here looks anything up in the store or changes the disk.

mod moved_tree;
pub(crate) mod step_metadata;
mod waiting_contents;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use yard_core::{Call, ContentHash, FileId, FileKind, Result, Signature, StepId, WsPath};
use yard_disk::{Disk, EntryStat, NewlyKept, RunFolder, Staged};
use yard_store::NewChange;

use crate::draft::moved_tree::MovedTree;
use crate::draft::waiting_contents::WaitingContents;

/// What must be at a path when the draft is committed.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) path: WsPath,
    pub(crate) entry: ExpectedEntry,
}

#[derive(Clone, Debug)]
pub(crate) enum ExpectedEntry {
    /// Nothing.
    Absent,
    /// An entry with exactly this metadata.
    Unchanged(EntryStat),
    /// This folder; its entries may differ.
    Folder { inode: u64 },
    /// This folder, with only the entries that the step itself removes.
    FolderHolding { inode: u64, names: usize },
}

/// Counts the drafts that are being planned, so that a batch can wait for them.
pub(crate) struct PlanningGuard(Arc<AtomicUsize>);

impl PlanningGuard {
    pub(crate) fn enter(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for PlanningGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A large file that a plan adopted. It is kept under `name` if the draft displaces it.
pub(crate) struct LargeFile {
    pub(crate) file: FileId,
    pub(crate) hash: ContentHash,
    pub(crate) name: String,
}

/// What made the changes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepOrigin {
    /// The operation that is planned.
    Operation,
    /// Other programs: the step only records what is on disk.
    External,
    /// A command that the caller ran in place: the step only records what is on disk.
    InPlaceCommand,
}

/// A planned change that is not committed.
pub(crate) struct Draft {
    pub(crate) id: StepId,
    pub(crate) undoes: Option<StepId>,
    /// Changes by other programs that the plan found on disk: recorded first, as a step of their own.
    pub(crate) adopted: Vec<NewChange>,
    /// Changes of the operation itself.
    pub(crate) changes: Vec<NewChange>,
    pub(crate) origin: StepOrigin,
    pub(crate) contents: WaitingContents,
    pub(crate) staged: HashMap<FileId, Staged>,
    /// The modification times, in nanoseconds, that touched files get. They are chosen here, so that the
    /// step can record them before they are on disk.
    pub(crate) touches: HashMap<FileId, i64>,
    /// Files that are build output.
    pub(crate) build_outputs: HashSet<FileId>,
    /// Contents that are stored as whole files. The files are removed again unless the step is recorded.
    pub(crate) stored_files: Vec<NewlyKept>,
    /// The bytes that a staged file will displace: comparing is cheaper than hashing again.
    pub(crate) displacing: HashMap<FileId, Arc<Vec<u8>>>,
    /// The contents that it writes, for the cache that the next plan uses.
    pub(crate) written: Vec<(ContentHash, Vec<u8>)>,
    /// Large files that become versions, because it displaces them.
    pub(crate) large: Vec<LargeFile>,
    pub(crate) expectations: Vec<Expectation>,
    /// Contents that the plan read from disk. Their signatures may be stored once the step is recorded.
    pub(crate) observed: Vec<(FileId, ContentHash, EntryStat)>,
    /// The refs that a command moved so that commits were left behind. `None` if the draft is not a command's.
    pub(crate) rewound_refs: Option<HashSet<WsPath>>,
    /// The folder of the run whose changes it lands. It gets the id of the step right before the step is recorded.
    pub(crate) landing: Option<RunFolder>,
    /// It touches whole trees, and so must be alone in its batch.
    pub(crate) exclusive: bool,
    /// Its changes are one move: none of them is done without the others.
    pub(crate) is_one_move: bool,
    /// The entries of the folders that it moves. Read when a person is to approve the draft.
    pub(crate) moved_trees: OnceLock<Vec<MovedTree>>,
    _active: PlanningGuard,
}

impl Draft {
    pub(crate) fn new(id: StepId, active: PlanningGuard) -> Self {
        Self {
            id,
            undoes: None,
            adopted: Vec::new(),
            changes: Vec::new(),
            origin: StepOrigin::Operation,
            touches: HashMap::new(),
            build_outputs: HashSet::new(),
            contents: WaitingContents::default(),
            staged: HashMap::new(),
            stored_files: Vec::new(),
            displacing: HashMap::new(),
            written: Vec::new(),
            large: Vec::new(),
            expectations: Vec::new(),
            observed: Vec::new(),
            rewound_refs: None,
            landing: None,
            exclusive: false,
            is_one_move: false,
            moved_trees: OnceLock::new(),
            _active: active,
        }
    }

    /// The folders that it moves, with their entries as they were at the first call of this.
    pub(crate) fn moved_trees(&self, disk: &Disk, call: &Call) -> Result<&[MovedTree]> {
        if self.moved_trees.get().is_none() {
            let folders = self.changes.iter().filter_map(moved_folder);
            let trees = folders.map(|from| MovedTree::read(disk, from, call));
            let trees = trees.collect::<Result<Vec<_>>>()?;
            // No other thread can have set it: a draft belongs to the thread that plans it.
            let _ = self.moved_trees.set(trees);
        }
        Ok(self.moved_trees.get().map(Vec::as_slice).unwrap_or_default())
    }

    /// The signature of every entry that the plan looked at.
    pub(crate) fn signatures(&self) -> HashMap<WsPath, Signature> {
        let signatures = self.expectations.iter().filter_map(|expected| match &expected.entry {
            ExpectedEntry::Unchanged(stat) => Some((expected.path.clone(), stat.signature)),
            _ => None,
        });
        signatures.collect()
    }

    /// Every path that the draft changes.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &WsPath> {
        let all = self.adopted.iter().chain(&self.changes);
        all.flat_map(|change| change.from.iter().chain(&change.to))
    }
}

/// The former path of the folder that a change moves, if it moves one.
fn moved_folder(change: &NewChange) -> Option<&WsPath> {
    let is_folder = change.before.as_ref().is_some_and(|state| state.kind == FileKind::Folder);
    match (&change.from, &change.to) {
        (Some(from), Some(to)) if is_folder && from != to => Some(from),
        _ => None,
    }
}
