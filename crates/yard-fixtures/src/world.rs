//! A world in which everything happens the same way each time.

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use yard_core::{Timestamp, World};

use crate::Dice;

/// 2026-01-15T10:30:00Z, when every fake world begins.
const START: i64 = 1_768_473_000_000;

/// A clock that advances by a millisecond whenever it is read, random numbers from a seed, and a boot that tests may change.
#[derive(Debug)]
pub struct FakeWorld {
    now: AtomicI64,
    dice: Mutex<Dice>,
    boot: Mutex<u128>,
}

impl FakeWorld {
    /// The world of that seed.
    pub fn new(seed: u64) -> Self {
        Self { now: AtomicI64::new(START), dice: Mutex::new(Dice::new(seed)), boot: Mutex::new(1) }
    }

    /// As if the machine had been started again.
    pub fn set_boot_id(&self, boot: u128) {
        *self.boot.lock() = boot;
    }

    /// Lets time pass.
    pub fn advance_millis(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::Relaxed);
    }

    /// A number below `bound`, of the same seed.
    pub fn below(&self, bound: usize) -> usize {
        self.dice.lock().roll(bound)
    }
}

impl World for FakeWorld {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.fetch_add(1, Ordering::Relaxed))
    }

    fn random(&self) -> u128 {
        let mut dice = self.dice.lock();
        (u128::from(dice.number()) << 64) | u128::from(dice.number())
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
        // Every `RandomState` has keys of its own.
        let number = || u128::from(RandomState::new().hash_one(0));
        (number() << 64) | number()
    }

    fn secret(&self) -> Option<[u8; 32]> {
        Some(secret_of(self))
    }

    fn boot_id(&self) -> u128 {
        1
    }
}
