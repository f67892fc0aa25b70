//! Patches: many files and one large one beside `git apply` of the same diff in an identical tree, and
//! what it costs to say why an edit fits nowhere. Ours is durable and versioned; git's is neither.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use yard_core::op::{ApplyPatch, EditAction};
use yard_core::{patch, replace};
use yard_testkit::patches::reverse;

use crate::clock::{alone, duel};
use crate::source::Dice;
use crate::table::{Row, Target};
use crate::workspace::{Bench, Plan, Scratch};

const FILES: usize = 500;
const FILE_BYTES: usize = 8 << 10;
const LARGE_BYTES: usize = 10 << 20;
const HUNKS: usize = 1_000;
const FAILED_BYTES: usize = 1 << 20;
const DIAGNOSIS: Duration = Duration::from_millis(20);
/// Lines of context on either side of a change, as in any diff.
const CONTEXT: usize = 3;

/// Every row about patches.
pub(crate) fn rows() -> Vec<Row> {
    vec![many_files(), one_large_file(), failed_edit(), failed_patch()]
}

/// A text, and the section of a patch that changes some of its lines.
struct Case {
    name: String,
    text: String,
    section: String,
}

fn case(dice: &mut Dice, name: String, size: usize, hunks: usize) -> Case {
    let text = String::from_utf8(dice.text(size)).expect("a text");
    let lines: Vec<&str> = text.lines().collect();
    let mut section = format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n");
    let stride = lines.len() / hunks;
    for hunk in 0..hunks {
        let at = hunk * stride + stride / 2;
        section.push_str(&hunk_at(&lines, at, dice.below(1_000_000)));
    }
    Case { name, text, section }
}

fn hunk_at(lines: &[&str], at: usize, number: usize) -> String {
    let (first, end) = (at - CONTEXT, at + CONTEXT + 1);
    let count = end - first;
    let mut hunk = format!("@@ -{},{count} +{},{count} @@\n", first + 1, first + 1);
    let mut push = |sign: char, line: &str| hunk.push_str(&format!("{sign}{line}\n"));
    lines[first..at].iter().for_each(|line| push(' ', line));
    push('-', lines[at]);
    push('+', &format!("    changed_line({number});"));
    lines[at + 1..end].iter().for_each(|line| push(' ', line));
    hunk
}

fn lay(folder: &Path, cases: &[Case]) {
    for Case { name, text, .. } in cases {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
        std::fs::write(path, text).expect("a file");
    }
}

/// The same diff there and back again, by turns.
fn beside_git(what: &str, cases: &[Case], rounds: usize, most: f64) -> Row {
    let scratch = Scratch::new();
    let (root, tree) = (scratch.folder("root"), scratch.folder("tree"));
    lay(&root, cases);
    lay(&tree, cases);
    let diff: String = cases.iter().map(|case| case.section.as_str()).collect();
    let bench = Bench::open(&root, &scratch.folder("state"), &Plan::default());
    let (mut there, mut theirs_there) = (true, true);
    let duel = duel(
        rounds,
        1,
        || {
            let parsed = patch::parse(&diff).expect("a patch");
            let patch = if there { parsed } else { reverse(&parsed).expect("its reverse") };
            there = !there;
            bench.perform(ApplyPatch { patch });
        },
        || {
            apply(&tree, &diff, theirs_there);
            theirs_there = !theirs_there;
        },
    );
    for case in cases {
        let [ours, theirs] = [&root, &tree].map(|folder| std::fs::read(folder.join(&case.name)));
        assert_eq!(ours.expect("ours"), theirs.expect("theirs"), "{}", case.name);
    }
    Row::times(what, &duel, Target::AtMost(most))
}

fn apply(tree: &Path, diff: &str, there: bool) {
    let mut command = Command::new("git");
    command.current_dir(tree).env("GIT_CEILING_DIRECTORIES", tree.parent().expect("a folder"));
    command.arg("apply").args((!there).then_some("-R")).stdin(Stdio::piped());
    let mut child = command.spawn().expect("git");
    child.stdin.take().expect("its input").write_all(diff.as_bytes()).expect("the diff");
    assert!(child.wait().expect("its end").success(), "git apply");
}

fn many_files() -> Row {
    let mut dice = Dice(11);
    let cases: Vec<Case> = (0..FILES)
        .map(|number| {
            let name = format!("src/part{}/file{number}.rs", number % 20);
            case(&mut dice, name, FILE_BYTES, 2)
        })
        .collect();
    beside_git("patch of 500 files, beside git apply", &cases, 20, 2.0)
}

fn one_large_file() -> Row {
    let cases = [case(&mut Dice(12), "large.rs".to_owned(), LARGE_BYTES, HUNKS)];
    beside_git("patch of 10 MB with 1,000 hunks, beside git apply", &cases, 12, 1.5)
}

/// Lines that are almost somewhere in a text: the failure has to be explained.
fn almost(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let middle = lines.len() / 2;
    let mut almost: Vec<String> = lines[middle..middle + 8].iter().map(|s| s.to_string()).collect();
    almost[3] = "    this_line(is, not, in, the, file);".to_owned();
    almost[5].push_str(" // nor is this");
    almost
}

fn failed_edit() -> Row {
    let text = Dice(13).text(FAILED_BYTES);
    let old = almost(std::str::from_utf8(&text).expect("a text")).join("\n");
    let actions = [EditAction::Replace { old, new: "new".to_owned(), all: false }];
    let solo = alone(15, || drop(replace::edit(&text, &actions).expect_err("it is not there")));
    Row::bound("why an edit fits nowhere in 1 MB", solo, Some(DIAGNOSIS))
}

fn failed_patch() -> Row {
    let text = Dice(13).text(FAILED_BYTES);
    let lines = almost(std::str::from_utf8(&text).expect("a text"));
    let old: String = lines.iter().map(|line| format!("-{line}\n")).collect();
    let diff = format!("--- a/f\n+++ b/f\n@@ -1,{} +1 @@\n{old}+new\n", lines.len());
    let parsed = patch::parse(&diff).expect("a patch");
    let solo =
        alone(15, || drop(patch::apply(&text, &parsed.files[0]).expect_err("it is not there")));
    Row::bound("why a patch fits nowhere in 1 MB", solo, Some(DIAGNOSIS))
}
