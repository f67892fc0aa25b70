//! How a change becomes durable: concurrent drafts form a batch, and one of their threads leads it.
//!
//! Under the workspace's lock it checks that every draft still finds what it expected, records all of
//! them in one store transaction (*the moment it happened*), renames their staged images into place,
//! and moves the applied mark; then everybody is told. Drafts that touch the same paths are not in one
//! batch: the later one is told to plan again once the earlier one has landed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use yard_core::{Author, Call, Fault, FileId, FileKind, FileState, Result, StepId, WsPath};
use yard_disk::{EntryStat, NewlyKept, WorkspaceLock};
use yard_store::{Batch, FileIdentity, NewChange, NewStep, Placement, Prepared, Seq, StoreError};

use crate::applied::advance;
use crate::draft::{Draft, Expect, Records, Was};
use crate::journal::{Duty, Request, Retired, Slot, Verdict, Word};
use crate::op::purge;
use crate::projection::{Landing, project, retire};
use crate::proposal::{Committed, Deed, Proposal};
use crate::recovery;
use crate::signed::{Signed, external_step};
use crate::workspace::Workspace;

impl Workspace {
    /// Makes a proposal so: durable and visible, or not at all.
    pub fn commit<A>(
        &self,
        proposal: Proposal<A>,
        signed: Signed,
        call: &Call,
    ) -> Result<Committed<A>> {
        self.check_root()?;
        match proposal.deed {
            Deed::Step { draft, answer } => match submit(self, draft, signed, call)? {
                Verdict::Done => Ok(Committed::Done(answer)),
                Verdict::Moved => Ok(Committed::Moved),
            },
            Deed::Purge { files, answer } => match purge::land(self, &files, signed, call)? {
                Some(purged) => Ok(Committed::Done(answer(purged))),
                None => Ok(Committed::Moved),
            },
        }
    }
}

/// Lands a draft: returns once it is durable and visible, or once it is known not to be.
fn submit(workspace: &Workspace, draft: Draft, signed: Signed, call: &Call) -> Result<Verdict> {
    let (journal, slot) = (&workspace.journal, Arc::new(Slot::default()));
    let request = Request { draft, signed, call: call.clone(), slot: Arc::clone(&slot) };
    let mut word = if journal.enqueue(request) { Word::Lead } else { journal.wait(&slot, call)? };
    loop {
        match word {
            Word::Became(result, retired) => {
                retired.into_iter().for_each(|retired| retire(workspace, retired));
                return result;
            }
            Word::Lead => {
                lead(workspace, &slot, call)?;
                word = match slot.heard() {
                    Some(became) => {
                        journal.hand_over();
                        became
                    }
                    None => Word::Lead,
                };
            }
        }
    }
}

/// Lands one batch. The leader waits for the lock under its own call. Where that ends, or the
/// workspace cannot be used, only the leader fails: the others are still in the queue.
fn lead(workspace: &Workspace, slot: &Arc<Slot>, call: &Call) -> Result<()> {
    let journal = &workspace.journal;
    let mut duty = Duty { journal, own: slot, slots: Vec::new(), is_done: false };
    journal.wait_for_others();
    let locked = workspace.locks.acquire(call);
    let settled = |lock| Ok((lock, recovery::settle(workspace, call)?));
    let (lock, head) = match locked.and_then(settled) {
        Ok(ready) => ready,
        Err(fault) => {
            duty.is_done = true;
            journal.withdraw(slot);
            journal.hand_over();
            return Err(fault);
        }
    };
    let batch = journal.next_batch();
    duty.slots = batch.iter().map(|request| Arc::clone(&request.slot)).collect();
    // What is recorded for everybody is also put on disk, whoever cancels meanwhile.
    commit_batch(workspace, lock, head, batch, &call.without_limits());
    duty.is_done = true;
    Ok(())
}

/// A request that may land, with its part of the batch.
struct Ready {
    request: Request,
    steps: Range<usize>,
    contents: Range<usize>,
}

fn commit_batch(
    workspace: &Workspace,
    lock: WorkspaceLock<'_>,
    head: Seq,
    requests: Vec<Request>,
    call: &Call,
) {
    let (requests, ended) = in_time(requests);
    let (admitted, moved) = admit(workspace, requests);
    let told = land(workspace, head, admitted, call);
    drop(lock);
    for (slot, result, retired) in told {
        slot.say(Word::Became(result, retired));
    }
    let moved = moved.into_iter().map(|request| (request, Ok(Verdict::Moved)));
    let ended = ended.into_iter().map(|(request, fault)| (request, Err(fault)));
    for (request, result) in moved.chain(ended) {
        let slot = Arc::clone(&request.slot);
        drop(request);
        slot.say(Word::Became(result, Vec::new()));
    }
}

