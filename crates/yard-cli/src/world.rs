//! The real world: the system's clock, its randomness and the boot that it is in. The only
//! implementation of [`World`] outside of tests.

#![allow(clippy::disallowed_methods, reason = "the composition root reads clock, dice and machine")]

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use yard_core::{Timestamp, World};

/// How many random numbers are drawn at a time.
const DRAWN_AT_ONCE: usize = 32;

/// Clock, dice and boot of this machine.
pub(crate) struct Machine {
    boot_id: u128,
    began: Instant,
    drawn: Mutex<Vec<u128>>,
}

impl Machine {
    /// This machine, now.
    pub(crate) fn new() -> Self {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        // A boot that nobody knows counts as another one, for every process anew.
        let boot_id = parse_boot_id(&text).unwrap_or_else(|| draw().pop().unwrap_or_default());
        Self { boot_id, began: Instant::now(), drawn: Mutex::default() }
    }
}

impl World for Machine {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => millis(since),
            Err(before) => -millis(before.duration()),
        })
    }

    fn random(&self) -> u128 {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if drawn.is_empty() {
            *drawn = draw();
        }
        drawn.pop().unwrap_or_default()
    }

    fn secret(&self) -> Option<[u8; 32]> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok().map(|()| bytes)
    }

    fn boot_id(&self) -> u128 {
        self.boot_id
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

/// As `Duration::as_millis`, without its 128 bits: every call asks for the time several times.
fn millis(duration: Duration) -> i64 {
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    seconds.saturating_mul(1_000).saturating_add(i64::from(duration.subsec_millis()))
}

/// Random numbers for the next ids: asking the system costs as much for many as for one.
fn draw() -> Vec<u128> {
    let mut bytes = [0; 16 * DRAWN_AT_ONCE];
    if getrandom::fill(&mut bytes).is_err() {
        // Ids must differ, not be secret: the hash maps' own seeds do where the system has no better
        // source.
        return vec![u128::from(seed()) << 64 | u128::from(seed())];
    }
    bytes.as_chunks::<16>().0.iter().map(|one| u128::from_le_bytes(*one)).collect()
}

fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The kernel writes a UUID.
fn parse_boot_id(text: &str) -> Option<u128> {
    let digits: String = text.trim().chars().filter(|character| *character != '-').collect();
    u128::from_str_radix(&digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_that_cannot_be_read_is_unknown() {
        assert_eq!(parse_boot_id("00000000-0000-0000-0000-0000000000ff\n"), Some(255));
        assert_eq!(parse_boot_id(""), None);
    }

    #[test]
    fn milliseconds_are_those_of_the_duration() {
        for micros in [0, 999, 1_000, 1_763_373_600_123_999] {
            let duration = Duration::from_micros(micros);
            assert_eq!(i128::from(millis(duration)), duration.as_millis() as i128);
        }
        assert_eq!(millis(Duration::MAX), i64::MAX);
    }

    #[test]
    fn draws_differ_and_the_clock_runs() {
        let machine = Machine::new();
        assert_ne!(machine.random(), machine.random());
        assert_ne!(seed(), seed());
        assert!(machine.now().as_millis() > 1_700_000_000_000);
    }
}
