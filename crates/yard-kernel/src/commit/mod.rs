//! Makes changes durable. Concurrent drafts form a batch, and the thread of one of them leads it.
//!
//! Under the workspace's lock the leader checks the expectations of every draft, records all drafts in one store
//! transaction (*the moment at which they happened*), renames their staged files into place, moves the applied mark,
//! and then sends each thread its result. Drafts that touch the same paths are not in one batch: the later one has to
//! be planned again after the earlier one is committed.

mod purge;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use yard_core::{
    Author, Call, Fault, FaultCode, FileId, FileKind, FileState, Result, StepId, WsPath,
};
use yard_disk::{EntryStat, NewlyKept, WorkspaceLock};
use yard_search::is_unreadable;
use yard_store::{Batch, FileIdentity, NewChange, NewStep, Placement, Prepared, Seq, StoreError};

use crate::draft::basis::{Expectation, ExpectedEntry};
use crate::draft::step_metadata::{StepMetadata, external_step};
use crate::draft::{Draft, StepOrigin};
use crate::projection::applied::advance_applied_mark;
use crate::projection::{Projection, Projector, remove_or_keep_displaced};
use crate::proposal::{CommitWork, Committed, Proposal};
use crate::recovery;
use crate::workspace::Workspace;
use crate::workspace::commit_queue::{
    CommitOutcome, LeaderGuard, QueuedDraft, Signal, UnneededFile, Waiter,
};

impl Workspace {
    /// Commits a proposal: all of it is durable and visible then, or none of it.
    pub fn commit<A>(
        &self,
        proposal: Proposal<A>,
        metadata: StepMetadata,
        call: &Call,
    ) -> Result<Committed<A>> {
        self.check_root()?;
        match proposal.work {
            CommitWork::Step { draft, answer } => match submit(self, draft, metadata, call)? {
                CommitOutcome::Done => Ok(Committed::Done(answer)),
                CommitOutcome::Stale => Ok(Committed::Stale),
            },
            CommitWork::Purge { files, answer } => {
                match purge::commit_purge(self, &files, metadata, call)? {
                    Some(purged) => Ok(Committed::Done(answer(purged))),
                    None => Ok(Committed::Stale),
                }
            }
        }
    }
}

/// Commits a draft. It returns once the draft is durable and visible, or once it is certain that it is not.
fn submit(
    workspace: &Workspace,
    draft: Draft,
    metadata: StepMetadata,
    call: &Call,
) -> Result<CommitOutcome> {
    if let Some(landed) = &draft.landing {
        landed.folder.lands_as(draft.id)?;
    }
    let (queue, waiter) = (&workspace.history.queue, Arc::new(Waiter::default()));
    let queued = QueuedDraft { draft, metadata, call: call.clone(), waiter: Arc::clone(&waiter) };
    let mut signal =
        if queue.enqueue(queued) { Signal::Lead } else { queue.wait(&waiter, call)? };
    loop {
        match signal {
            Signal::Finished(result, unneeded) => {
                for UnneededFile { displaced, content } in &unneeded {
                    remove_or_keep_displaced(workspace, displaced, *content);
                }
                return result;
            }
            Signal::Lead => {
                lead(workspace, &waiter, call)?;
                signal = match waiter.take_signal() {
                    Some(finished) => {
                        queue.hand_over();
                        finished
                    }
                    None => Signal::Lead,
                };
            }
        }
    }
}

/// Commits one batch. The leader waits for the lock under its own call. If that call ends, or the workspace cannot be
/// used, only the leader fails: the other drafts are still in the queue.
fn lead(workspace: &Workspace, waiter: &Arc<Waiter>, call: &Call) -> Result<()> {
    let queue = &workspace.history.queue;
    let mut guard = LeaderGuard { queue, own: waiter, batch: Vec::new(), is_done: false };
    queue.wait_for_planners();
    let locked = workspace.history.locks.acquire(call);
    let recovered = |lock| Ok((lock, recovery::recover(workspace, call)?));
    let (lock, head) = match locked.and_then(recovered) {
        Ok(ready) => ready,
        Err(fault) => {
            guard.is_done = true;
            queue.withdraw(waiter);
            queue.hand_over();
            return Err(fault);
        }
    };
    let batch = queue.next_batch();
    guard.batch = batch.iter().map(|queued| Arc::clone(&queued.waiter)).collect();
    // A batch that is recorded must also reach the disk, even if one of its calls is cancelled meanwhile.
    commit_batch(workspace, lock, head, batch, &call.without_limits());
    guard.is_done = true;
    Ok(())
}

/// An admitted draft, with its part of the batch.
struct BatchItem {
    queued: QueuedDraft,
    steps: Range<usize>,
    contents: Range<usize>,
}

