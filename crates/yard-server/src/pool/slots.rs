//! A bounded number of slots for one kind of work, shared out by workspace. No workspace takes more than its share,
//! some slots are only for workspaces that have none, and waiting work is served in turns.
//! The queues are bounded too: beyond that a caller is asked to try again later.
//!
//! This module knows nothing of the work itself, nor of threads.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The limits of one kind of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Slots of all workspaces together.
    pub(super) all: usize,
    /// Further slots, for workspaces that have none while the others have taken all.
    pub(super) first: usize,
    /// Slots of one workspace.
    pub(super) share: usize,
    /// Pieces of work of one workspace that may wait.
    pub(super) waiting: usize,
    /// After how many seconds it is worth trying again.
    pub(super) retry_seconds: u32,
}

/// Too much work of a workspace or a caller waits already. In so many seconds some of it will be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overloaded(pub(crate) u32);

impl fmt::Display for Overloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "as much is under way as may be at a time, and much more waits; try again in {} s",
            self.0
        )
    }
}

/// The slots of one kind of work.
#[derive(Debug)]
pub(super) struct FairSlots {
    bounds: Bounds,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    queues: HashMap<Box<str>, WorkspaceQueue>,
    /// Counts the slots that were given out, so that of two equal workspaces the one that waited longer
    /// goes first.
    served: u64,
}

/// The work of one workspace.
#[derive(Debug, Default)]
struct WorkspaceQueue {
    running: usize,
    waiting: VecDeque<oneshot::Sender<Slot>>,
    last_served: u64,
}

/// A slot, which is taken until this is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    /// `None` once the slot was released.
    slots: Option<Arc<FairSlots>>,
    workspace: Box<str>,
}

