//! A change on paper: what a step would record, the images that it would put on disk, and what it
//! expects to find there. Nothing here reads the store or changes the disk.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use yard_core::{Call, ContentHash, FileId, FileKind, Result, StepId, WsPath};
use yard_disk::{Disk, EntryStat, NewlyKept, Staged};
use yard_store::{NewChange, Prepared, Signature};

use crate::moved_tree::MovedTree;

/// What a path must still be when the draft is committed.
#[derive(Clone, Debug)]
pub(crate) struct Expect {
    pub(crate) path: WsPath,
    pub(crate) was: Was,
}

#[derive(Clone, Debug)]
pub(crate) enum Was {
    /// Nothing was there.
    Absent,
    /// Exactly this was there.
    Seen(EntryStat),
    /// This folder was there; what is in it may change.
    Folder { inode: u64 },
    /// This folder was there, and nothing in it but what the step itself removes.
    Holding { inode: u64, names: usize },
}

/// Counts who is about to commit, so that a batch can wait for them.
pub(crate) struct Active(Arc<AtomicUsize>);

impl Active {
    pub(crate) fn enter(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a step only records what is on disk already, and whose doing that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// It does something itself.
    Nothing,
    /// Somebody else's.
    Others,
    /// The caller's, who had a command run in place.
    Callers,
}

/// A change on paper.
pub(crate) struct Draft {
    pub(crate) id: StepId,
    pub(crate) undoes: Option<StepId>,
    /// What happened behind our back: recorded first, as a step of its own.
    pub(crate) adopted: Vec<NewChange>,
    /// What the operation itself does.
    pub(crate) changes: Vec<NewChange>,
    pub(crate) records: Records,
    pub(crate) contents: Vec<Prepared>,
    pub(crate) staged: HashMap<FileId, Staged>,
    /// The modification times, in nanoseconds, that touched files get. They are chosen here, so that the
    /// step can record them before they are on disk.
    pub(crate) touches: HashMap<FileId, i64>,
    /// Files that tools make again whenever they are needed.
    pub(crate) outputs: HashSet<FileId>,
    /// Contents that are kept as whole files, and go again unless the step is recorded.
    pub(crate) kept: Vec<NewlyKept>,
    /// The bytes that a staged file is to displace: comparing is cheaper than hashing again.
    pub(crate) displacing: HashMap<FileId, Arc<Vec<u8>>>,
    /// The contents that it writes, to be known again by the next plan.
    pub(crate) written: Vec<(ContentHash, Vec<u8>)>,
    pub(crate) expects: Vec<Expect>,
    /// Contents that were seen on disk and may be remembered once the step is recorded.
    pub(crate) seen: Vec<(FileId, ContentHash, EntryStat)>,
    /// Of what a command changed: the refs that lost commits by it. `None` for every other change.
    pub(crate) rewound: Option<HashSet<WsPath>>,
    /// It touches whole trees: it shares its batch with no other.
    pub(crate) exclusive: bool,
    /// What is in the folders that it moves, once a person is shown that.
    pub(crate) moved_trees: OnceLock<Vec<MovedTree>>,
    _active: Active,
}

impl Draft {
    pub(crate) fn new(id: StepId, active: Active) -> Self {
        Self {
            id,
            undoes: None,
            adopted: Vec::new(),
            changes: Vec::new(),
            records: Records::Nothing,
            touches: HashMap::new(),
            outputs: HashSet::new(),
            contents: Vec::new(),
            staged: HashMap::new(),
            kept: Vec::new(),
            displacing: HashMap::new(),
            written: Vec::new(),
            expects: Vec::new(),
            seen: Vec::new(),
            rewound: None,
            exclusive: false,
            moved_trees: OnceLock::new(),
            _active: active,
        }
    }

    /// The folders that it moves with what is in them, as they were when this was first asked.
    pub(crate) fn moved_trees(&self, disk: &Disk, call: &Call) -> Result<&[MovedTree]> {
        if self.moved_trees.get().is_none() {
            let folders = self.changes.iter().filter_map(moved_folder);
            let trees = folders.map(|from| MovedTree::read(disk, from, Some(call)));
            let trees = trees.collect::<Result<Vec<_>>>()?;
            // Only the thread that plans looks at its draft.
            let _ = self.moved_trees.set(trees);
        }
        Ok(self.moved_trees.get().map(Vec::as_slice).unwrap_or_default())
    }

    /// What the plan saw, path by path.
    pub(crate) fn signatures(&self) -> HashMap<WsPath, Signature> {
        let seen = self.expects.iter().filter_map(|expect| match &expect.was {
            Was::Seen(stat) => Some((expect.path.clone(), stat.signature)),
            _ => None,
        });
        seen.collect()
    }

    /// Every path that the draft would change.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &WsPath> {
        let all = self.adopted.iter().chain(&self.changes);
        all.flat_map(|change| change.from.iter().chain(&change.to))
    }
}

/// The path of a folder that moves with what is in it.
fn moved_folder(change: &NewChange) -> Option<&WsPath> {
    let is_folder = change.before.as_ref().is_some_and(|state| state.kind == FileKind::Folder);
    match (&change.from, &change.to) {
        (Some(from), Some(to)) if is_folder && from != to => Some(from),
        _ => None,
    }
}
