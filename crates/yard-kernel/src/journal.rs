//! How a change becomes durable: concurrent drafts form a batch, and one of their threads leads it.
//!
//! Under the workspace's lock it checks that every draft still finds what it expected, records all of
//! them in one store transaction (*the moment it happened*), renames their staged images into place,
//! and moves the applied mark; then everybody is told. Drafts that touch the same paths are not in one
//! batch: the later one is told to plan again once the earlier one has landed.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use yard_core::{
    Author, Call, ChatId, Fault, FaultCode, FileId, FileKind, FileState, Result, StepId, WsPath,
};
use yard_store::{
    AuditEntry, Batch, FileIdentity, Mark, NewChange, NewStep, Placement, Prepared, Rider, Seq,
    StoreError,
};

use crate::disk::{NewlyKept, Stat, WorkspaceLock};
use crate::draft::{Draft, Expect, Records, Was};
use crate::projection::{Landing, Retired, project};
use crate::recovery;
use crate::workspace::{Workspace, store_fault};

/// Most drafts that one transaction takes.
const LARGEST_BATCH: usize = 64;
/// How long a leader waits for those who are still planning: a fraction of what their flush would cost.
const GATHERING: Duration = Duration::from_micros(300);
/// How often a caller that waits for its turn looks whether its own call was cancelled or is out of time.
const LOOK_AT_CALL: Duration = Duration::from_millis(50);

/// Who stands behind a change: the gate's word, written with the step.
#[derive(Clone, Debug)]
pub struct Signed {
    /// Whom history names.
    pub author: Author,
    /// The chat that it happens in.
    pub chat: Option<ChatId>,
    /// The row in the audit chain.
    pub audit: AuditEntry,
    /// What else becomes so with the change, or keeps it from happening.
    pub riders: Vec<Rider>,
}

/// What became of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It landed.
    Done,
    /// Something moved: plan again.
    Moved,
}

/// The drafts of one workspace in this process.
#[derive(Default)]
pub(crate) struct Journal {
    queue: Mutex<Queue>,
    arrival: Condvar,
    active: Arc<AtomicUsize>,
    /// The head as this process left it last, with everything on disk; 0 where that is not known.
    left: AtomicU64,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Request>,
    led: bool,
}

struct Request {
    draft: Draft,
    signed: Signed,
    call: Call,
    slot: Arc<Slot>,
}

/// Where one caller waits.
#[derive(Default)]
struct Slot {
    word: Mutex<Option<Word>>,
    spoken: Condvar,
}

enum Word {
    /// Nobody leads: it is your turn.
    Lead,
    /// This became of your draft; what it displaced is yours to remove.
    Became(Result<Verdict>, Vec<Retired>),
}

impl Slot {
    fn say(&self, word: Word) {
        *lock(&self.word) = Some(word);
        self.spoken.notify_one();
    }

    /// The word, if it comes within `time`.
    fn listen(&self, time: Duration) -> Option<Word> {
        let word = lock(&self.word);
        let waited = self.spoken.wait_timeout_while(word, time, |word| word.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }

    fn heard(&self) -> Option<Word> {
        lock(&self.word).take()
    }

    /// Says it to who was told nothing yet.
    fn say_at_least(&self, word: Word) {
        lock(&self.word).get_or_insert(word);
        self.spoken.notify_one();
    }
}

/// What a leader owes to the others, also if it breaks off: a word, and the lead to whoever is next.
struct Duty<'a> {
    journal: &'a Journal,
    /// Where the leader itself would wait.
    own: &'a Arc<Slot>,
    slots: Vec<Arc<Slot>>,
    is_done: bool,
}

impl Drop for Duty<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        // Nothing is known of the steps at the head: the next one looks.
        self.journal.left.store(0, Ordering::Relaxed);
        self.journal.withdraw(self.own);
        for slot in &self.slots {
            slot.say_at_least(Word::Became(Err(broke_off()), Vec::new()));
        }
        self.journal.hand_over();
    }
}

fn broke_off() -> Fault {
    let message = "another change that was being made together with this one broke off; whether this one \
                   was recorded is not known yet, the history will tell";
    Fault::new(FaultCode::Io, message)
}

impl Journal {
    /// How many drafts are being planned or waiting.
    pub(crate) fn active(&self) -> &Arc<AtomicUsize> {
        &self.active
    }

