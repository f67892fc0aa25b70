//! The patch engine against GNU `patch`: what both make of a diff whose file somebody else changed
//! meanwhile. `YARD_SOAK=1` runs ten times as many cases.
//!
//! Where the engine differs, by intent (X3):
//! - GNU `patch` takes the nearest of several places for a hunk that drifted, and a hunk with up to two
//!   stale lines of context wherever it fits first; the engine takes such a place if it is the only one.
//! - The engine takes hunks whose white space differs; GNU `patch` needs `-l` for that.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test that runs patch and fails loudly"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{Dice, Drifted, cases, drifted, has_bare_end, unified};
use yard_core::FaultCode;
use yard_core::patch::{FilePatch, Hunk, Pass, apply, parse};

/// What GNU `patch` made of a file.
struct Theirs {
    text: String,
    /// By hunk, whether it was found elsewhere than stated, and whether with stale context.
    moved: Vec<usize>,
    fuzzy: bool,
}

/// Runs GNU `patch` on a file; `None` where it refuses. A missing program fails the test: `scripts/test`
/// installs it.
fn gnu(folder: &Path, now: &str, diff: &str) -> Option<Theirs> {
    let file = folder.join("file");
    fs::write(&file, now).unwrap();
    let mut command = Command::new("patch");
    command.current_dir(folder).env("LC_ALL", "C").env_remove("POSIXLY_CORRECT");
    command.args(["-p1", "--force", "--verbose", "--no-backup-if-mismatch", "--reject-file=-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("GNU patch is installed (scripts/test does that)");
    child.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if !output.status.success() {
        return None;
    }
    let told = String::from_utf8(output.stdout).unwrap();
    let hunks = told.lines().filter(|line| line.starts_with("Hunk #"));
    let moved = hunks.clone().enumerate().filter(|(_, line)| line.contains("offset"));
    let moved = moved.map(|(number, _)| number).collect();
    let fuzzy = hunks.clone().any(|line| line.contains("fuzz"));
    Some(Theirs { text: fs::read_to_string(file).unwrap(), moved, fuzzy })
}

/// In how many places the old lines of a hunk stand, letter by letter.
fn places(hunk: &Hunk, now: &str) -> usize {
    let old: Vec<&str> = hunk.old_lines().collect();
    let lines: Vec<&str> = now.split_terminator('\n').collect();
    lines.windows(old.len()).filter(|window| *window == old.as_slice()).count()
}

/// The same, whatever white space is around the lines.
fn loose_places(hunk: &Hunk, now: &str) -> usize {
    let old: Vec<&str> = hunk.old_lines().map(str::trim).collect();
    let lines: Vec<&str> = now.split_terminator('\n').map(str::trim).collect();
    lines.windows(old.len()).filter(|window| *window == old.as_slice()).count()
}

/// Whether a guess was needed to tell where GNU `patch` put the hunks.
fn guessed(theirs: &Theirs, file: &FilePatch, now: &str) -> bool {
    theirs.fuzzy || theirs.moved.iter().any(|number| places(&file.hunks[*number], now) > 1)
}

/// What our places are, where GNU `patch` has none: each the only one by the pass that found it.
fn check_ours(file: &FilePatch, passes: &[Pass], now: &str, case: &str) {
    for (hunk, pass) in file.hunks.iter().zip(passes) {
        match pass {
            Pass::Stated => {}
            Pass::Exact => assert_eq!(places(hunk, now), 1, "{case}"),
            Pass::TrailingSpace | Pass::SurroundingSpace => {
                assert_eq!(places(hunk, now), 0, "an exact place was passed over: {case}");
                assert!(loose_places(hunk, now) >= 1, "{case}");
            }
            Pass::Punctuation | Pass::Fuzz(_) => assert_eq!(places(hunk, now), 0, "{case}"),
        }
    }
}

#[test]
fn x3_drifted_files_land_where_gnu_patch_puts_them_or_say_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..cases() * 3 {
        let dice = &mut Dice::new(seed ^ 0x96e0_0000);
        let Drifted { before, after, now } = drifted(dice);
        let diff = unified(&before, &after);
        if diff.is_empty() {
            continue;
        }
        let theirs = gnu(folder.path(), &now, &diff);
        let patch = parse(&diff).unwrap_or_else(|error| panic!("{error}\n{diff}"));
        let file = &patch.files[0];
        let ours = apply(now.as_bytes(), file);
        let case = format!("seed {seed}\n{diff}\n{now}");
        let key = match (&theirs, &ours) {
            (Some(theirs), Ok(ours)) if theirs.text.as_bytes() == ours.content => {
                "both place it alike".to_owned()
            }
            (Some(theirs), Ok(_)) => {
                assert!(guessed(theirs, file, &now), "{case}");
                "placed otherwise, theirs being a guess".to_owned()
            }
            (Some(theirs), Err(fault)) => {
                assert!(guessed(theirs, file, &now), "{fault} {case}");
                let fair = [FaultCode::TextNotUnique, FaultCode::TextNotFound];
                assert!(fair.contains(&fault.code()), "{fault} {case}");
                "theirs is a guess, ours refuses".to_owned()
            }
            (None, Ok(ours)) => {
                let passes: Vec<Pass> = ours.hunks.iter().map(|landed| landed.pass).collect();
                check_ours(file, &passes, &now, &case);
                let loosest = passes.into_iter().max().unwrap();
                assert!(loosest > Pass::Stated || has_bare_end(&patch), "{case}");
                format!("theirs refuses, found by: {loosest}")
            }
            (None, Err(_)) => "both refuse".to_owned(),
        };
        *tally.entry(key).or_default() += 1;
    }
    eprintln!("{tally:#?}");
    assert!(tally["both place it alike"] * 5 > cases() * 3, "{tally:?}");
}
