//! How the time of edits, patches, diffs and merges grows with inputs that make careless ways quadratic:
//! four times the input takes about four times as long. `YARD_SOAK=1` runs them at 200,000 lines, matches
//! and hunks, and with a line of 50 MB; the plain run only shows that nothing explodes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use yard_core::op::EditAction;
use yard_core::patch::apply;
use yard_core::replace::edit;
use yard_core::{diff, merge};

use super::one;

/// A square would be 16 times as long.
const MOST_TIMES: u32 = 9;

/// What is this short is not measured: the plain run shares its machine with other tests.
fn not_measured() -> Duration {
    Duration::from_millis(if std::env::var_os("YARD_SOAK").is_some() { 400 } else { 4_000 })
}

fn sizes() -> [usize; 2] {
    match std::env::var_os("YARD_SOAK") {
        Some(_) => [50_000, 200_000],
        None => [500, 2_000],
    }
}

/// Runs `work` on inputs of both sizes, which are made beforehand.
fn grows<I, T>(what: &str, input: impl Fn(usize) -> I, work: impl Fn(&I) -> T) {
    let [short, long] = sizes().map(|size| {
        let input = input(size);
        let once = || {
            let start = Instant::now();
            drop(work(&input));
            start.elapsed()
        };
        // The quicker of two: a loaded machine only ever makes it slower.
        once().min(once())
    });
    eprintln!("{what}: {short:?}, four times as much {long:?}");
    assert!(long <= MOST_TIMES * short + not_measured(), "{what}: {short:?} {long:?}");
}

fn replaced(body: &str, old: &str, new: &str, all: bool) -> Result<usize, String> {
    let action = EditAction::Replace { old: old.to_owned(), new: new.to_owned(), all };
    let done = edit(body.as_bytes(), &[action]);
    done.map(|outcome| outcome.bytes.len()).map_err(|fault| fault.message().to_owned())
}

fn rows(count: usize) -> Vec<String> {
    (0..count)
        .map(|row| format!("    let value_{row} = compute(value_{row}, \"of a long line\");\n"))
        .collect()
}

#[test]
fn replacing_grows_with_the_text() {
    for ending in ["\n", "\r\n"] {
        let body = |count: usize| rows(count).concat().replace('\n', ending);
        grows("replace all", body, |body| replaced(body, "compute(", "computed(", true).unwrap());
        let lines = |body: &String| replaced(body, "line\");\n", "line\");\n\n", true).unwrap();
        grows("replace all line ends", body, lines);
        grows("not unique", body, |body| replaced(body, "line\");\n", "x", false).unwrap_err());
    }
    let equal = |count: usize| "}\n".repeat(count);
    grows("equal lines", equal, |body| replaced(body, &"}\n".repeat(99), "x", false).unwrap_err());
    let overlapping = |count: usize| "a".repeat(count);
    let half = |body: &String| replaced(body, &"a".repeat(body.len() / 2), "x", false).unwrap_err();
    grows("a text that overlaps itself", overlapping, half);
}

#[test]
fn a_long_line_is_edited_compared_and_merged_in_time() {
    // 250 bytes a unit: 50 MB in a soak.
    let line = |count: usize| "0123456789".repeat(count * 25);
    grows("replace all in one line", line, |body| replaced(body, "9", "nine", true).unwrap());
    let marked = |count: usize| format!("{}mark{}", line(count), line(count));
    grows("replace in one line", marked, |body| replaced(body, "mark", "x", false).unwrap());
    grows("not found in one line", line, |body| replaced(body, "9 0", "x", false).unwrap_err());
    let two = |count: usize| (line(count), format!("{}x", line(count)));
    grows("diff of one line", two, |(old, new)| {
        diff::unified("a", "b", old.as_bytes(), new.as_bytes(), 1 << 20)
    });
    let three = |count: usize| (format!("{}\n\nb\n", line(count)), line(count));
    grows("merge of one line", three, |(base, line)| {
        let (ours, theirs) = (format!("{line}\n\nc\n"), format!("{line}x\n\nb\n"));
        merge::merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap()
    });
}

/// A diff that changes every second line, with stated lines that are off by `drift`.
fn many_hunks(rows: &[String], drift: usize) -> String {
    let mut diff = String::from("--- a/f\n+++ b/f\n");
    for (at, row) in rows.iter().enumerate().step_by(2) {
        let _ = write!(diff, "@@ -{0} +{0} @@\n-{row}+changed {at}\n", at + 1 + drift);
    }
    diff
}

#[test]
fn patches_of_many_hunks_grow_with_them() {
    let patch = |drift: usize| {
        move |count: usize| (rows(2 * count).concat(), many_hunks(&rows(2 * count), drift))
    };
    let applied = |(body, diff): &(String, String)| apply(body.as_bytes(), &one(diff)).unwrap();
    grows("hunks at stated lines", patch(0), applied);
    grows("hunks that drifted", patch(3), applied);
    let equal = |count: usize| {
        let rows = vec!["}\n".to_owned(); 2 * count];
        (rows.concat(), many_hunks(&rows, 0))
    };
    grows("hunks among equal lines", equal, applied);
    let class = |count: usize| {
        let rows = rows(count);
        let chunk = |row: &String| format!("@@ class A:\n-{row}+    changed\n");
        let chunks: String = rows.iter().map(chunk).collect();
        let patch = format!("*** Begin Patch\n*** Update File: f\n{chunks}*** End Patch\n");
        (format!("class A:\n{}", rows.concat()), patch)
    };
    grows("chunks in one block", class, applied);
}

#[test]
fn diffs_and_merges_grow_with_the_texts() {
    type Texts = fn(usize) -> (String, String);
    let kinds: [(&str, Texts); 4] = [
        ("nothing in common", |count| {
            let line = |prefix: &'static str| move |row: usize| format!("{prefix} {row}\n");
            ((0..count).map(line("a")).collect(), (0..count).map(line("b")).collect())
        }),
        ("the other order", |count| {
            let line = |row: usize| format!("{row}\n");
            ((0..count).map(line).collect(), (0..count).rev().map(line).collect())
        }),
        ("equal lines", |count| ("}\n".repeat(count), "}\n".repeat(count / 2))),
        ("two kinds of lines", |count| {
            let line = |row: usize| {
                if row.wrapping_mul(2_654_435_761) >> 7 & 1 == 1 { "a\n" } else { "b\n" }
            };
            ((0..count).map(line).collect(), (0..count).map(|row| line(row + 777)).collect())
        }),
    ];
    for (what, texts) in kinds {
        // A diff of more lines than this is not worked out at all.
        let limited = |count: usize| texts(count.min(190_000));
        grows(&format!("diff: {what}"), limited, |(old, new)| {
            diff::unified("a", "b", old.as_bytes(), new.as_bytes(), 1 << 20).unwrap()
        });
        grows(&format!("counted diff: {what}"), limited, |(old, new)| {
            diff::counted_hunks(old, new, 3, 1 << 20)
        });
        grows(&format!("merge: {what}"), texts, |(base, ours)| {
            let theirs = format!("first\n{base}");
            merge::merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).is_ok()
        });
    }
}
