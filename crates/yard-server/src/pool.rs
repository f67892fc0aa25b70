//! Runs work that may block: a bounded number of threads for each kind of work, so that a burst of one kind
//! never delays another, and a fair share of each for every workspace (`slots`). Work that belongs to no workspace has the
//! share of its caller.
//!
//! A short look at a row or a file runs on the thread that serves the request, through tokio's
//! `block_in_place`; everything else runs on a thread of tokio's blocking pool.

mod slots;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use tracing::Span;

pub(crate) use slots::Overloaded;
use slots::{Bounds, FairSlots};

/// The kind of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WorkKind {
    /// Answers from memory, and so at once, whatever else waits.
    Memory,
    /// Looks at a row or a file.
    Look,
    /// Walks a tree.
    Walk,
    /// Changes something, and waits for the disk.
    Change,
    /// Hashes a password: much memory, much processor time.
    Password,
    /// Waits for a command.
    Run,
}

impl From<yard_dialects::Work> for WorkKind {
    fn from(work: yard_dialects::Work) -> Self {
        match work {
            yard_dialects::Work::Look => Self::Look,
            yard_dialects::Work::Walk => Self::Walk,
            yard_dialects::Work::Change => Self::Change,
            yard_dialects::Work::Run => Self::Run,
        }
    }
}

/// The slots for each kind of work.
#[derive(Debug)]
pub(crate) struct Pools {
    look: Arc<FairSlots>,
    walk: Arc<FairSlots>,
    change: Arc<FairSlots>,
    password: Arc<FairSlots>,
    run: Arc<FairSlots>,
}

/// The owner of work that belongs to no workspace and to no caller.
pub(crate) const NO_WORKSPACE: &str = "";

impl Pools {
    /// How many blocking threads all pools can use together.
    pub(crate) const THREADS: usize =
        Self::LOOK + Self::WALK + Self::CHANGE + Self::PASSWORD + Self::RUN + 5 * Self::FIRST;

    /// Further slots of each kind, for workspaces that have none while the others have taken all.
    const FIRST: usize = 64;

    const LOOK: usize = 32;
    const WALK: usize = 4;
    /// Writers of one workspace share a flush, so more of them at once are faster, not slower.
    const CHANGE: usize = 64;
    const PASSWORD: usize = 2;
    /// Commands share the machine, each with its own limits: the next ones wait.
    const RUN: usize = 16;

    pub(crate) fn new() -> Self {
        Self {
            look: slots(Self::LOOK, Self::LOOK / 2, 1_024, 1),
            walk: slots(Self::WALK, Self::WALK / 2, 512, 2),
            change: slots(Self::CHANGE, Self::CHANGE / 2, 512, 1),
            password: slots(Self::PASSWORD, Self::PASSWORD, 1_024, 1),
            run: slots(Self::RUN, Self::RUN / 2, 64, 5),
        }
    }

    /// As [`Pools::try_run`], with `None` also where too much work waits.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        owner: &str,
        kind: WorkKind,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.try_run(owner, kind, work).await.ok().flatten()
    }

    /// Runs work of another kind on the thread of work that runs already, in a slot of its own. The other work keeps its
    /// slot meanwhile, so that it may only be work of another owner.
    pub(crate) fn run_within<T>(
        &self,
        owner: &str,
        kind: WorkKind,
        work: impl FnOnce() -> T,
    ) -> Result<T, Overloaded> {
        let Some(slots) = self.slots(kind) else { return Ok(work()) };
        let _slot = Handle::current().block_on(slots.acquire(owner))?;
        Ok(work())
    }

    /// The slots for a kind of work; `None` if it needs none.
    fn slots(&self, kind: WorkKind) -> Option<&Arc<FairSlots>> {
        match kind {
            WorkKind::Memory => None,
            WorkKind::Look => Some(&self.look),
            WorkKind::Walk => Some(&self.walk),
            WorkKind::Change => Some(&self.change),
            WorkKind::Password => Some(&self.password),
            WorkKind::Run => Some(&self.run),
        }
    }

    /// Runs `work` where it may block, under the caller's request id and in its span. `owner` is the workspace, or else the
    /// caller, whose share it counts in. `None` if the work panicked or the runtime is shutting down.
    pub(crate) async fn try_run<T: Send + 'static>(
        &self,
        owner: &str,
        kind: WorkKind,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, Overloaded> {
        let Some(slots) = self.slots(kind) else { return Ok(run_in_place(work)) };
        // What bounds passwords is the memory of all: a first slot for every caller would be too many.
        let owner = if kind == WorkKind::Password { NO_WORKSPACE } else { owner };
        let slot = slots.acquire(owner).await?;
        if kind == WorkKind::Look {
            return Ok(run_in_place(work));
        }
        let span = Span::current();
        let within = move || {
            // The slot is taken for as long as the thread is, also if the caller goes away meanwhile.
            let _slot = slot;
            span.in_scope(work)
        };
        Ok(tokio::task::spawn_blocking(within).await.ok())
    }
}

