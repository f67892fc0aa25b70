//! Failure injection: a trigger for the n-th call, and a disk that fails then.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use yard_disk::{DiskCall, Probe};

/// Which calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailingCalls {
    /// Only the chosen one.
    Once,
    /// The chosen one and all later ones.
    Onwards,
}

/// Counts calls and decides which of them fail.
#[derive(Debug, Default)]
pub struct FailureTrigger {
    plan: Mutex<Option<(u64, FailingCalls)>>,
    calls: AtomicU64,
    failed: AtomicU64,
}

impl FailureTrigger {
    /// A trigger that is not armed.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The `nth` call from now (counted from 0) fails.
    pub fn arm(&self, nth: u64, reach: FailingCalls) {
        let mut plan = self.plan.lock();
        self.calls.store(0, Ordering::SeqCst);
        self.failed.store(0, Ordering::SeqCst);
        *plan = Some((nth, reach));
    }

    /// Disarms it. Returns how many calls failed.
    pub fn disarm(&self) -> u64 {
        *self.plan.lock() = None;
        self.failed.load(Ordering::SeqCst)
    }

    /// Counts a call. Whether it has to fail.
    pub fn call(&self) -> bool {
        let plan = self.plan.lock();
        let Some((nth, reach)) = *plan else { return false };
        let now = self.calls.fetch_add(1, Ordering::SeqCst);
        let fails = match reach {
            FailingCalls::Once => now == nth,
            FailingCalls::Onwards => now >= nth,
        };
        if fails {
            self.failed.fetch_add(1, Ordering::SeqCst);
        }
        fails
    }
}

/// How a triggered disk call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFailure {
    /// It returns this error number.
    Errno(i32),
    /// The process ends at once, as in a power cut.
    Abort,
    /// The thread panics.
    Panic,
}

/// A disk whose n-th call fails.
#[derive(Debug)]
pub struct FailingProbe {
    trigger: Arc<FailureTrigger>,
    failure: InjectedFailure,
    last: Mutex<Option<DiskCall>>,
}

impl FailingProbe {
    /// Disk calls that fail as `trigger` says.
    pub fn new(trigger: Arc<FailureTrigger>, failure: InjectedFailure) -> Self {
        Self { trigger, failure, last: Mutex::default() }
    }

    /// The first call that failed since it was armed.
    pub fn last(&self) -> Option<DiskCall> {
        *self.last.lock()
    }
}

impl Probe for FailingProbe {
    fn before(&self, call: DiskCall) -> io::Result<()> {
        if !self.trigger.call() {
            return Ok(());
        }
        self.last.lock().get_or_insert(call);
        match self.failure {
            InjectedFailure::Errno(errno) => Err(io::Error::from_raw_os_error(errno)),
            InjectedFailure::Abort => std::process::abort(),
            InjectedFailure::Panic => panic!("on purpose"),
        }
    }
}
