//! The context of a call: clock and randomness, a deadline, a cancel flag, the caller's read access and a listener for
//! progress. Every loop over files, or over the pieces of a large one, checks it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::{Fault, FaultCode, ReadAccess, Result, Timestamp, WsPath};

/// Clock, randomness and machine identity. Only the composition root implements it for real.
pub trait World: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// Sixteen random bytes.
    fn random(&self) -> u128;
    /// Thirty-two bytes from a cryptographic source; `None` if the machine has none.
    fn secret(&self) -> Option<[u8; 32]>;
    /// The id of this boot of the machine: bytes that were not flushed may be lost when it changes.
    fn boot_id(&self) -> u128;
    /// Time since a fixed moment, to measure durations. The default uses the wall clock; worlds with a monotonic clock
    /// override it.
    fn elapsed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.now().as_millis()).unwrap_or(0))
    }
}

/// Gets the progress of a long call.
pub trait Progress: Send + Sync {
    /// `done` of `total` (when it is known) are finished.
    fn report(&self, done: u64, total: Option<u64>);
}

/// The context of one call.
#[derive(Clone)]
pub struct Call {
    world: Arc<dyn World>,
    /// By the clock of [`World::elapsed`].
    deadline: Option<Duration>,
    cancelled: Arc<AtomicBool>,
    progress: Option<Arc<dyn Progress>>,
    reading: Option<Arc<dyn ReadAccess>>,
}

impl Call {
    /// A call without a deadline.
    pub fn new(world: Arc<dyn World>) -> Self {
        let cancelled = Arc::default();
        Self { world, deadline: None, cancelled, progress: None, reading: None }
    }

    /// The same call, for a caller who may read only some of the files.
    #[must_use]
    pub fn with_read_access(mut self, reading: Option<Arc<dyn ReadAccess>>) -> Self {
        self.reading = reading;
        self
    }

    /// What the caller may read, where that is not everything.
    pub fn reading(&self) -> Option<&dyn ReadAccess> {
        self.reading.as_deref()
    }

    /// Whether the caller may read the contents of the file at this path.
    pub fn may_read(&self, path: &WsPath) -> bool {
        self.reading.as_ref().is_none_or(|reading| reading.may_read(path))
    }

    /// Whether the caller may see the name of the entry at this path.
    pub fn may_list(&self, path: &WsPath) -> bool {
        self.reading.as_ref().is_none_or(|reading| reading.may_list(path))
    }

    /// The same call, given at most `millis` milliseconds from now.
    #[must_use]
    pub fn within_millis(mut self, millis: i64) -> Self {
        let millis = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
        self.deadline = Some(self.world.elapsed().saturating_add(millis));
        self
    }

    /// The same call, reporting its progress to `progress`.
    #[must_use]
    pub fn reporting_to(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// The same call without a deadline and without a way to cancel it, for work that must be finished once it has
    /// begun.
    #[must_use]
    pub fn without_limits(&self) -> Self {
        Self { deadline: None, cancelled: Arc::default(), ..self.clone() }
    }

    /// The clock and randomness of this call.
    pub fn world(&self) -> &dyn World {
        self.world.as_ref()
    }

    /// The same world, for work that continues after this call.
    pub fn shared_world(&self) -> Arc<dyn World> {
        Arc::clone(&self.world)
    }

    /// The flag that makes the call fail at its next check.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// Whether the call is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Fails once the call is cancelled or its deadline is over.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Fault::new(
                FaultCode::Timeout,
                "the call was cancelled; nothing was changed. Call again if it is still wanted",
            ));
        }
        match self.deadline {
            Some(deadline) if self.world.elapsed() > deadline => Err(Fault::new(
                FaultCode::Timeout,
                "the call ran out of time; nothing was changed. Narrow it (a deeper path, a smaller limit) and call again",
            )),
            _ => Ok(()),
        }
    }

    /// Reports progress, if there is a listener.
    pub fn progress(&self, done: u64, total: Option<u64>) {
        if let Some(progress) = &self.progress {
            progress.report(done, total);
        }
    }
}