fn commit_batch(
    workspace: &Workspace,
    lock: WorkspaceLock<'_>,
    head: Seq,
    drafts: Vec<QueuedDraft>,
    call: &Call,
) {
    let (going_on, ended) = split_ended(drafts);
    let (admitted, rejected) = admit(workspace, going_on);
    let outcomes = commit_admitted(workspace, head, admitted, call);
    drop(lock);
    for (waiter, result, unneeded) in outcomes {
        waiter.send(Signal::Finished(result, unneeded));
    }
    let ended = ended.into_iter().map(|(queued, fault)| (queued, Err(fault)));
    for (queued, result) in rejected.into_iter().chain(ended) {
        let waiter = Arc::clone(&queued.waiter);
        drop(queued);
        waiter.send(Signal::Finished(result, Vec::new()));
    }
}

/// Splits drafts into those whose call goes on and those whose call was cancelled or is out of time.
fn split_ended(drafts: Vec<QueuedDraft>) -> (Vec<QueuedDraft>, Vec<(QueuedDraft, Fault)>) {
    let (mut going_on, mut ended) = (Vec::with_capacity(drafts.len()), Vec::new());
    for queued in drafts {
        match queued.call.check() {
            Ok(()) => going_on.push(queued),
            Err(fault) => ended.push((queued, fault)),
        }
    }
    (going_on, ended)
}

/// Splits drafts into those of this batch, and those that have to be planned again or cannot be checked.
fn admit(
    workspace: &Workspace,
    drafts: Vec<QueuedDraft>,
) -> (Vec<QueuedDraft>, Vec<(QueuedDraft, Result<CommitOutcome>)>) {
    let mut touched: HashSet<WsPath> = HashSet::new();
    let (mut admitted, mut rejected) = (Vec::new(), Vec::new());
    for queued in drafts {
        let is_alone = !queued.draft.exclusive || admitted.is_empty();
        let may_join =
            is_alone && !admitted.iter().any(|other: &QueuedDraft| other.draft.exclusive);
        let is_as_expected = match may_join && !collides(&queued.draft, &touched) {
            true => is_as_expected(workspace, &queued.draft, &queued.call),
            false => Ok(false),
        };
        match is_as_expected {
            Ok(true) => {
                touched.extend(queued.draft.touched().cloned());
                admitted.push(queued);
            }
            Ok(false) => rejected.push((queued, Ok(CommitOutcome::Stale))),
            // Planning again would meet the same fault.
            Err(fault) => rejected.push((queued, Err(fault))),
        }
    }
    (admitted, rejected)
}

/// Whether the draft relies on a path that another draft of the batch changes.
fn collides(draft: &Draft, touched: &HashSet<WsPath>) -> bool {
    let expected = draft.basis.expectations.iter().map(|expectation| &expectation.path);
    let mut relied_on = expected.chain(draft.touched());
    !touched.is_empty() && relied_on.any(|path| touched.contains(path))
}

/// Whether the disk is still as the draft expects.
fn is_as_expected(workspace: &Workspace, draft: &Draft, call: &Call) -> Result<bool> {
    for expectation in &draft.basis.expectations {
        match is_met(workspace, expectation) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            // Another program removed or replaced a folder above the path.
            Err(fault) if is_unreadable(fault.code()) => return Ok(false),
            Err(fault) => return Err(fault),
        }
    }
    for tree in draft.basis.moved_trees() {
        if !tree.is_unchanged(&workspace.disk, call)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_met(workspace: &Workspace, expectation: &Expectation) -> Result<bool> {
    let found = workspace.disk.stat(&expectation.path)?;
    let same_folder =
        |stat: &EntryStat, inode: u64| stat.is(FileKind::Folder) && stat.signature.inode == inode;
    Ok(match (&expectation.entry, found) {
        (ExpectedEntry::Absent, found) => found.is_none(),
        (_, None) => false,
        (ExpectedEntry::Unchanged(stat), Some(found)) => *stat == found,
        (ExpectedEntry::Folder { inode }, Some(found)) => same_folder(&found, *inode),
        (ExpectedEntry::FolderHolding { inode, names }, Some(found)) => {
            same_folder(&found, *inode) && workspace.disk.list(&expectation.path)?.len() == *names
        }
    })
}

/// The result for each thread of a batch, with the displaced files that it has to remove.
type BatchOutcome = Vec<(Arc<Waiter>, Result<CommitOutcome>, Vec<UnneededFile>)>;

/// Records and projects the batch.
fn commit_admitted(
    workspace: &Workspace,
    head: Seq,
    drafts: Vec<QueuedDraft>,
    call: &Call,
) -> BatchOutcome {
    let (mut items, steps, contents) = lay_out(workspace, drafts, call);
    // From here on the batch may be recorded, even if this thread panics: its stored files must not be removed.
    let stored_files =
        items.iter_mut().flat_map(|item| &mut item.queued.draft.contents.stored_files);
    stored_files.for_each(NewlyKept::stays);
    let recorded = record(workspace, head, &items, &steps, &contents);
    let mut outcomes = Vec::with_capacity(items.len());
    let (mut is_behind, mut has_advanced) = (false, false);
    for (item, recorded) in items.drain(..).zip(recorded) {
        let waiter = Arc::clone(&item.queued.waiter);
        let (result, unneeded, progress) = project_recorded(workspace, item.queued, recorded, call);
        is_behind |= progress == DiskProgress::Behind;
        has_advanced |= progress == DiskProgress::Advanced;
        outcomes.push((waiter, result, unneeded));
    }
    if has_advanced && !is_behind {
        // If the mark cannot be moved, recovery checks these steps again and finds them done.
        let _ = advance_applied_mark(workspace, call);
    }
    outcomes
}

/// How the disk compares with the history after a draft was projected, or was not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiskProgress {
    /// Nothing was recorded, and nothing was put on disk.
    Same,
    /// Everything that was recorded is on disk.
    Advanced,
    /// What was recorded, or may have been, is not wholly on disk.
    Behind,
}