    /// Whether the applied mark is where this process left it. Then the head is too, or somebody crashed
    /// after they had moved it: the next append finds out, and nothing of it happens.
    pub(crate) fn left_at(&self, seq: Seq) -> bool {
        seq != 0 && self.left.load(Ordering::Relaxed) == seq
    }

    /// Lands a draft: returns once it is durable and visible, or once it is known not to be.
    pub(crate) fn submit(
        &self,
        workspace: &Workspace,
        draft: Draft,
        signed: Signed,
        call: &Call,
    ) -> Result<Verdict> {
        let slot = Arc::new(Slot::default());
        let request = Request { draft, signed, call: call.clone(), slot: Arc::clone(&slot) };
        let mut word = if self.enqueue(request) { Word::Lead } else { self.wait(&slot, call)? };
        loop {
            match word {
                Word::Became(result, retired) => {
                    retired.into_iter().for_each(|retired| retired.go(workspace));
                    return result;
                }
                Word::Lead => {
                    self.lead(workspace, &slot, call)?;
                    word = match slot.heard() {
                        Some(became) => {
                            self.hand_over();
                            became
                        }
                        None => Word::Lead,
                    };
                }
            }
        }
    }

    /// Waits for what became of a draft, or for the turn to lead. A caller whose own call ends before its
    /// draft is part of a batch takes the draft out of the queue, and nothing is changed.
    fn wait(&self, slot: &Arc<Slot>, call: &Call) -> Result<Word> {
        loop {
            if let Some(word) = slot.listen(LOOK_AT_CALL) {
                return Ok(word);
            }
            if let Err(fault) = call.check()
                && self.withdraw(slot)
            {
                return Err(fault);
            }
        }
    }

    /// Takes a draft out of the queue; whether it was still there. If it was told to lead meanwhile, the
    /// next one is.
    fn withdraw(&self, slot: &Arc<Slot>) -> bool {
        let mut queue = lock(&self.queue);
        let place = queue.waiting.iter().position(|request| Arc::ptr_eq(&request.slot, slot));
        let request = place.and_then(|place| queue.waiting.remove(place));
        if request.is_some() && slot.heard().is_some() {
            queue.hand_over();
        }
        drop(queue);
        // Dropped after the lock is free: what the draft staged is removed with it.
        request.is_some()
    }

    /// Lands one batch. The leader waits for the lock under its own call. Where that ends, or the
    /// workspace cannot be used, only the leader fails: the others are still in the queue.
    fn lead(&self, workspace: &Workspace, slot: &Arc<Slot>, call: &Call) -> Result<()> {
        let mut duty = Duty { journal: self, own: slot, slots: Vec::new(), is_done: false };
        self.wait_for_others();
        let locked = workspace.locks.acquire(call);
        let settled = |lock| Ok((lock, recovery::settle_to_append(workspace, call)?));
        let (lock, head) = match locked.and_then(settled) {
            Ok(ready) => ready,
            Err(fault) => {
                duty.is_done = true;
                self.withdraw(slot);
                self.hand_over();
                return Err(fault);
            }
        };
        let batch = self.next_batch();
        duty.slots = batch.iter().map(|request| Arc::clone(&request.slot)).collect();
        // What is recorded for everybody is also put on disk, whoever cancels meanwhile.
        commit_batch(workspace, lock, head, batch, &call.without_limits());
        duty.is_done = true;
        Ok(())
    }

    /// Whether the caller has to lead.
    fn enqueue(&self, request: Request) -> bool {
        let mut queue = lock(&self.queue);
        queue.waiting.push_back(request);
        if queue.led {
            if queue.waiting.len() >= self.active.load(Ordering::Relaxed) {
                self.arrival.notify_one();
            }
            return false;
        }
        queue.led = true;
        true
    }

    /// While others are about to submit, waits a little: their flush is then ours.
    fn wait_for_others(&self) {
        let queue = lock(&self.queue);
        let expected = self.active.load(Ordering::Relaxed).min(LARGEST_BATCH);
        if queue.waiting.len() < expected {
            drop(self.arrival.wait_timeout(queue, GATHERING));
        }
    }

    fn next_batch(&self) -> Vec<Request> {
        let mut queue = lock(&self.queue);
        let size = queue.waiting.len().min(LARGEST_BATCH);
        queue.waiting.drain(..size).collect()
    }

    fn hand_over(&self) {
        lock(&self.queue).hand_over();
    }
}

