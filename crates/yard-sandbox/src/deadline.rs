//! The time until which a caller waits for a program.

#![allow(clippy::disallowed_methods, reason = "the sandbox times the processes that it starts")]

use std::time::{Duration, Instant};

/// A moment until which a caller waits.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// `None` if the moment is beyond the range of the clock.
    until: Option<Instant>,
}

impl Deadline {
    /// The moment that is this long from now.
    pub fn of(time: Duration) -> Self {
        Self { until: Instant::now().checked_add(time) }
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_beyond_the_range_of_the_clock_is_never_reached() {
        assert_eq!(Deadline::of(Duration::MAX).left(), Duration::MAX);
        assert_eq!(Deadline::of(Duration::ZERO).left(), Duration::ZERO);
    }
}