/// Puts a draft on disk if it was recorded.
fn project_recorded(
    workspace: &Workspace,
    queued: QueuedDraft,
    recorded: Result<CommitOutcome>,
    call: &Call,
) -> (Result<CommitOutcome>, Vec<UnneededFile>, DiskProgress) {
    let QueuedDraft { mut draft, metadata, .. } = queued;
    let is_full = |fault: &Fault| fault.code() == FaultCode::DiskFull;
    // A store without room has recorded nothing: the files must not take up the room that is left.
    if matches!(recorded, Ok(CommitOutcome::Stale)) || recorded.as_ref().is_err_and(is_full) {
        draft.contents.stored_files.iter_mut().for_each(NewlyKept::goes);
    }
    match recorded {
        Ok(CommitOutcome::Done) => {
            let projector = Projector { workspace, metadata: &metadata, call };
            match projector.project(draft) {
                Projection::Done(displaced) => {
                    (Ok(CommitOutcome::Done), displaced, DiskProgress::Advanced)
                }
                Projection::RolledBack(fault) => (Err(fault), Vec::new(), DiskProgress::Advanced),
                Projection::Unfinished(fault) => {
                    (Err(unfinished(&fault)), Vec::new(), DiskProgress::Behind)
                }
            }
        }
        Ok(CommitOutcome::Stale) => (Ok(CommitOutcome::Stale), Vec::new(), DiskProgress::Same),
        // A store that failed may have recorded the step all the same: recovery finds out.
        Err(fault) => (Err(fault), Vec::new(), DiskProgress::Behind),
    }
}

/// Puts the steps and contents of all drafts together.
fn lay_out(
    workspace: &Workspace,
    drafts: Vec<QueuedDraft>,
    call: &Call,
) -> (Vec<BatchItem>, Vec<NewStep>, Vec<Prepared>) {
    let (mut items, mut steps, mut contents) = (Vec::new(), Vec::new(), Vec::new());
    for mut queued in drafts {
        let (first_step, first_content) = (steps.len(), contents.len());
        steps.extend(steps_of(workspace, &queued.draft, &queued.metadata, call));
        contents.extend(std::mem::take(&mut queued.draft.contents.waiting).into_prepared());
        let (steps, contents) = (first_step..steps.len(), first_content..contents.len());
        items.push(BatchItem { queued, steps, contents });
    }
    (items, steps, contents)
}

/// The steps that a draft becomes: one for changes that were found on disk, then one for the operation itself.
fn steps_of(
    workspace: &Workspace,
    draft: &Draft,
    metadata: &StepMetadata,
    call: &Call,
) -> Vec<NewStep> {
    let own = metadata.clone().step(draft.id, draft.changes.clone());
    let own = NewStep { undoes: draft.undoes, ..own };
    let adopted = || draft.adopted.clone();
    match draft.origin {
        StepOrigin::External => {
            vec![NewStep { author: Author::External, changes: adopted(), ..own }]
        }
        StepOrigin::InPlaceCommand => vec![NewStep { changes: adopted(), ..own }],
        StepOrigin::Operation => {
            let own = NewStep { placements: placements_of(workspace, draft), ..own };
            if draft.adopted.is_empty() {
                return vec![own];
            }
            vec![external_step(StepId::new(call.world()), adopted(), metadata), own]
        }
    }
}

