//! Bounded pools of blocking threads, one a kind of work, so that a burst of one never starves another.

use tokio::sync::Semaphore;
use tracing::Span;

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
}

/// The pools.
#[derive(Debug)]
pub(crate) struct Pools {
    look: Semaphore,
    walk: Semaphore,
    change: Semaphore,
    password: Semaphore,
}

impl Pools {
    /// How many threads all of them can use together.
    pub(crate) const THREADS: usize = Self::LOOK + Self::WALK + Self::CHANGE + Self::PASSWORD;

    const LOOK: usize = 32;
    const WALK: usize = 4;
    /// Writers of one workspace share a flush, so more of them at once are faster, not slower.
    const CHANGE: usize = 64;
    const PASSWORD: usize = 2;

    pub(crate) fn new() -> Self {
        Self {
            look: Semaphore::new(Self::LOOK),
            walk: Semaphore::new(Self::WALK),
            change: Semaphore::new(Self::CHANGE),
            password: Semaphore::new(Self::PASSWORD),
        }
    }

    /// Does `work` on a thread that may block, in the span of who asks; `None` if it panicked or the runtime is going down.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        kind: Work,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let semaphore = match kind {
            Work::Look => &self.look,
            Work::Walk => &self.walk,
            Work::Change => &self.change,
            Work::Password => &self.password,
        };
        let _permit = semaphore.acquire().await.ok()?;
        let span = Span::current();
        tokio::task::spawn_blocking(move || span.in_scope(work)).await.ok()
    }
}
