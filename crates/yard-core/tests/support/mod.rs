//! What the tests of patches share: how many cases, files that drifted, and a patch to be compared.

#![allow(dead_code, unused_imports)]

pub(crate) mod properties;

pub(crate) use properties::without_lines;
use yard_core::patch::{HunkLine, Patch, Sign};
use yard_core::{Bounds, diff};
pub(crate) use yard_fixtures::Dice;

const PLAIN: u64 = 200;
const SOAK: u64 = 2_000;

/// How many cases a test makes.
pub(crate) fn cases() -> u64 {
    if std::env::var_os("YARD_SOAK").is_some() { SOAK } else { PLAIN }
}

/// A file with a hunk's worth of edits, and the same file after somebody else changed it.
pub(crate) struct Drifted {
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) now: String,
}

pub(crate) fn drifted(dice: &mut Dice) -> Drifted {
    let rows = 20 + dice.roll(60);
    // Few different lines, so that context repeats itself.
    let spread = *dice.pick(&[4, 12, 200]);
    let lines: Vec<String> = (0..rows).map(|_| format!("  row {}\n", dice.roll(spread))).collect();
    let mut after = lines.clone();
    for _ in 0..=dice.roll(2) {
        let at = dice.roll(after.len());
        after[at] = format!("  changed {}\n", dice.roll(1000));
    }
    let mut now = lines.clone();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(now.len());
        match dice.roll(6) {
            0 => drop(now.remove(at)),
            1 => now[at] = now[at].trim_start().to_owned(),
            2 => now[at] = format!("{}  \n", now[at].trim_end()),
            3 => now[at] = "  stale\n".to_owned(),
            _ => now.insert(at, format!("  row {}\n", dice.roll(spread))),
        }
    }
    Drifted { before: lines.concat(), after: after.concat(), now: now.concat() }
}

/// Whether a hunk has no context at one of its ends.
pub(crate) fn has_bare_end(patch: &Patch) -> bool {
    let is_bare = |line: Option<&HunkLine>| line.is_some_and(|line| line.sign != Sign::Context);
    let mut hunks = patch.files.iter().flat_map(|file| &file.hunks);
    hunks.any(|hunk| is_bare(hunk.lines.first()) || is_bare(hunk.lines.last()))
}

/// The diff of two texts, as git would write it.
pub(crate) fn unified(before: &str, after: &str) -> String {
    let contents = [before.as_bytes(), after.as_bytes()];
    let diff = diff::unified(["a/file", "b/file"], contents, usize::MAX, Bounds::NONE);
    diff.unwrap().unwrap().0
}
