//! The clock, the random numbers and the boot id of this system. It is the only implementation of [`World`] outside of
//! tests.

#![allow(
    clippy::disallowed_methods,
    reason = "only the binary reads the clock, random numbers and the boot id"
)]

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use yard_core::{Timestamp, World};

/// How many random numbers one call of the system reads.
const READ_AT_ONCE: usize = 32;

/// The clock, the random numbers and the boot id of this system.
pub(crate) struct SystemWorld {
    boot_id: u128,
    began: Instant,
    random: Mutex<Vec<u128>>,
}

impl SystemWorld {
    /// Reads the boot id and starts the clock of `elapsed`.
    pub(crate) fn new() -> Self {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        // An unknown boot id must differ from the one of every other process.
        let boot_id =
            parse_boot_id(&text).unwrap_or_else(|| read_random().pop().unwrap_or_default());
        Self { boot_id, began: Instant::now(), random: Mutex::default() }
    }
}

impl World for SystemWorld {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => millis(since),
            Err(before) => -millis(before.duration()),
        })
    }

    fn random(&self) -> u128 {
        let mut random = self.random.lock();
        if random.is_empty() {
            *random = read_random();
        }
        random.pop().unwrap_or_default()
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

/// The same as `Duration::as_millis`, in 64 bits.
fn millis(duration: Duration) -> i64 {
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    seconds.saturating_mul(1_000).saturating_add(i64::from(duration.subsec_millis()))
}

/// Random numbers for the next ids. One call of the system costs as much for many as for one.
fn read_random() -> Vec<u128> {
    let mut bytes = [0; 16 * READ_AT_ONCE];
    if getrandom::fill(&mut bytes).is_err() {
        // Ids must differ and need not be secret, so the seeds of hash maps are good enough here.
        return vec![u128::from(seed()) << 64 | u128::from(seed())];
    }
    bytes.as_chunks::<16>().0.iter().map(|one| u128::from_le_bytes(*one)).collect()
}

fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Parses the UUID that the operating system writes.
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
    fn random_numbers_differ_and_the_clock_runs() {
        let machine = SystemWorld::new();
        assert_ne!(machine.random(), machine.random());
        assert_ne!(seed(), seed());
        assert!(machine.now().as_millis() > 1_700_000_000_000);
    }
}
