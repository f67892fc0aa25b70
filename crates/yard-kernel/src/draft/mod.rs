//! A draft: the changes that a step would record, the staged files that it would put on disk, and what it expects to
//! find there; and what is recorded with it. Nothing here looks anything up in the store or changes the disk.

pub(crate) mod basis;
pub(crate) mod contents;
mod files;
mod moved_tree;
pub(crate) mod step_metadata;
mod waiting_contents;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use yard_core::{Call, FileKind, Result, StepId, WsPath};
use yard_disk::{Disk, RunFolder};
use yard_store::NewChange;

use crate::draft::basis::DraftBasis;
use crate::draft::contents::DraftContents;
use crate::draft::files::DraftFiles;
use crate::draft::moved_tree::MovedTree;

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

/// The run of a command whose changes a draft lands.
pub(crate) struct LandedRun {
    /// Its folder gets the id of the step right before the step is recorded.
    pub(crate) folder: RunFolder,
    /// The refs that the command moved so that commits were left behind.
    pub(crate) rewound_refs: HashSet<WsPath>,
}

/// A planned change that is not committed.
pub(crate) struct Draft {
    pub(crate) id: StepId,
    pub(crate) undoes: Option<StepId>,
    pub(crate) origin: StepOrigin,
    /// Changes by other programs that the plan found on disk: recorded first, as a step of their own.
    pub(crate) adopted: Vec<NewChange>,
    /// Changes of the operation itself.
    pub(crate) changes: Vec<NewChange>,
    /// What the changes put on disk.
    pub(crate) files: DraftFiles,
    /// What the changes bring into the store.
    pub(crate) contents: DraftContents,
    /// What was on disk when it was planned.
    pub(crate) basis: DraftBasis,
    /// The run whose changes it lands, if it lands one.
    pub(crate) landing: Option<LandedRun>,
    /// It touches whole trees, and so must be alone in its batch.
    pub(crate) exclusive: bool,
    /// Its changes are one move: none of them is done without the others.
    pub(crate) is_one_move: bool,
    _active: PlanningGuard,
}

impl Draft {
    pub(crate) fn new(id: StepId, active: PlanningGuard) -> Self {
        Self {
            id,
            undoes: None,
            origin: StepOrigin::Operation,
            adopted: Vec::new(),
            changes: Vec::new(),
            files: DraftFiles::default(),
            contents: DraftContents::default(),
            basis: DraftBasis::default(),
            landing: None,
            exclusive: false,
            is_one_move: false,
            _active: active,
        }
    }

    /// The folders that it moves, with their entries as they were at the first call of this.
    pub(crate) fn moved_trees(&self, disk: &Disk, call: &Call) -> Result<&[MovedTree]> {
        let read = || {
            let folders = self.changes.iter().filter_map(moved_folder);
            folders.map(|from| MovedTree::read(disk, from, call)).collect()
        };
        self.basis.moved_trees_or(read)
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
