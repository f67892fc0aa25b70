//! Where work that may block is done: bounded pools of threads, one a kind of work, so that a burst of
//! one never starves another; and each shared out by workspace (`lanes`), so that none starves another.
//!
//! A look is done in place where it can be: it mostly takes less time than waking another thread, and it
//! is nearly all that agents ask for. At most all but one of the runtime's threads look at the same
//! time, so that one is always left for the network, however long a disk takes; it sleeps until it is
//! needed. The next look waits a moment for its turn before it goes to another thread.

mod lanes;
mod spare;

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tracing::Span;

pub(crate) use lanes::TooMany;
use lanes::{Bounds, Lanes};
use spare::Spare;

use crate::request_id::RequestId;

/// What a piece of work is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    /// Looks at a row or a file.
    Look,
    /// Walks a tree.
    Walk,
    /// Changes something, and waits for the disk.
    Change,
    /// Hashes a password: much memory, much processor.
    Password,
    /// Waits for a command.
    Run,
}

impl From<yard_dialects::Work> for Work {
    fn from(work: yard_dialects::Work) -> Self {
        match work {
            yard_dialects::Work::Look => Self::Look,
            yard_dialects::Work::Walk => Self::Walk,
            yard_dialects::Work::Save | yard_dialects::Work::Change => Self::Change,
            yard_dialects::Work::Run => Self::Run,
        }
    }
}

/// The pools.
#[derive(Debug)]
pub(crate) struct Pools {
    in_place: Semaphore,
    spare: Arc<Spare>,
    look: Arc<Lanes>,
    walk: Arc<Lanes>,
    change: Arc<Lanes>,
    password: Arc<Lanes>,
    run: Arc<Lanes>,
}

/// Work that belongs to no workspace.
pub(crate) const NOBODY: &str = "";

impl Pools {
    /// How many blocking threads all of them can use together. A workspace gets a place of each kind even
    /// where the others have taken all: there is a thread for that too.
    pub(crate) const THREADS: usize =
        Self::LOOK + Self::WALK + Self::CHANGE + Self::PASSWORD + Self::RUN + 4 * Self::WORKSPACES;

    /// Workspaces that are busy at a time and find a thread at once.
    const WORKSPACES: usize = 64;

    const LOOK: usize = 32;
    const WALK: usize = 4;
    /// Writers of one workspace share a flush, so more of them at once are faster, not slower.
    const CHANGE: usize = 64;
    const PASSWORD: usize = 2;
    /// Commands share the machine, each with its own limits: the next ones wait for their turn.
    const RUN: usize = 16;
    /// How long a look waits for those that are done in place: each takes some microseconds, unless a
    /// disk is slow.
    const TURN: Duration = Duration::from_millis(20);

    /// How many threads the runtime has: one for each processor, of which all may look at a time, and
    /// one for the network.
    pub(crate) fn workers() -> usize {
        available_parallelism().map_or(1, NonZero::get).max(2) + 1
    }

    pub(crate) fn new() -> Self {
        Self {
            in_place: Semaphore::new(Self::workers() - 1),
            spare: Arc::new(Spare::new()),
            look: shared(Self::LOOK, Self::LOOK / 2, 1_024, 1),
            walk: shared(Self::WALK, Self::WALK / 2, 512, 2),
            change: shared(Self::CHANGE, Self::CHANGE / 2, 512, 1),
            password: shared(Self::PASSWORD, Self::PASSWORD, 1_024, 1),
            run: shared(Self::RUN, Self::RUN / 2, 64, 5),
        }
    }

    /// Lets one thread of a runtime, which has [`Pools::workers`], sleep until it is needed, or until what
    /// is returned is dropped: a runtime that ends waits for its threads.
    pub(crate) fn rest_one(&self, runtime: &Runtime) -> Resting {
        runtime.spawn(Arc::clone(&self.spare).rest());
        Resting(Arc::clone(&self.spare))
    }

    /// A turn to look in place; `None` if it did not come soon.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        match self.in_place.try_acquire() {
            Ok(permit) => Some(permit),
            Err(_) => timeout(Self::TURN, self.in_place.acquire()).await.ok()?.ok(),
        }
    }

    /// As [`Pools::try_run`]; what is too much has no answer either.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        whose: &str,
        kind: Work,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.try_run(whose, kind, work).await.ok().flatten()
    }

    /// Does `work` of a workspace where it may block, for the request and in the span of who asks; nothing
    /// if it panicked or the runtime is going down.
    pub(crate) async fn try_run<T: Send + 'static>(
        &self,
        whose: &str,
        kind: Work,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, TooMany> {
        let lanes = match kind {
            Work::Look => &self.look,
            Work::Walk => &self.walk,
            Work::Change => &self.change,
            Work::Password => &self.password,
            Work::Run => &self.run,
        };
        if kind == Work::Look
            && let Some(_permit) = self.turn().await
        {
            let _looking = self.spare.looking();
            return Ok(here(work));
        }
        let place = lanes.place(whose).await?;
        let (span, request) = (Span::current(), RequestId::current());
        let work = move || span.in_scope(work);
        let within = move || {
            // The place is taken for as long as the thread is, also if the caller goes away meanwhile.
            let _place = place;
            match request {
                Some(request) => request.in_scope(work),
                None => work(),
            }
        };
        Ok(tokio::task::spawn_blocking(within).await.ok())
    }
}

