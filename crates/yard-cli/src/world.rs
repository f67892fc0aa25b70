//! The real world: the system's clock, its randomness and the boot that it is in. The only
//! implementation of [`World`] outside of tests.

#![allow(clippy::disallowed_methods, reason = "the composition root reads clock, dice and machine")]

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use yard_core::{Timestamp, World};

/// Clock, dice and boot of this machine.
pub(crate) struct Machine {
    boot_id: u128,
    began: Instant,
}

impl Machine {
    /// This machine, now.
    pub(crate) fn new() -> Self {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { boot_id: parse_boot_id(&text), began: Instant::now() }
    }
}

impl World for Machine {
    fn now(&self) -> Timestamp {
        let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        };
        Timestamp::from_millis(millis)
    }

    fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        match getrandom::fill(&mut bytes) {
            Ok(()) => u128::from_le_bytes(bytes),
            // Ids must differ, not be secret: the hash maps' own seeds do where the system has no
            // better source.
            Err(_) => u128::from(seed()) << 64 | u128::from(seed()),
        }
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

fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The kernel writes a UUID; 0 stands for a machine that does not say.
fn parse_boot_id(text: &str) -> u128 {
    let digits: String = text.trim().chars().filter(|character| *character != '-').collect();
    u128::from_str_radix(&digits, 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_is_read_or_zero() {
        assert_eq!(parse_boot_id("00000000-0000-0000-0000-0000000000ff\n"), 255);
        assert_eq!(parse_boot_id(""), 0);
    }

    #[test]
    fn draws_differ_and_the_clock_runs() {
        let machine = Machine::new();
        assert_ne!(machine.random(), machine.random());
        assert_ne!(seed(), seed());
        assert!(machine.now().as_millis() > 1_700_000_000_000);
    }
}