/// Which file each change places, and which entry it displaces. The workspace's lock is held: if another program
/// replaces an entry after this, the projection notices that.
fn placements_of(workspace: &Workspace, draft: &Draft) -> Vec<Placement> {
    let mut moved: HashMap<FileId, FileIdentity> = HashMap::new();
    let mut placements = Vec::new();
    for (index, change) in (0..).zip(&draft.changes) {
        let staged = draft.files.staged.get(&change.file);
        let is_placed = change.before.is_none() || change.from == change.to;
        let placed = staged.filter(|_| is_placed).and_then(|staged| staged.stat.identity);
        let is_folder = |state: &FileState| state.kind == FileKind::Folder;
        let changes_folder =
            change.after.as_ref().or(change.before.as_ref()).is_some_and(is_folder)
                && change.before != change.after;
        let changes_place = change.from != change.to;
        if !changes_place && !changes_folder && (staged.is_none() || change.before == change.after)
        {
            // Only the times change, or only what the store knows.
            placements.extend(touched_file(workspace, draft, index, change));
            continue;
        }
        let displaced = change.from.as_ref().and_then(|from| {
            // An entry that an earlier change of the step moves is not at its new path yet.
            let on_disk = || workspace.disk.stat(from).ok().flatten()?.identity;
            moved.get(&change.file).copied().or_else(on_disk)
        });
        if let Some(displaced) = displaced.filter(|_| changes_place) {
            moved.insert(change.file, displaced);
        }
        placements.push(Placement { change: index, placed, displaced });
    }
    placements
}

/// The file that a change touches, with the time that it gets. Its bytes may not be on disk yet.
fn touched_file(
    workspace: &Workspace,
    draft: &Draft,
    change: u64,
    of: &NewChange,
) -> Option<Placement> {
    let mtime = *draft.files.touches.get(&of.file)?;
    let found = workspace.disk.stat(of.to.as_ref()?).ok().flatten()?;
    let displaced = found.identity?;
    let placed = FileIdentity { mtime, ..displaced };
    Some(Placement { change, placed: Some(placed), displaced: Some(displaced) })
}

/// Appends all drafts at once, or one by one if one of them does not fit. Returns a result for each draft.
fn record(
    workspace: &Workspace,
    head: Seq,
    items: &[BatchItem],
    steps: &[NewStep],
    contents: &[Prepared],
) -> Vec<Result<CommitOutcome>> {
    let Some(last) = items.last() else { return Vec::new() };
    match append(workspace, head, Batch { steps, contents }, last.queued.draft.id) {
        Err(StoreError::Misfit(_)) if items.len() > 1 => {
            items.iter().map(|item| record_one(workspace, item, steps, contents)).collect()
        }
        result => items.iter().map(|_| to_outcome(result.clone())).collect(),
    }
}

fn record_one(
    workspace: &Workspace,
    item: &BatchItem,
    steps: &[NewStep],
    contents: &[Prepared],
) -> Result<CommitOutcome> {
    let head = workspace.store().head()?;
    let batch =
        Batch { steps: &steps[item.steps.clone()], contents: &contents[item.contents.clone()] };
    to_outcome(append(workspace, head, batch, item.queued.draft.id))
}

/// Appends a batch. If the store's error leaves open whether the batch was recorded, this looks for its last step.
fn append(
    workspace: &Workspace,
    head: Seq,
    batch: Batch<'_>,
    last: StepId,
) -> std::result::Result<Seq, StoreError> {
    match workspace.store().append(head, batch) {
        Err(error @ (StoreError::Io(_) | StoreError::Full | StoreError::Refused(_))) => {
            match workspace.store().step(last) {
                Ok(Some(row)) => Ok(row.seq),
                Ok(None) => Err(error),
                Err(_) => Err(StoreError::Io(format!(
                    "{error}; whether the change was recorded is not known yet, the next call will tell"
                ))),
            }
        }
        result => result,
    }
}

fn to_outcome(result: std::result::Result<Seq, StoreError>) -> Result<CommitOutcome> {
    match result {
        Ok(_) => Ok(CommitOutcome::Done),
        Err(StoreError::Moved { .. } | StoreError::Misfit(_)) => Ok(CommitOutcome::Stale),
        Err(error) => Err(error.into()),
    }
}

/// The fault for a change that is recorded but not wholly on disk: it must not say that nothing was changed.
fn unfinished(fault: &Fault) -> Fault {
    let message = fault.message();
    let why = message.split_once("; nothing was changed").map_or(message, |(why, _)| why);
    fault.reworded(format!(
        "{why}; the change is recorded and not wholly on disk yet: the next change finishes it"
    ))
}
