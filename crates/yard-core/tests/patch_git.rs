//! The patch engine against git: generated trees, the diff that real git makes between them, and
//! what `git apply` does with the same diff. `YARD_SOAK=1` runs ten times as many cases.
//!
//! Where the engine differs from `git apply`, by intent:
//! - git takes the nearest of several places for a hunk that drifted; the engine refuses (X3).
//! - git takes no hunk whose white space differs, whose outer context is stale, or that says
//!   something else about the newline at the end of the file; the engine takes it if it stands in
//!   one place only, and says by which pass it was found.
//! - git holds that a hunk without context at one end is at that end of the file; the engine
//!   believes its stated line, and else asks that it stands in one place only.
//! - lines that are added without any context take the ending of most lines of the file (R5).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test that runs git and fails loudly"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;

use support::{Dice, Drifted, cases, drifted, has_bare_end, unified, without_lines};
use yard_core::FaultCode;
use yard_core::patch::{Action, Pass, Patch, Transfer, apply, parse};
use yard_fixtures::git::{Git, commit};
use yard_fixtures::patches::{apply_all, print, reverse};
use yard_fixtures::trees::{File, Tree, changed, has_mixed_endings, tree};

fn done(patch: &Patch, tree: &Tree) -> Tree {
    let read = |path: &str| Ok(tree.get(path).map(|file| file.text.clone().into_bytes()));
    let changes =
        apply_all(patch, read).unwrap_or_else(|fault| panic!("{fault}\n{}", print(patch)));
    let mut after = tree.clone();
    for change in &changes {
        if change.transfer != Some(Transfer::Copy) || change.action == Action::Delete {
            change.old_path.as_ref().map(|path| after.remove(path));
        }
    }
    for change in changes {
        let Some(path) = change.new_path else { continue };
        let before = change.old_path.and_then(|path| tree.get(&path));
        let mode = change.mode.map(|mode| mode & 0o111 != 0);
        let executable = mode.unwrap_or(before.is_some_and(|file| file.executable));
        let text = String::from_utf8(change.content).unwrap();
        after.insert(path, File { text, executable });
    }
    after
}

#[test]
fn c3_git_diffs_give_the_second_tree_and_reversed_the_first() {
    let git = Git::new();
    git.run(&["init", "-q", "--bare", "."], b"").unwrap();
    let mut stream = Vec::new();
    let pairs: Vec<(Tree, Tree)> = (0..cases())
        .map(|seed| {
            let dice = &mut Dice::new(seed);
            let before = tree(dice);
            let after = changed(dice, &before);
            commit(&mut stream, &format!("a{seed}"), &before);
            commit(&mut stream, &format!("b{seed}"), &after);
            (before, after)
        })
        .collect();
    git.run(&["fast-import", "--quiet", "--date-format=raw"], &stream).unwrap();
    let mut compared = 0;
    for (seed, (before, after)) in pairs.iter().enumerate() {
        let dice = &mut Dice::new(seed as u64 ^ 0xd1ff);
        let mixed = before.values().chain(after.values()).any(has_mixed_endings);
        let least = if mixed { "-U1" } else { "-U0" };
        let context = *dice.pick(&[least, "-U1", "-U3", "-U3", "-U8"]);
        let style = *dice.pick(&["-M", "-M30%", "--no-renames", "--no-prefix", "--patience"]);
        let copies = *dice.pick(&["-M", "--find-copies-harder"]);
        let (a, b) = (format!("a{seed}"), format!("b{seed}"));
        let diff = git.run(&["diff", "--full-index", copies, style, context, &a, &b], b"").unwrap();
        let diff = String::from_utf8(diff).unwrap();
        if diff.is_empty() {
            assert_eq!(before, after);
            continue;
        }
        let case = format!("seed {seed} {context} {style} {copies}\n{diff}");
        let patch = parse(&diff).unwrap_or_else(|error| panic!("{error}\n{case}"));
        assert_eq!(&done(&patch, before), after, "{case}");
        let reversed = reverse(&patch).unwrap();
        assert_eq!(&done(&reversed, after), before, "reversed {case}");
        let printed = parse(&print(&patch));
        let printed = printed.unwrap_or_else(|e| panic!("{e}\n{}\n{case}", print(&patch)));
        assert_eq!(without_lines(printed), without_lines(patch), "{case}");
        compared += 1;
    }
    assert!(compared * 10 > pairs.len() * 8, "{compared}");
}

#[test]
fn x3_drifted_files_land_where_git_puts_them_or_say_why_not() {
    let git = Git::new();
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..cases() {
        let dice = &mut Dice::new(seed ^ 0xdead_0000);
        let Drifted { before, after, now } = drifted(dice);
        let diff = unified(&before, &after);
        if diff.is_empty() {
            continue;
        }
        fs::write(git.folder().join("file"), &now).unwrap();
        let theirs = git
            .run(&["apply", "-"], diff.as_bytes())
            .map(|_| fs::read_to_string(git.folder().join("file")).unwrap());
        let patch = parse(&diff).unwrap_or_else(|error| panic!("{error}\n{diff}"));
        let ours = apply(now.as_bytes(), &patch.files[0]);
        let case = format!("seed {seed}\n{diff}\n{now}");
        let key = match (&theirs, &ours) {
            (Ok(theirs), Ok(ours)) => {
                assert_eq!(String::from_utf8_lossy(&ours.content), *theirs, "{case}");
                "both place it alike".to_owned()
            }
            (Ok(_), Err(fault)) => {
                // The nearest place is a guess where there are several.
                assert_eq!(fault.code(), FaultCode::TextNotUnique, "{fault} {case}");
                "git guesses".to_owned()
            }
            (Err(_), Ok(ours)) => {
                let loosest = ours.hunks.iter().map(|landed| landed.pass).max().unwrap();
                assert!(loosest > Pass::Stated || has_bare_end(&patch), "{case}");
                format!("git refuses, found by: {loosest}")
            }
            (Err(_), Err(_)) => "both refuse".to_owned(),
        };
        *tally.entry(key).or_default() += 1;
    }
    eprintln!("{tally:#?}");
    assert!(tally["both place it alike"] * 5 > cases(), "{tally:?}");
}
