//! A limit on attempts within one minute, by name. The counts are in memory and bounded, and expire by themselves.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use yard_core::Timestamp;

const WINDOW_MILLIS: i64 = 60_000;
/// How many names are remembered. Beyond that the names without an attempt in the last minute are forgotten, and if
/// there are none, the one whose last attempt was the longest ago.
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
    pub(super) fn take(&self, name: &str, now: Timestamp) -> Result<(), u32> {
        let mut recent = self.recent.lock();
        if recent.len() >= MAX_NAMES && !recent.contains_key(name) {
            make_room(&mut recent, now);
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
    pub(super) fn give_back(&self, name: &str, then: Timestamp) {
        let mut recent = self.recent.lock();
        let Some(times) = recent.get_mut(name) else { return };
        if let Some(at) = times.iter().position(|time| *time == then.as_millis()) {
            times.remove(at);
        }
    }
}

fn make_room(recent: &mut HashMap<String, VecDeque<i64>>, now: Timestamp) {
    recent.retain(|_, times| {
        remove_expired(times, now);
        !times.is_empty()
    });
    if recent.len() >= MAX_NAMES {
        let oldest = recent.iter().min_by_key(|(_, times)| times.back().copied());
        let oldest = oldest.map(|(name, _)| name.clone()).unwrap_or_default();
        recent.remove(&oldest);
    }
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
            assert_eq!(limit.take("a", at(millis)), Ok(()));
        }
        assert_eq!(limit.take("a", at(1_000)), Err(59));
        assert_eq!(limit.take("b", at(1_000)), Ok(()));
        limit.give_back("a", at(10));
        assert_eq!(limit.take("a", at(1_000)), Ok(()));
        assert_eq!(limit.take("a", at(1_001)), Err(59));
        assert_eq!(limit.take("a", at(60_000)), Ok(()));
    }

    #[test]
    fn no_more_names_are_remembered_than_there_is_room_for() {
        let limit = RateLimit::per_minute(1);
        let names: Vec<String> = (0..MAX_NAMES + 10).map(|nth| nth.to_string()).collect();
        for (millis, name) in (0..).zip(&names) {
            assert_eq!(limit.take(name, at(millis)), Ok(()));
        }
        assert_eq!(limit.recent.lock().len(), MAX_NAMES);
        let now = at(20_000);
        assert!(limit.take(&names[10], now).is_err() && limit.take(&names[9], now).is_ok());
        assert!(limit.take(&names[10], now).is_ok(), "the oldest made room for another");
        assert_eq!(limit.take("new", at(70_011)), Ok(()));
        assert_eq!(limit.recent.lock().len(), 3, "the others' minute is over");
    }
}
