//! How often a caller may try something within a minute. It counts in memory, bounded, and forgets by itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use yard_core::Timestamp;

const WINDOW_MILLIS: i64 = 60_000;
/// Above this many names, those whose minute is over are forgotten.
const NAMES: usize = 10_000;

/// What was tried lately, by name.
#[derive(Debug)]
pub(super) struct Attempts {
    most: usize,
    lately: Mutex<HashMap<String, VecDeque<i64>>>,
}

impl Attempts {
    /// At most `most` within a minute.
    pub(super) fn at_most(most: usize) -> Self {
        Self { most, lately: Mutex::default() }
    }

    /// Counts a try of `name` before it is made, so that tries at the same time are counted, too; where
    /// there were too many it is not counted, and the answer is after how many seconds to try again.
    pub(super) fn take(&self, name: &str, now: Timestamp) -> Result<(), u32> {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        if lately.len() >= NAMES {
            lately.retain(|_, times| {
                forget(times, now);
                !times.is_empty()
            });
        }
        let times = lately.entry(name.to_owned()).or_default();
        forget(times, now);
        match times.front().filter(|_| times.len() >= self.most) {
            Some(first) => {
                let millis = (first + WINDOW_MILLIS - now.as_millis()).max(1);
                Err(u32::try_from((millis + 999) / 1_000).unwrap_or(60))
            }
            None => {
                times.push_back(now.as_millis());
                Ok(())
            }
        }
    }

    /// Takes back a try that was counted at `then`.
    pub(super) fn give_back(&self, name: &str, then: Timestamp) {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(times) = lately.get_mut(name) else { return };
        if let Some(at) = times.iter().position(|time| *time == then.as_millis()) {
            times.remove(at);
        }
    }
}

fn forget(times: &mut VecDeque<i64>, now: Timestamp) {
    let since = now.as_millis() - WINDOW_MILLIS;
    while times.front().is_some_and(|time| *time <= since) {
        times.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn the_count_is_by_name_and_within_a_minute() {
        let attempts = Attempts::at_most(3);
        for millis in [0, 10, 20] {
            assert_eq!(attempts.take("a", at(millis)), Ok(()));
        }
        assert_eq!(attempts.take("a", at(1_000)), Err(59));
        assert_eq!(attempts.take("b", at(1_000)), Ok(()));
        attempts.give_back("a", at(10));
        assert_eq!(attempts.take("a", at(1_000)), Ok(()));
        assert_eq!(attempts.take("a", at(1_001)), Err(59));
        assert_eq!(attempts.take("a", at(60_000)), Ok(()));
    }
}
