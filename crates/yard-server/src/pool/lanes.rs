//! A bounded number of places for one kind of work, shared out by workspace: none takes more than its
//! share, each gets one at once whatever the others do, and what waits is served in turns. What waits is
//! bounded too: beyond that a caller is told to come back later.
//!
//! It knows nothing of the work itself, nor of threads.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// How much there is of something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Places, of all workspaces together. A workspace that has none gets one all the same.
    pub(super) places: usize,
    /// Places of one workspace.
    pub(super) share: usize,
    /// Pieces of work of one workspace that wait.
    pub(super) waiting: usize,
    /// After how many seconds it is worth trying again.
    pub(super) retry_seconds: u32,
}

/// So much of a workspace's work waits that no more is taken; in so many seconds some of it will be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany(pub(crate) u32);

/// The places.
#[derive(Debug)]
pub(super) struct Lanes {
    bounds: Bounds,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    lanes: HashMap<Box<str>, Lane>,
    /// Counts who was served, so that of two lanes that are alike the one that waited longer goes first.
    served: u64,
}

/// The work of one workspace.
#[derive(Debug, Default)]
struct Lane {
    running: usize,
    waiting: VecDeque<oneshot::Sender<Place>>,
    last_served: u64,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    /// None once it was given back.
    lanes: Option<Arc<Lanes>>,
    whose: Box<str>,
}

impl Lanes {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, state: Mutex::default() })
    }

    /// A place for a piece of work of that workspace, as soon as its turn comes.
    pub(super) async fn place(self: &Arc<Self>, whose: &str) -> Result<Place, TooMany> {
        let waits = {
            let mut state = self.state();
            let lane = state.lanes.entry(whose.into()).or_default();
            let is_first = lane.waiting.is_empty();
            if lane.waiting.len() >= self.bounds.waiting {
                return Err(TooMany(self.bounds.retry_seconds));
            }
            if is_first && self.has_room(&state, whose) {
                return Ok(self.take(&mut state, whose));
            }
            let (tell, told) = oneshot::channel();
            state.lanes.entry(whose.into()).or_default().waiting.push_back(tell);
            told
        };
        // The lanes outlive whoever waits: they are held here.
        waits.await.map_err(|_| TooMany(self.bounds.retry_seconds))
    }

    fn has_room(&self, state: &State, whose: &str) -> bool {
        let own = state.lanes.get(whose).map_or(0, |lane| lane.running);
        own == 0 || (own < self.bounds.share && state.running < self.bounds.places)
    }

    fn take(self: &Arc<Self>, state: &mut State, whose: &str) -> Place {
        state.running += 1;
        state.served += 1;
        let served = state.served;
        let lane = state.lanes.entry(whose.into()).or_default();
        lane.running += 1;
        lane.last_served = served;
        Place { lanes: Some(Arc::clone(self)), whose: whose.into() }
    }

    fn give_back(self: &Arc<Self>, whose: &str) {
        let mut state = self.state();
        self.free(&mut state, whose);
        while let Some(next) = self.next(&state) {
            let waiting = state.lanes.get_mut(&next).and_then(|lane| lane.waiting.pop_front());
            let Some(tell) = waiting else { break };
            let place = self.take(&mut state, &next);
            if let Err(mut place) = tell.send(place) {
                // Whoever waited for it is gone.
                place.lanes = None;
                self.free(&mut state, &next);
            }
        }
    }

    fn free(&self, state: &mut State, whose: &str) {
        state.running -= 1;
        if let Some(lane) = state.lanes.get_mut(whose) {
            lane.running -= 1;
            if lane.running == 0 && lane.waiting.is_empty() {
                state.lanes.remove(whose);
            }
        }
    }

    /// Whose turn it is: of those that wait and may run, who has the fewest places, and then who was
    /// served longest ago.
    fn next(&self, state: &State) -> Option<Box<str>> {
        let waiting = state.lanes.iter().filter(|(_, lane)| !lane.waiting.is_empty());
        let ready = waiting.filter(|(whose, _)| self.has_room(state, whose));
        let first = ready.min_by_key(|(_, lane)| (lane.running, lane.last_served));
        first.map(|(whose, _)| whose.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(lanes) = self.lanes.take() {
            lanes.give_back(&self.whose);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    const BOUNDS: Bounds = Bounds { places: 4, share: 2, waiting: 3, retry_seconds: 7 };

    type Waits<'a> = Pin<Box<dyn Future<Output = Result<Place, TooMany>> + 'a>>;

    fn ask<'a>(lanes: &'a Arc<Lanes>, whose: &'a str) -> (Waits<'a>, Option<Place>) {
        let mut waits: Waits<'a> = Box::pin(lanes.place(whose));
        let place = poll(&mut waits);
        (waits, place)
    }

    fn poll(waits: &mut Waits<'_>) -> Option<Place> {
        match waits.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(place) => Some(place.unwrap()),
            Poll::Pending => None,
        }
    }

    #[test]
    fn g7_one_workspaces_work_never_keeps_anothers_first_piece_waiting() {
        let lanes = Lanes::new(BOUNDS);
        let mut held = Vec::new();
        for name in ["a", "b", "c", "d", "e", "f"] {
            // Two of each are wanted; the places of all together are gone after two workspaces.
            held.extend((0..2).filter_map(|_| ask(&lanes, name).1));
            assert!(held.iter().any(|place| &*place.whose == name), "{name} waits");
        }
        assert_eq!(held.iter().filter(|place| &*place.whose == "a").count(), 2);
        assert_eq!(held.iter().filter(|place| &*place.whose == "f").count(), 1);
        held.clear();
        assert!(lanes.state().lanes.is_empty() && lanes.state().running == 0);
    }

    #[test]
    fn g7_a_workspace_with_its_share_waits_and_with_too_much_is_sent_away() {
        let lanes = Lanes::new(BOUNDS);
        let (_, first) = ask(&lanes, "a");
        let (_, second) = ask(&lanes, "a");
        let mut waiting: Vec<_> = (0..3).map(|_| ask(&lanes, "a").0).collect();
        let mut one_more = pin!(lanes.place("a"));
        let sent_away = one_more.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(sent_away, Poll::Ready(Err(TooMany(7)))));
        assert!(waiting.iter_mut().all(|waits| poll(waits).is_none()));
        drop(first);
        let third = poll(&mut waiting[0]);
        assert!(third.is_some() && poll(&mut waiting[1]).is_none());
        drop((second, third));
        assert!(poll(&mut waiting[1]).is_some() && poll(&mut waiting[2]).is_some());
    }

    #[test]
    fn g7_those_who_wait_are_served_in_turns_and_those_who_left_are_passed_over() {
        let lanes = Lanes::new(Bounds { places: 1, share: 1, waiting: 9, retry_seconds: 1 });
        let (_, first) = ask(&lanes, "a");
        let (_, other) = ask(&lanes, "b");
        let (mut a1, _) = ask(&lanes, "a");
        let (a2, _) = ask(&lanes, "a");
        let (mut a3, _) = ask(&lanes, "a");
        let (mut b1, _) = ask(&lanes, "b");
        drop(a2);
        drop(first);
        let a1 = poll(&mut a1);
        assert!(a1.is_some() && poll(&mut b1).is_none());
        drop(other);
        assert!(poll(&mut b1).is_some(), "b has none, and gets one");
        drop(a1);
        assert!(poll(&mut a3).is_some(), "who left is passed over");
        assert_eq!(lanes.state().running, 0);
    }
}
