//! Searching a large tree: grep, glob and find beside `rg` and `find`, on the same answers.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use yard_core::op::{Find, FindBy, Grep, PathFilter, RegexFlavor};

use crate::clock::duel;
use crate::http::sibling;
use crate::table::{Row, Target};
use crate::tree::{COMMON, RARE, tree};
use crate::workspace::{Bench, Plan, Scratch, at, target, unbounded};

const ROUNDS: usize = 9;
/// What makes `rg` look where we look.
const SAME: [&str; 8] = [
    "--no-config",
    "--no-require-git",
    "--hidden",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "-g",
    "!.git",
];

/// Every row about searching.
pub(crate) fn rows() -> Vec<Row> {
    let (scratch, root) = (Scratch::new(), tree());
    let plan = Plan { limits: unbounded(), ..Plan::default() };
    let bench = Bench::open(&root, &scratch.folder("state"), &plan);
    let Some(rg) = rg() else {
        eprintln!("rg is missing: bench/run installs it");
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (what, pattern, case_sensitive) in [
        ("grep, rare word", RARE, true),
        ("grep, common word", COMMON, true),
        ("grep, regex", r"fn (merge|parse)_\w+\(.*token", true),
        ("grep, regex without a literal", r"\w+_\d{4} = \w+\.\w+\(\d+7\)", true),
        ("grep, rare word, any case", "QuickSilver", false),
    ] {
        let op = grep(pattern, case_sensitive, None);
        let mut peer = command(&rg, &root, &["-n"]);
        if !case_sensitive {
            peer.arg("-i");
        }
        peer.args(["--", pattern]);
        let lines = same_lines(&bench, &op, &mut peer);
        let duel = duel(
            ROUNDS,
            1,
            || {
                black_box(bench.perform(op.clone()));
            },
            || {
                black_box(output(&mut peer));
            },
        );
        rows.push(Row::times(&format!("{what} ({lines} lines)"), &duel, Target::AtMost(1.2)));
    }
    let (op, mut peer) = (grep(COMMON, true, Some(50)), command(&rg, &root, &["-n", "--", COMMON]));
    let stopped = duel(
        ROUNDS,
        1,
        || {
            black_box(bench.perform(op.clone()));
        },
        || {
            black_box(output(&mut peer));
        },
    );
    rows.push(Row::times("grep, common word, limit 50", &stopped, Target::Faster(5.0)));
    rows.push(by_name(
        &bench,
        "glob **/*.rs",
        false,
        &mut command(&rg, &root, &["--files", "-t", "rust"]),
    ));
    let mut find = Command::new("find");
    find.args([".", "-name", ".git", "-prune", "-o", "-name", "*.rs", "-print"]).current_dir(&root);
    rows.push(by_name(&bench, "find -name *.rs", true, &mut find));
    rows.extend(as_process(&scratch, &rg, &root));
    rows
}

pub(crate) fn rg() -> Option<PathBuf> {
    let own = target().join("bench-tools/bin/rg");
    let found = [own, PathBuf::from("rg")];
    found.into_iter().find(|rg| Command::new(rg).arg("--version").output().is_ok())
}

pub(crate) fn command(rg: &Path, root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(rg);
    command.args(SAME).args(arguments).current_dir(root).stdin(Stdio::null());
    command
}

pub(crate) fn output(command: &mut Command) -> Vec<u8> {
    command.stdin(Stdio::null()).stderr(Stdio::null()).output().expect("an answer").stdout
}

fn grep(pattern: &str, case_sensitive: bool, limit: Option<usize>) -> Grep {
    Grep {
        pattern: pattern.to_owned(),
        flavor: RegexFlavor::Plain,
        case_sensitive,
        path: at("/"),
        filter: PathFilter::All,
        before: 0,
        after: 0,
        include_ignored: false,
        limit,
        cursor: None,
    }
}

/// Checks that both find the same lines; how many.
fn same_lines(bench: &Bench, op: &Grep, peer: &mut Command) -> usize {
    let found = bench.perform(op.clone()).matches;
    let ours: BTreeSet<String> = found
        .iter()
        .map(|found| format!("{}:{}:{}", &found.path.to_string()[1..], found.line, found.text))
        .collect();
    compare(&ours, peer);
    ours.len()
}

fn compare(ours: &BTreeSet<String>, peer: &mut Command) {
    let text = String::from_utf8(output(peer)).expect("text");
    let theirs: BTreeSet<String> =
        text.lines().map(|line| line.strip_prefix("./").unwrap_or(line).to_owned()).collect();
    let odd: Vec<_> = ours.symmetric_difference(&theirs).take(3).collect();
    assert!(odd.is_empty(), "ours {}, theirs {}: {odd:?}", ours.len(), theirs.len());
}

fn by_name(bench: &Bench, what: &str, shell: bool, peer: &mut Command) -> Row {
    let by = match shell {
        true => FindBy::Name("*.rs".to_owned()),
        false => FindBy::Globs(vec!["**/*.rs".to_owned()]),
    };
    let op = Find { include_ignored: shell, ..Find::below(at("/"), by) };
    let found = bench.perform(op.clone()).entries;
    let ours = found.iter().map(|entry| entry.path.to_string()[1..].to_owned()).collect();
    compare(&ours, peer);
    let duel = duel(
        ROUNDS,
        1,
        || {
            black_box(bench.perform(op.clone()));
        },
        || {
            black_box(output(peer));
        },
    );
    Row::times(&format!("{what} ({} files)", ours.len()), &duel, Target::AtMost(1.0))
}

/// The command line's own grep, where it is built.
fn as_process(scratch: &Scratch, rg: &Path, root: &Path) -> Option<Row> {
    let program = sibling("toolyard");
    if !program.is_file() {
        return None;
    }
    let arguments = format!("{{\"pattern\": \"{RARE}\", \"case_sensitive\": true, \"limit\": 0}}");
    let mut ours = Command::new(program);
    ours.arg("--root").arg(root).arg("--data-dir").arg(scratch.folder("data"));
    ours.args(["call", "grep", &arguments]);
    let mut peer = command(rg, root, &["-n", "--", RARE]);
    let duel = duel(
        ROUNDS,
        1,
        || {
            black_box(output(&mut ours));
        },
        || {
            black_box(output(&mut peer));
        },
    );
    Some(Row::times("toolyard call grep, rare word", &duel, Target::AtMost(1.2)))
}