/// Those whose own call goes on, and those whose call was cancelled or is out of time.
fn in_time(requests: Vec<Request>) -> (Vec<Request>, Vec<(Request, Fault)>) {
    let (mut going_on, mut ended) = (Vec::with_capacity(requests.len()), Vec::new());
    for request in requests {
        match request.call.check() {
            Ok(()) => going_on.push(request),
            Err(fault) => ended.push((request, fault)),
        }
    }
    (going_on, ended)
}

/// Who may land in this batch, and who has to plan again.
fn admit(workspace: &Workspace, requests: Vec<Request>) -> (Vec<Request>, Vec<Request>) {
    let mut taken: HashSet<WsPath> = HashSet::new();
    let (mut admitted, mut moved) = (Vec::new(), Vec::new());
    for request in requests {
        let alone = !request.draft.exclusive || admitted.is_empty();
        let free = alone && !admitted.iter().any(|other: &Request| other.draft.exclusive);
        if free && !collides(&request.draft, &taken) && holds(workspace, &request.draft) {
            taken.extend(request.draft.touched().cloned());
            admitted.push(request);
        } else {
            moved.push(request);
        }
    }
    (admitted, moved)
}

/// Whether the draft relies on a path that another draft of the batch changes.
fn collides(draft: &Draft, taken: &HashSet<WsPath>) -> bool {
    let relied = draft.expects.iter().map(|expect| &expect.path).chain(draft.touched());
    !taken.is_empty() && { relied }.any(|path| taken.contains(path))
}

/// Whether the disk is still as the draft expects.
fn holds(workspace: &Workspace, draft: &Draft) -> bool {
    let mut trees = draft.moved_trees.get().into_iter().flatten();
    draft.expects.iter().all(|expect| expect_holds(workspace, expect).unwrap_or(false))
        && trees.all(|tree| tree.is_unchanged(&workspace.disk))
}

fn expect_holds(workspace: &Workspace, expect: &Expect) -> Result<bool> {
    let found = workspace.disk.stat(&expect.path)?;
    let same_folder =
        |stat: &EntryStat, inode: u64| stat.is(FileKind::Folder) && stat.signature.inode == inode;
    Ok(match (&expect.was, found) {
        (Was::Absent, found) => found.is_none(),
        (_, None) => false,
        (Was::Seen(stat), Some(found)) => *stat == found,
        (Was::Folder { inode }, Some(found)) => same_folder(&found, *inode),
        (Was::Holding { inode, names }, Some(found)) => {
            same_folder(&found, *inode) && workspace.disk.list(&expect.path)?.len() == *names
        }
    })
}

type Told = Vec<(Arc<Slot>, Result<Verdict>, Vec<Retired>)>;

/// Records and projects the batch; what to tell everybody.
fn land(workspace: &Workspace, head: Seq, requests: Vec<Request>, call: &Call) -> Told {
    let (mut ready, steps, contents) = lay_out(workspace, requests, call);
    // From here on it may be recorded, whatever becomes of this thread.
    let kept = ready.iter_mut().flat_map(|item| &mut item.request.draft.kept);
    kept.for_each(NewlyKept::stays);
    let recorded = record(workspace, head, &ready, &steps, &contents);
    let mut told = Vec::with_capacity(ready.len());
    let (mut complete, mut landed) = (true, false);
    for (item, recorded) in ready.drain(..).zip(recorded) {
        let Request { mut draft, signed, slot, .. } = item.request;
        if matches!(recorded, Ok(Verdict::Moved)) {
            draft.kept.iter_mut().for_each(NewlyKept::goes);
        }
        let mut gone = Vec::new();
        let result = match recorded {
            Ok(Verdict::Done) => match project(workspace, draft, &signed, call) {
                Landing::Landed(retired) => {
                    landed = true;
                    gone = retired;
                    Ok(Verdict::Done)
                }
                Landing::Compensated(fault) => {
                    landed = true;
                    Err(fault)
                }
                Landing::Unfinished(fault) => {
                    complete = false;
                    Err(unfinished(&fault))
                }
            },
            // A store that failed may have recorded the step all the same: recovery will look.
            Err(fault) => {
                complete = false;
                Err(fault)
            }
            moved => moved,
        };
        told.push((slot, result, gone));
    }
    if complete && landed {
        // If the mark cannot be moved, recovery looks at these steps again and finds them done.
        let _ = advance(workspace, call);
    }
    told
}

fn lay_out(
    workspace: &Workspace,
    requests: Vec<Request>,
    call: &Call,
) -> (Vec<Ready>, Vec<NewStep>, Vec<Prepared>) {
    let (mut ready, mut steps, mut contents) = (Vec::new(), Vec::new(), Vec::new());
    for mut request in requests {
        let (first_step, first_content) = (steps.len(), contents.len());
        steps.extend(steps_of(workspace, &request.draft, &request.signed, call));
        contents.append(&mut request.draft.contents);
        let (steps, contents) = (first_step..steps.len(), first_content..contents.len());
        ready.push(Ready { request, steps, contents });
    }
    (ready, steps, contents)
}

