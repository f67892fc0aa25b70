//! What the tests of patches share: how many cases, and a patch to be compared.

#![allow(dead_code)]

use yard_core::patch::Patch;
pub(crate) use yard_testkit::Dice;

const PLAIN: u64 = 200;
const SOAK: u64 = 2_000;

/// How many cases a test makes.
pub(crate) fn cases() -> u64 {
    if std::env::var_os("YARD_SOAK").is_some() { SOAK } else { PLAIN }
}

/// The same patch, wherever its lines stood.
pub(crate) fn without_lines(mut patch: Patch) -> Patch {
    for file in &mut patch.files {
        file.line = 0;
        file.hunks.iter_mut().for_each(|hunk| hunk.line = 0);
    }
    patch
}
