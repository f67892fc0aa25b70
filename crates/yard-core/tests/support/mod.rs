//! What the tests of patches share: how many cases, the dice, and a patch to be compared.

#![allow(dead_code)]

use yard_core::patch::Patch;

const PLAIN: u64 = 200;
const SOAK: u64 = 2_000;

/// How many cases a test makes.
pub(crate) fn cases() -> u64 {
    if std::env::var_os("YARD_SOAK").is_some() { SOAK } else { PLAIN }
}

/// The same numbers on every machine (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }

    pub(crate) fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

/// The same patch, wherever its lines stood.
pub(crate) fn without_lines(mut patch: Patch) -> Patch {
    for file in &mut patch.files {
        file.line = 0;
        file.hunks.iter_mut().for_each(|hunk| hunk.line = 0);
    }
    patch
}
