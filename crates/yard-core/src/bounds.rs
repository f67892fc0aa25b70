//! The bounds of work on texts: the largest result, and a check that is called every so often and can stop the work.
//! The caller passes the check, because this crate has no clock.

use crate::{Call, Fault, FaultCode, Result, Subject};

/// How many small steps are done between two checks.
const STEPS_BETWEEN_CHECKS: u32 = 4_096;

/// The bounds of a piece of work.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    max_bytes: usize,
    check: &'a (dyn Fn() -> Result<()> + Sync),
}

impl Bounds<'_> {
    /// No bounds.
    pub const NONE: Bounds<'static> = Bounds { max_bytes: usize::MAX, check: &|| Ok(()) };
}

impl<'a> Bounds<'a> {
    /// Work that `check` can stop, and whose result has at most `max_bytes`.
    pub fn new(max_bytes: usize, check: &'a (dyn Fn() -> Result<()> + Sync)) -> Self {
        Self { max_bytes, check }
    }

    /// Fails once the work has to stop.
    pub fn check(&self) -> Result<()> {
        (self.check)()
    }

    /// Fails for a result that is too large.
    pub fn check_size(&self, bytes: usize) -> Result<()> {
        if bytes <= self.max_bytes {
            return Ok(());
        }
        let message = format!(
            "the result would have more than {} bytes, which is more than one call may write; \
             nothing was changed. Write less, or several files",
            self.max_bytes
        );
        Err(Fault::new(FaultCode::TooLarge, message).about(Subject::Content))
    }

    /// Counts small steps of work.
    pub(crate) fn steps(self) -> Steps<'a> {
        Steps { bounds: self, left: STEPS_BETWEEN_CHECKS }
    }
}

/// Counts small steps of work, and calls the check after many of them.
pub(crate) struct Steps<'a> {
    bounds: Bounds<'a>,
    left: u32,
}

impl Steps<'_> {
    /// One more step.
    pub(crate) fn step(&mut self) -> Result<()> {
        self.left -= 1;
        if self.left > 0 {
            return Ok(());
        }
        self.left = STEPS_BETWEEN_CHECKS;
        self.bounds.check()
    }
}

impl Call {
    /// Runs work on texts within what is left of this call, with a result of at most `max_bytes`.
    pub fn bounding<T>(&self, max_bytes: u64, work: impl FnOnce(Bounds<'_>) -> T) -> T {
        let check = || self.check();
        work(Bounds::new(usize::try_from(max_bytes).unwrap_or(usize::MAX), &check))
    }
}
