//! What every plan and run is handed: the world's clock and dice, a deadline, a cancel flag and a
//! place to report progress. Every loop of the kernel looks at it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::{Fault, FaultCode, Reading, Result, Timestamp, WsPath};

/// Clock, randomness and machine identity. Only the composition root implements it for real.
pub trait World: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// Sixteen random bytes.
    fn random(&self) -> u128;
    /// Thirty-two bytes that nobody can guess; `None` where the machine has no source of such.
    fn secret(&self) -> Option<[u8; 32]>;
    /// Names this boot of the machine: what was not flushed is lost when it changes.
    fn boot_id(&self) -> u128;
    /// Time since a moment that stays the same, for measuring how long something took. A world with a
    /// stopwatch that never goes back says so; others measure by their clock.
    fn elapsed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.now().as_millis()).unwrap_or(0))
    }
}

/// Hears how far a long call has come.
pub trait Progress: Send + Sync {
    /// `done` of `total` (when it is known) are finished.
    fn report(&self, done: u64, total: Option<u64>);
}

/// One call's surroundings.
#[derive(Clone)]
pub struct Call {
    world: Arc<dyn World>,
    deadline: Option<Timestamp>,
    cancelled: Arc<AtomicBool>,
    progress: Option<Arc<dyn Progress>>,
    reading: Option<Arc<dyn Reading>>,
}

impl Call {
    /// A call without a deadline.
    pub fn new(world: Arc<dyn World>) -> Self {
        let cancelled = Arc::default();
        Self { world, deadline: None, cancelled, progress: None, reading: None }
    }

    /// The same call, for a caller who may read only some of the files.
    #[must_use]
    pub fn reading_as(mut self, reading: Option<Arc<dyn Reading>>) -> Self {
        self.reading = reading;
        self
    }

    /// What the caller may read, where that is not everything.
    pub fn reading(&self) -> Option<&dyn Reading> {
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
        self.deadline = Some(Timestamp::from_millis(self.world.now().as_millis() + millis));
        self
    }

    /// The same call, reporting its progress to `progress`.
    #[must_use]
    pub fn reporting_to(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// The same surroundings for what has to be finished once it has begun: without a deadline, and
    /// without anybody who could cancel it.
    #[must_use]
    pub fn without_limits(&self) -> Self {
        Self { deadline: None, cancelled: Arc::default(), ..self.clone() }
    }

    /// The clock, the dice and the boot that this call runs under.
    pub fn world(&self) -> &dyn World {
        self.world.as_ref()
    }

    /// The same world, for what goes on after this call.
    pub fn shared_world(&self) -> Arc<dyn World> {
        Arc::clone(&self.world)
    }

    /// Raising this flag makes the call end at its next check.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// A fault once the call is cancelled or out of time.
    pub fn check(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Fault::new(
                FaultCode::Timeout,
                "the call was cancelled; nothing was changed. Call again if it is still wanted",
            ));
        }
        match self.deadline {
            Some(deadline) if self.world.now() > deadline => Err(Fault::new(
                FaultCode::Timeout,
                "the call ran out of time; nothing was changed. Narrow it (a deeper path, a smaller limit) and call again",
            )),
            _ => Ok(()),
        }
    }

    /// Reports progress, where somebody listens.
    pub fn progress(&self, done: u64, total: Option<u64>) {
        if let Some(progress) = &self.progress {
            progress.report(done, total);
        }
    }
}