fn slots(all: usize, share: usize, waiting: usize, retry_seconds: u32) -> Arc<FairSlots> {
    FairSlots::new(Bounds { all, first: Pools::FIRST, share, waiting, retry_seconds })
}

/// Runs `work` on this thread while another one takes over the runtime's other tasks. On a runtime with a
/// single thread the other tasks wait.
fn run_in_place<T>(work: impl FnOnce() -> T) -> Option<T> {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(|| catch_panic(work)),
        _ => catch_panic(work),
    }
}

/// Runs `work` on this thread; `None` if it panicked.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;

    fn with_pools(work: impl AsyncFnOnce(Arc<Pools>)) {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(work(Arc::new(Pools::new())));
    }

    #[test]
    fn looks_that_block_leave_a_thread_for_the_network() {
        const LOOKS: usize = 12;
        // Each look waits until all are under way and the network task has run.
        let all = || Arc::new(Barrier::new(LOOKS + 1));
        let (begun, end) = (all(), all());
        with_pools(async |pools| {
            let mut under_way = Vec::new();
            for _ in 0..LOOKS {
                let (pools, begun, end) = (Arc::clone(&pools), begun.clone(), end.clone());
                under_way.push(tokio::spawn(async move {
                    let look = move || {
                        begun.wait();
                        end.wait();
                    };
                    pools.run(NO_WORKSPACE, WorkKind::Look, look).await
                }));
            }
            begun.wait();
            let network = tokio::spawn(async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                "alive"
            });
            assert_eq!(network.await.unwrap(), "alive");
            end.wait();
            for look in under_way {
                assert_eq!(look.await.unwrap(), Some(()));
            }
        });
    }

    /// On an idle runtime the thread that runs the look is often the one that waited for events of all tasks.
    #[test]
    fn one_look_that_blocks_does_not_stop_the_timers() {
        with_pools(async |pools| {
            let (send, receive) = std::sync::mpsc::channel();
            let look = tokio::spawn(async move {
                // The timer wakes this task on the thread that waited for events.
                tokio::time::sleep(Duration::from_millis(50)).await;
                pools.run(NO_WORKSPACE, WorkKind::Look, move || receive.recv().unwrap()).await
            });
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            send.send(7).unwrap();
            assert_eq!(look.await.unwrap(), Some(7));
        });
    }

    #[test]
    fn what_is_in_memory_is_answered_while_no_slot_is_free() {
        with_pools(async |pools| {
            let mut taken = Vec::new();
            while taken.len() < Pools::LOOK + Pools::FIRST {
                let owner = format!("caller {}", taken.len());
                taken.push(pools.look.acquire(&owner).await.unwrap());
            }
            assert_eq!(pools.run("another", WorkKind::Memory, || 7).await, Some(7));
        });
    }

    #[test]
    fn a_runtime_with_one_thread_looks_too() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let look = runtime.block_on(Pools::new().run(NO_WORKSPACE, WorkKind::Look, || 7));
        assert_eq!(look, Some(7));
    }

    #[test]
    fn work_that_panics_answers_nothing_and_frees_its_slot() {
        with_pools(async |pools| {
            for kind in [WorkKind::Look, WorkKind::Change] {
                for _ in 0..Pools::CHANGE + 1 {
                    let panics = || panic!("on purpose");
                    assert_eq!(pools.run(NO_WORKSPACE, kind, panics).await, None::<()>);
                }
                assert_eq!(pools.run(NO_WORKSPACE, kind, || 7).await, Some(7));
            }
        });
    }
}