impl FairSlots {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, state: Mutex::default() })
    }

    /// Waits for a slot for a piece of work of that workspace.
    pub(super) async fn acquire(self: &Arc<Self>, workspace: &str) -> Result<Slot, Overloaded> {
        let receiver = {
            let mut state = self.state.lock();
            let queue = state.queues.entry(workspace.into()).or_default();
            // A caller whose client disconnected waits no more.
            queue.waiting.retain(|sender| !sender.is_closed());
            let is_first = queue.waiting.is_empty();
            if queue.waiting.len() >= self.bounds.waiting {
                return Err(Overloaded(self.bounds.retry_seconds));
            }
            if is_first && self.may_run(&state, workspace) {
                return Ok(self.take(&mut state, workspace));
            }
            let (sender, receiver) = oneshot::channel();
            state.queues.entry(workspace.into()).or_default().waiting.push_back(sender);
            receiver
        };
        // `self` keeps the sender alive for as long as this waits.
        receiver.await.map_err(|_| Overloaded(self.bounds.retry_seconds))
    }

    fn may_run(&self, state: &State, workspace: &str) -> bool {
        let own = state.queues.get(workspace).map_or(0, |queue| queue.running);
        let all = self.bounds.all + if own == 0 { self.bounds.first } else { 0 };
        own < self.bounds.share && state.running < all
    }

    fn take(self: &Arc<Self>, state: &mut State, workspace: &str) -> Slot {
        state.running += 1;
        state.served += 1;
        let served = state.served;
        let queue = state.queues.entry(workspace.into()).or_default();
        queue.running += 1;
        queue.last_served = served;
        Slot { slots: Some(Arc::clone(self)), workspace: workspace.into() }
    }

    /// Frees a slot and hands free slots to the work that waits.
    fn release(self: &Arc<Self>, workspace: &str) {
        let mut state = self.state.lock();
        self.free(&mut state, workspace);
        while let Some(next) = self.next(&state) {
            let waiting = state.queues.get_mut(&next).and_then(|queue| queue.waiting.pop_front());
            let Some(sender) = waiting else { break };
            let slot = self.take(&mut state, &next);
            if let Err(mut slot) = sender.send(slot) {
                // The task that waited was dropped. The lock is held here: the slot must not release itself.
                slot.slots = None;
                self.free(&mut state, &next);
            }
        }
    }

    fn free(&self, state: &mut State, workspace: &str) {
        state.running -= 1;
        if let Some(queue) = state.queues.get_mut(workspace) {
            queue.running -= 1;
            if queue.running == 0 && queue.waiting.is_empty() {
                state.queues.remove(workspace);
            }
        }
    }

    /// The workspace to serve next: of those with waiting work that may run, the one with the fewest
    /// slots, and among equals the one that was served longest ago.
    fn next(&self, state: &State) -> Option<Box<str>> {
        let waiting = state.queues.iter().filter(|(_, queue)| !queue.waiting.is_empty());
        let ready = waiting.filter(|(workspace, _)| self.may_run(state, workspace));
        let first = ready.min_by_key(|(_, queue)| (queue.running, queue.last_served));
        first.map(|(workspace, _)| workspace.clone())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(slots) = self.slots.take() {
            slots.release(&self.workspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    const BOUNDS: Bounds = Bounds { all: 4, first: 4, share: 2, waiting: 3, retry_seconds: 7 };

    type Waits<'a> = Pin<Box<dyn Future<Output = Result<Slot, Overloaded>> + 'a>>;

    fn ask<'a>(slots: &'a Arc<FairSlots>, workspace: &'a str) -> (Waits<'a>, Option<Slot>) {
        let mut waits: Waits<'a> = Box::pin(slots.acquire(workspace));
        let slot = poll(&mut waits);
        (waits, slot)
    }

    fn poll(waits: &mut Waits<'_>) -> Option<Slot> {
        match waits.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(slot) => Some(slot.unwrap()),
            Poll::Pending => None,
        }
    }

    #[test]
    fn g7_one_workspaces_work_never_keeps_anothers_first_piece_waiting() {
        let slots = FairSlots::new(BOUNDS);
        let mut held = Vec::new();
        for name in ["a", "b", "c", "d", "e", "f"] {
            // Two of each are wanted; the slots of all together are gone after two workspaces.
            held.extend((0..2).filter_map(|_| ask(&slots, name).1));
            assert!(held.iter().any(|slot| &*slot.workspace == name), "{name} waits");
        }
        assert_eq!(held.iter().filter(|slot| &*slot.workspace == "a").count(), 2);
        assert_eq!(held.iter().filter(|slot| &*slot.workspace == "f").count(), 1);
        assert!(
            ask(&slots, "g").1.is_none(),
            "the slots for workspaces that have none are bounded"
        );
        held.clear();
        assert!(slots.state.lock().queues.is_empty() && slots.state.lock().running == 0);
    }

    #[test]
    fn g7_a_workspace_with_its_share_waits_and_with_too_much_is_sent_away() {
        let slots = FairSlots::new(BOUNDS);
        let (_, first) = ask(&slots, "a");
        let (_, second) = ask(&slots, "a");
        let mut waiting: Vec<_> = (0..3).map(|_| ask(&slots, "a").0).collect();
        let mut one_more = pin!(slots.acquire("a"));
        let sent_away = one_more.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(sent_away, Poll::Ready(Err(Overloaded(7)))));
        assert!(waiting.iter_mut().all(|waits| poll(waits).is_none()));
        drop(first);
        let third = poll(&mut waiting[0]);
        assert!(third.is_some() && poll(&mut waiting[1]).is_none());
        drop((second, third));
        assert!(poll(&mut waiting[1]).is_some() && poll(&mut waiting[2]).is_some());
    }

    #[test]
    fn g7_those_who_wait_are_served_in_turns_and_those_who_left_are_passed_over() {
        let bounds = Bounds { all: 1, first: 1, share: 1, waiting: 9, retry_seconds: 1 };
        let slots = FairSlots::new(bounds);
        let (_, first) = ask(&slots, "a");
        let (_, other) = ask(&slots, "b");
        let (mut a1, _) = ask(&slots, "a");
        let (a2, _) = ask(&slots, "a");
        let (mut a3, _) = ask(&slots, "a");
        let (mut b1, _) = ask(&slots, "b");
        drop(a2);
        drop(first);
        let a1 = poll(&mut a1);
        assert!(a1.is_some() && poll(&mut b1).is_none());
        drop(other);
        assert!(poll(&mut b1).is_some(), "b has none, and gets one");
        drop(a1);
        assert!(poll(&mut a3).is_some(), "who left is passed over");
        assert_eq!(slots.state.lock().running, 0);
    }
}
