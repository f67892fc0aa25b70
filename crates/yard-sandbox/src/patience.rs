//! How long a program is waited for: the sandbox times the processes that it starts.

#![allow(clippy::disallowed_methods, reason = "the sandbox times the processes that it starts")]

use std::time::{Duration, Instant};

/// How long somebody waits for a program.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// `None` is for ever: later than any clock tells.
    until: Option<Instant>,
}

impl Patience {
    /// As long as this, from now on.
    pub fn of(time: Duration) -> Self {
        Self { until: Instant::now().checked_add(time) }
    }

    /// What is left of it.
    pub fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_longer_than_any_clock_tells_waits_for_ever() {
        assert_eq!(Patience::of(Duration::MAX).left(), Duration::MAX);
        assert_eq!(Patience::of(Duration::ZERO).left(), Duration::ZERO);
    }
}