/// The steps that a draft becomes: what happened behind our back, then what the caller did.
fn steps_of(workspace: &Workspace, draft: &Draft, signed: &Signed, call: &Call) -> Vec<NewStep> {
    let own = signed.clone().step(draft.id, draft.changes.clone());
    let own = NewStep { undoes: draft.undoes, ..own };
    let adopted = || draft.adopted.clone();
    match draft.records {
        Records::Others => vec![NewStep { author: Author::External, changes: adopted(), ..own }],
        Records::Callers => vec![NewStep { changes: adopted(), ..own }],
        Records::Nothing => {
            let own = NewStep { placements: placements_of(workspace, draft), ..own };
            if draft.adopted.is_empty() {
                return vec![own];
            }
            vec![external_step(StepId::new(call.world()), adopted(), signed), own]
        }
    }
}

/// What the changes of a draft are about to do to the disk. The workspace's lock is held: what they
/// displace is as it is seen here, or somebody saves in between, which the projection finds out.
fn placements_of(workspace: &Workspace, draft: &Draft) -> Vec<Placement> {
    let mut moved: HashMap<FileId, FileIdentity> = HashMap::new();
    let mut placements = Vec::new();
    for (index, change) in (0..).zip(&draft.changes) {
        let staged = draft.staged.get(&change.file);
        let is_placed = change.before.is_none() || change.from == change.to;
        let placed = staged.filter(|_| is_placed).and_then(|staged| staged.stat.identity);
        let is_folder = |state: &FileState| state.kind == FileKind::Folder;
        let changes_folder =
            change.after.as_ref().or(change.before.as_ref()).is_some_and(is_folder)
                && change.before != change.after;
        let changes_place = change.from != change.to;
        if !changes_place && !changes_folder && (staged.is_none() || change.before == change.after)
        {
            // Only the times, or only what the store knows, change.
            placements.extend(touched(workspace, draft, index, change));
            continue;
        }
        let displaced = change.from.as_ref().and_then(|from| {
            // What an earlier change of the step moved is not at its new path yet.
            let found = || workspace.disk.stat(from).ok().flatten()?.identity;
            moved.get(&change.file).copied().or_else(found)
        });
        if let Some(displaced) = displaced.filter(|_| changes_place) {
            moved.insert(change.file, displaced);
        }
        placements.push(Placement { change: index, placed, displaced });
    }
    placements
}

/// The file that a change touches, with the time that it is about to get. Its bytes may not be on disk yet.
fn touched(workspace: &Workspace, draft: &Draft, change: u64, of: &NewChange) -> Option<Placement> {
    let mtime = *draft.touches.get(&of.file)?;
    let found = workspace.disk.stat(of.to.as_ref()?).ok().flatten()?;
    let displaced = found.identity?;
    let placed = FileIdentity { mtime, ..displaced };
    Some(Placement { change, placed: Some(placed), displaced: Some(displaced) })
}

/// Appends all drafts at once, or one by one where one of them does not fit. Returns what became of each.
fn record(
    workspace: &Workspace,
    head: Seq,
    ready: &[Ready],
    steps: &[NewStep],
    contents: &[Prepared],
) -> Vec<Result<Verdict>> {
    let Some(last) = ready.last() else { return Vec::new() };
    match append(workspace, head, Batch { steps, contents }, last.request.draft.id) {
        Err(StoreError::Misfit(_)) if ready.len() > 1 => {
            ready.iter().map(|item| record_one(workspace, item, steps, contents)).collect()
        }
        result => ready.iter().map(|_| verdict(result.clone())).collect(),
    }
}

fn record_one(
    workspace: &Workspace,
    item: &Ready,
    steps: &[NewStep],
    contents: &[Prepared],
) -> Result<Verdict> {
    let head = workspace.store().head()?;
    let batch =
        Batch { steps: &steps[item.steps.clone()], contents: &contents[item.contents.clone()] };
    verdict(append(workspace, head, batch, item.request.draft.id))
}

/// Appends; where the store's answer leaves open whether it happened, looks.
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

fn verdict(result: std::result::Result<Seq, StoreError>) -> Result<Verdict> {
    match result {
        Ok(_) => Ok(Verdict::Done),
        Err(StoreError::Moved { .. } | StoreError::Misfit(_)) => Ok(Verdict::Moved),
        Err(error) => Err(error.into()),
    }
}

/// It happened and is not wholly seen yet: the caller must not be told that nothing did.
fn unfinished(fault: &Fault) -> Fault {
    let told = fault.message();
    let why = told.split_once("; nothing was changed").map_or(told, |(why, _)| why);
    fault.reworded(format!(
        "{why}; the change is recorded and not wholly on disk yet: the next change finishes it"
    ))
}