impl Queue {
    /// Whoever is first leads from now on.
    fn hand_over(&mut self) {
        match self.waiting.front() {
            Some(next) => next.slot.say(Word::Lead),
            None => self.led = false,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        && trees.all(|tree| tree.is_unchanged(workspace))
}

fn expect_holds(workspace: &Workspace, expect: &Expect) -> Result<bool> {
    let found = workspace.disk.stat(&expect.path)?;
    let same_folder =
        |stat: &Stat, inode: u64| stat.is(FileKind::Folder) && stat.signature.inode == inode;
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
    let (recorded, mut head) = record(workspace, head, &ready, &steps, &contents);
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
                Landing::Landed { retired, extra } => {
                    landed = true;
                    gone = retired;
                    head = head.filter(|_| !extra);
                    Ok(Verdict::Done)
                }
                Landing::Compensated(fault) => {
                    landed = true;
                    head = None;
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
    match (complete, landed) {
        // If the mark cannot be moved, recovery looks at these steps again and finds them done.
        (true, true) => drop(advance(workspace, head, call)),
        // Nothing is known of the steps at the head: somebody may have recorded one and not finished it.
        (true, false) => {}
        (false, _) => workspace.journal.left.store(0, Ordering::Relaxed),
    }
    told
}

/// Says that everything recorded so far, up to `head` where it is known, is on disk.
pub(crate) fn advance(workspace: &Workspace, head: Option<Seq>, call: &Call) -> Result<()> {
    let seq = match head {
        Some(head) => head,
        None => workspace.store().head().map_err(store_fault)?,
    };
    let mark = mark_of(seq, call);
    workspace.locks.set_applied(mark)?;
    workspace.journal.left.store(seq, Ordering::Relaxed);
    workspace.flusher.flush_soon(mark);
    Ok(())
}

/// Flushes the disk, on which every step up to `seq` is: no crash can take them back then.
pub(crate) fn flush_to(workspace: &Workspace, seq: Seq, call: &Call) -> Result<()> {
    workspace.disk.flush()?;
    workspace.store().set_projected(mark_of(seq, call)).map_err(store_fault)?;
    workspace.flusher.is_flushed_to(seq);
    Ok(())
}

/// A step, under the boot that the machine is in.
pub(crate) fn mark_of(seq: Seq, call: &Call) -> Mark {
    Mark { seq, boot: call.world().boot_id() }
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
    let at = signed.audit.at;
    let own = NewStep {
        id: draft.id,
        at,
        author: signed.author,
        verb: signed.audit.action.clone(),
        chat: signed.chat,
        undoes: draft.undoes,
        changes: draft.changes.clone(),
        audit: signed.audit.clone(),
        riders: signed.riders.clone(),
        placements: Vec::new(),
    };
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

/// A step that records what somebody else did.
pub(crate) fn external_step(
    id: StepId,
    changes: Vec<yard_store::NewChange>,
    signed: &Signed,
) -> NewStep {
    let audit = AuditEntry {
        at: signed.audit.at,
        actor: Author::External.word().to_owned(),
        action: "adopt".to_owned(),
        detail: format!("found by {}", signed.audit.action),
    };
    NewStep {
        id,
        at: signed.audit.at,
        author: Author::External,
        verb: "adopt".to_owned(),
        chat: None,
        undoes: None,
        changes,
        audit,
        riders: Vec::new(),
        placements: Vec::new(),
    }
}

/// Appends all drafts at once; where one of them does not fit, one by one. What became of each, and
/// the new head where it is known.
fn record(
    workspace: &Workspace,
    head: Seq,
    ready: &[Ready],
    steps: &[NewStep],
    contents: &[Prepared],
) -> (Vec<Result<Verdict>>, Option<Seq>) {
    let Some(last) = ready.last() else { return (Vec::new(), Some(head)) };
    match append(workspace, head, Batch { steps, contents }, last.request.draft.id) {
        Err(StoreError::Misfit(_)) if ready.len() > 1 => {
            let each = ready.iter().map(|item| record_one(workspace, item, steps, contents));
            (each.collect(), None)
        }
        result => {
            let head = result.as_ref().ok().copied();
            (ready.iter().map(|_| verdict(result.clone())).collect(), head)
        }
    }
}

fn record_one(
    workspace: &Workspace,
    item: &Ready,
    steps: &[NewStep],
    contents: &[Prepared],
) -> Result<Verdict> {
    let head = workspace.store().head().map_err(store_fault)?;
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
    let appended = workspace.store().append(head, batch);
    if appended.is_err() {
        workspace.journal.left.store(0, Ordering::Relaxed);
    }
    match appended {
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
        Err(error) => Err(store_fault(error)),
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
