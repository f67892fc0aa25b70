//! A world in which everything happens the same way each time.

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use yard_core::{Timestamp, World};

/// 2026-01-15T10:30:00Z, when every fake world begins.
const START: i64 = 1_768_473_000_000;

/// A clock that advances a millisecond a look, dice from a seed, and a boot that tests may change.
#[derive(Debug)]
pub struct FakeWorld {
    now: AtomicI64,
    dice: Mutex<u64>,
    boot: Mutex<u128>,
}

impl FakeWorld {
    /// The world of that seed.
    pub fn new(seed: u64) -> Self {
        Self { now: AtomicI64::new(START), dice: Mutex::new(seed), boot: Mutex::new(1) }
    }

    /// As if the machine had been started again.
    pub fn set_boot_id(&self, boot: u128) {
        *self.boot.lock() = boot;
    }

    /// Lets time pass.
    pub fn advance_millis(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::Relaxed);
    }

    /// A number below `bound`, from the same dice.
    pub fn below(&self, bound: usize) -> usize {
        (self.roll() % bound.max(1) as u64) as usize
    }

    /// SplitMix64: short, and good enough to choose tests by.
    fn roll(&self) -> u64 {
        let mut dice = self.dice.lock();
        *dice = dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = *dice;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl World for FakeWorld {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.fetch_add(1, Ordering::Relaxed))
    }

    fn random(&self) -> u128 {
        (u128::from(self.roll()) << 64) | u128::from(self.roll())
    }

    fn secret(&self) -> Option<[u8; 32]> {
        Some(secret_of(self))
    }

    fn boot_id(&self) -> u128 {
        *self.boot.lock()
    }
}

/// As good as the dice are: no test keeps a secret.
fn secret_of(world: &dyn World) -> [u8; 32] {
    let mut secret = [0; 32];
    secret[..16].copy_from_slice(&world.random().to_le_bytes());
    secret[16..].copy_from_slice(&world.random().to_le_bytes());
    secret
}

/// The world as it is: for tests whose files and processes are real.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealWorld;

impl World for RealWorld {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp::from_millis(since.map_or(0, |since| since.as_millis() as i64))
    }

    fn random(&self) -> u128 {
        use std::hash::{BuildHasher, RandomState};
        let roll = || u128::from(RandomState::new().hash_one(self.now().as_millis()));
        (roll() << 64) | roll()
    }

    fn secret(&self) -> Option<[u8; 32]> {
        Some(secret_of(self))
    }

    fn boot_id(&self) -> u128 {
        1
    }
}
