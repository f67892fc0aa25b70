//! A limit on attempts within one minute, by name. The counts are in memory and bounded, and expire by themselves.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use yard_core::Timestamp;

const WINDOW_MILLIS: i64 = 60_000;
/// With as many names, the half of them whose last attempts are the oldest is removed.
const MAX_NAMES: usize = 10_000;

/// The times of recent attempts, by name.
#[derive(Debug)]
pub(super) struct RateLimit {
    max: usize,
    recent: Mutex<HashMap<String, VecDeque<i64>>>,
}

impl RateLimit {
    /// A limit of `max` attempts within a minute.
    pub(super) fn per_minute(max: usize) -> Self {
        Self { max, recent: Mutex::default() }
    }

    /// Counts an attempt of `name` before it is made, so that concurrent attempts count as well. An attempt above the
    /// limit is not counted; the error is the number of seconds to wait.
    pub(super) fn count(&self, name: &str, now: Timestamp) -> Result<(), u32> {
        let mut recent = self.recent.lock();
        if recent.len() >= MAX_NAMES {
            remove_oldest_half(&mut recent);
        }
        let times = recent.entry(name.to_owned()).or_default();
        remove_expired(times, now);
        match times.front().filter(|_| times.len() >= self.max) {
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

    /// Takes back the attempt that was counted at `then`.
    pub(super) fn uncount(&self, name: &str, then: Timestamp) {
        let mut recent = self.recent.lock();
        let Some(times) = recent.get_mut(name) else { return };
        if let Some(at) = times.iter().position(|time| *time == then.as_millis()) {
            times.remove(at);
        }
    }
}

/// Removes the half of the names whose last attempts are the oldest, and those that were counted at the same time.
fn remove_oldest_half(recent: &mut HashMap<String, VecDeque<i64>>) {
    let last = |times: &VecDeque<i64>| times.back().copied();
    let mut lasts: Vec<Option<i64>> = recent.values().map(last).collect();
    let middle = lasts.len() / 2;
    let (_, newest_removed, _) = lasts.select_nth_unstable(middle);
    recent.retain(|_, times| last(times) > *newest_removed);
}

fn remove_expired(times: &mut VecDeque<i64>, now: Timestamp) {
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
        let limit = RateLimit::per_minute(3);
        for millis in [0, 10, 20] {
            assert_eq!(limit.count("a", at(millis)), Ok(()));
        }
        assert_eq!(limit.count("a", at(1_000)), Err(59));
        assert_eq!(limit.count("b", at(1_000)), Ok(()));
        limit.uncount("a", at(10));
        assert_eq!(limit.count("a", at(1_000)), Ok(()));
        assert_eq!(limit.count("a", at(1_001)), Err(59));
        assert_eq!(limit.count("a", at(60_000)), Ok(()));
    }

    #[test]
    fn memory_is_bounded_and_the_newest_counts_stay() {
        let limit = RateLimit::per_minute(1);
        for number in 0..3 * MAX_NAMES {
            // All of them are attempts of the last minute.
            let millis = i64::try_from(number).unwrap();
            assert_eq!(limit.count(&number.to_string(), at(millis)), Ok(()));
            assert!(limit.recent.lock().len() <= MAX_NAMES);
        }
        let now = at(i64::try_from(3 * MAX_NAMES).unwrap());
        for number in 3 * MAX_NAMES - MAX_NAMES / 2..3 * MAX_NAMES {
            assert!(limit.count(&number.to_string(), now).is_err(), "{number} was forgotten");
        }
    }
}
