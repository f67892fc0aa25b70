//! What one step did, or everything after a step, as one list with a change for each file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use yard_core::{Author, Call, FileId, Result};
use yard_store::{Change, Seq, StepRow};

use super::order::{FileChanges, moves_folder, order_of_reversal};
use crate::op::history::{add_later, merge_changes};
use crate::workspace::Workspace;

/// How many steps are read at a time.
const PAGE: usize = 500;

/// The steps after one, newest first.
pub(super) fn steps_after(workspace: &Workspace, call: &Call, seq: Seq) -> Result<Vec<StepRow>> {
    let mut steps: Vec<StepRow> = Vec::new();
    loop {
        call.check()?;
        let before = steps.last().map(|step| step.seq);
        let page = workspace.store().steps(None, before, PAGE)?;
        let is_last = page.len() < PAGE || page.last().is_some_and(|step| step.seq <= seq);
        steps.extend(page.into_iter().filter(|step| step.seq > seq));
        if is_last {
            return Ok(steps);
        }
    }
}

/// What one step did, in the order in which it is reversed.
pub(super) fn changes_of(workspace: &Workspace, step: &StepRow) -> Result<Vec<Change>> {
    let recorded = workspace.store().changes(step.seq)?;
    if !recorded.iter().any(moves_folder) {
        let mut changes = merge_changes(recorded);
        changes.reverse();
        return Ok(changes);
    }
    let mut files = HashMap::new();
    for (place, change) in recorded.into_iter().enumerate() {
        add(&mut files, change, (step.seq, place));
    }
    order_of_reversal(workspace.store(), files)
}

/// What changed since a step, in the order in which it is reversed.
pub(super) fn changes_after(
    workspace: &Workspace,
    call: &Call,
    step: &StepRow,
) -> Result<Vec<Change>> {
    let mut files: HashMap<FileId, FileChanges> = HashMap::new();
    for row in steps_after(workspace, call, step.seq)?.into_iter().rev() {
        call.check()?;
        for (place, change) in workspace.store().changes(row.seq)?.into_iter().enumerate() {
            // Other programs made it at a time that nobody knows: it is taken for as old as the history.
            let is_first_seen = row.author == Author::External
                && change.before.is_none()
                && !files.contains_key(&change.file);
            let change = match is_first_seen {
                true => Change { before: change.after.clone(), from: change.to.clone(), ..change },
                false => change,
            };
            add(&mut files, change, (row.seq, place));
        }
    }
    order_of_reversal(workspace.store(), files)
}

fn add(files: &mut HashMap<FileId, FileChanges>, change: Change, last: (Seq, usize)) {
    match files.entry(change.file) {
        Entry::Vacant(vacant) => {
            vacant.insert(FileChanges { change, last });
        }
        Entry::Occupied(mut occupied) => {
            let file = occupied.get_mut();
            add_later(&mut file.change, change);
            file.last = last;
        }
    }
}