fn shared(places: usize, share: usize, waiting: usize, retry_seconds: u32) -> Arc<Lanes> {
    Lanes::new(Bounds { places, share, waiting, retry_seconds })
}

/// A thread that sleeps.
pub(crate) struct Resting(Arc<Spare>);

impl Drop for Resting {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Does `work` in place, as on a thread of a pool: what panics answers nothing and ends nothing else.
pub(crate) fn here<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    /// As a server has it: one thread sleeps.
    fn with_pools(work: impl AsyncFnOnce(Arc<Pools>)) {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(Pools::workers()).enable_all().build().unwrap();
        let pools = Arc::new(Pools::new());
        let _resting = pools.rest_one(&runtime);
        runtime.block_on(work(Arc::clone(&pools)));
        assert_eq!(pools.in_place.available_permits(), Pools::workers() - 1);
    }

    #[test]
    fn looks_that_wait_leave_a_thread_for_the_network() {
        let looks = Pools::workers() + 4;
        // Each look waits until all are under way and the network's turn has come.
        let (stuck, rest) = (Arc::new(Barrier::new(looks + 1)), Arc::new(Barrier::new(looks + 1)));
        with_pools(async |pools| {
            let mut under_way = Vec::new();
            for _ in 0..looks {
                let (pools, stuck, rest) = (Arc::clone(&pools), stuck.clone(), rest.clone());
                under_way.push(tokio::spawn(async move {
                    let look = move || {
                        stuck.wait();
                        rest.wait();
                    };
                    pools.run(NOBODY, Work::Look, look).await
                }));
            }
            stuck.wait();
            let network = tokio::spawn(async {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                "alive"
            });
            assert_eq!(network.await.unwrap(), "alive");
            rest.wait();
            for look in under_way {
                assert_eq!(look.await.unwrap(), Some(()));
            }
        });
    }

    /// On a runtime that is idle otherwise the thread that looks is often the one that listened for all.
    #[test]
    fn a_single_look_that_waits_does_not_stop_the_network() {
        with_pools(async |pools| {
            let (told, tell) = std::sync::mpsc::channel();
            let look = tokio::spawn(async move {
                // Woken by the timer, on the thread that listens.
                tokio::time::sleep(Duration::from_millis(100)).await;
                pools.run(NOBODY, Work::Look, move || tell.recv().unwrap()).await
            });
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            told.send(7).unwrap();
            assert_eq!(look.await.unwrap(), Some(7));
        });
    }

    /// While it is up nobody watches: the thread that listened must not be stuck in a look either.
    #[test]
    fn a_look_that_waits_while_nobody_watches_does_not_stop_the_network() {
        with_pools(async |pools| {
            let slow = || std::thread::sleep(Duration::from_millis(60));
            pools.run(NOBODY, Work::Look, slow).await.unwrap();
            for _ in 0..4 {
                let (told, tell) = std::sync::mpsc::channel();
                let pools = Arc::clone(&pools);
                let look = tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    let soon = Duration::from_secs(10);
                    pools.run(NOBODY, Work::Look, move || tell.recv_timeout(soon).ok()).await
                });
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    told.send(7).unwrap();
                });
                assert_eq!(look.await.unwrap(), Some(Some(7)));
            }
        });
    }

    /// It sleeps again after a while: then another thread has to listen to the network.
    #[test]
    fn the_network_is_alive_when_the_spare_thread_sleeps_again() {
        with_pools(async |pools| {
            for _ in 0..3 {
                let slow = || std::thread::sleep(Duration::from_millis(60));
                pools.run(NOBODY, Work::Look, slow).await.unwrap();
                // Long enough for it to be awake, to sleep again and to stop to watch.
                for pause in [900, 200, 400, 1_500] {
                    let asleep = tokio::time::sleep(Duration::from_millis(pause));
                    let on_a_thread = tokio::spawn(asleep);
                    let soon = Duration::from_secs(20);
                    let (done, late) = std::sync::mpsc::channel();
                    tokio::spawn(async move {
                        on_a_thread.await.unwrap();
                        done.send(()).unwrap();
                    });
                    // A clock of its own: the runtime's may have stopped.
                    late.recv_timeout(soon).expect("the runtime's clock goes on");
                }
            }
        });
    }

    #[test]
    fn work_that_panics_answers_nothing_and_leaves_its_place_to_the_next() {
        with_pools(async |pools| {
            for kind in [Work::Look, Work::Change] {
                for _ in 0..Pools::workers() + 1 {
                    assert_eq!(pools.run(NOBODY, kind, || panic!("on purpose")).await, None::<()>);
                }
                assert_eq!(pools.run(NOBODY, kind, || 7).await, Some(7));
            }
        });
    }
}
