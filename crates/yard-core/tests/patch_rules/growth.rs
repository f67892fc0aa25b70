//! How edits, patches, diffs and merges behave on inputs that make careless ways quadratic: four times the
//! input takes about four times the processor time, a deadline stops each soon, and none takes much memory.
//! The plain run has a tenth of the size; `YARD_SOAK=1` has 200,000 lines, matches, edits and hunks, and
//! lines of 50 MB, and measures the memory of each in a process of its own.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use yard_core::op::EditAction;
use yard_core::patch::apply_within;
use yard_core::replace::edit_within;
use yard_core::{Bounds, Fault, FaultCode, diff, merge};

use super::one;

/// n log n is less than five times as much for four times the input; a square is sixteen times.
const MOST_TIMES: u32 = 8;
/// What takes less than this is not compared: caches and page faults are most of it.
const NOT_COMPARED: Duration = Duration::from_millis(250);
/// Where the code is too slow the test ends nevertheless.
const GIVE_UP: Duration = Duration::from_secs(40);
/// A deadline ends the work within this time.
const SOONEST: Duration = Duration::from_millis(250);
/// What one process may have at its peak, the input and the result included.
const MOST_KIB: u64 = 300 << 10;
/// The most bytes that one call may write.
const LOAD_BYTES: usize = 64 << 20;
/// Names the case that a process of its own measures.
const CASE: &str = "YARD_GROWTH_CASE";

fn is_soak() -> bool {
    std::env::var_os("YARD_SOAK").is_some()
}

fn full_size() -> usize {
    if is_soak() { 200_000 } else { 20_000 }
}

/// The processor time of this thread. Others on the machine do not count.
fn processor_time() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(times.split(' ').next().unwrap().parse().unwrap())
}

/// Work on an input that was made before.
type Work = Box<dyn Fn(Bounds<'_>) -> yard_core::Result<()>>;

/// A kind of input and what is done with it.
struct Case {
    name: &'static str,
    /// Makes an input of so many lines, matches, edits or hunks.
    of_size: fn(usize) -> Work,
}

fn rows(count: usize) -> Vec<String> {
    (0..count)
        .map(|row| format!("    let value_{row} = compute(value_{row}, \"of a long line\");\n"))
        .collect()
}

/// 250 bytes a unit: 50 MB at the full size of a soak.
fn line(count: usize) -> String {
    "0123456789".repeat(count * 25)
}

/// A bit that looks like chance, and the same every time.
fn bit(row: usize) -> bool {
    let mixed = (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed >> 40 & 1 == 1
}

fn replace(old: impl Into<String>, new: impl Into<String>, all: bool) -> EditAction {
    EditAction::Replace { old: old.into(), new: new.into(), all }
}

/// Edits that succeed, or fail with this code.
fn edits(body: String, actions: Vec<EditAction>, refused: Option<FaultCode>) -> Work {
    Box::new(move |bounds| {
        let done = edit_within(body.as_bytes(), &actions, bounds);
        match (done, refused) {
            (Ok(_), None) => Ok(()),
            (Err(fault), Some(code)) if fault.code() == code => Ok(()),
            (Err(fault), _) => Err(fault),
            (Ok(_), Some(code)) => Err(Fault::new(FaultCode::Io, format!("not {code:?}"))),
        }
    })
}

fn replacing() -> Vec<Case> {
    vec![
        Case {
            name: "replace all",
            of_size: |count| {
                edits(rows(count).concat(), vec![replace("compute(", "computed(", true)], None)
            },
        },
        Case {
            name: "replace all line ends of a file with CR LF",
            of_size: |count| {
                let body = rows(count).concat().replace('\n', "\r\n");
                edits(body, vec![replace("line\");\n", "line\");\n\n", true)], None)
            },
        },
        Case {
            name: "a text that is not unique",
            of_size: |count| {
                let refused = Some(FaultCode::TextNotUnique);
                edits(rows(count).concat(), vec![replace("line\");\n", "x", false)], refused)
            },
        },
        Case {
            name: "equal lines",
            of_size: |count| {
                let action = replace("}\n".repeat(99), "x", false);
                edits("}\n".repeat(count), vec![action], Some(FaultCode::TextNotUnique))
            },
        },
        Case {
            name: "a text that overlaps itself",
            of_size: |count| {
                let action = replace("a".repeat(count / 2), "x", false);
                edits("a".repeat(count), vec![action], Some(FaultCode::TextNotUnique))
            },
        },
        Case {
            name: "replace all in one line",
            of_size: |count| edits(line(count), vec![replace("9", "#!", true)], None),
        },
        Case {
            name: "replace in one line",
            of_size: |count| {
                let body = format!("{}mark{}", line(count / 2), line(count / 2));
                edits(body, vec![replace("mark", "x", false)], None)
            },
        },
        Case {
            name: "not found in one line",
            of_size: |count| {
                edits(line(count), vec![replace("9 0", "x", false)], Some(FaultCode::TextNotFound))
            },
        },
    ]
}

/// A change of a number that stands in one row only.
fn renamed(row: usize) -> EditAction {
    replace(format!("value_{row} ="), format!("other_{row} ="), false)
}

fn several_edits() -> Vec<Case> {
    vec![
        Case {
            name: "an edit for each line",
            of_size: |count| edits(rows(count).concat(), (0..count).map(renamed).collect(), None),
        },
        Case {
            name: "an edit for each line, from the last to the first, of a file with CR LF",
            of_size: |count| {
                let body = rows(count).concat().replace('\n', "\r\n");
                let action = |row: usize| {
                    replace(format!("value_{row}, \"of a long line\");\n"), "\n", false)
                };
                edits(body, (0..count).rev().map(action).collect(), None)
            },
        },
        Case {
            name: "an edit for each line, the last of which fails",
            of_size: |count| {
                let actions = (0..count).map(renamed).chain([renamed(count)]).collect();
                edits(rows(count).concat(), actions, Some(FaultCode::TextNotFound))
            },
        },
        Case {
            name: "an edit for each short line",
            of_size: |count| {
                let body = (0..count).map(|row| format!("{row:06}\n")).collect();
                let action =
                    |row: usize| replace(format!("{row:06}\n"), format!("x{row}\n"), false);
                edits(body, (0..count).map(action).collect(), None)
            },
        },
        Case {
            name: "many edits in one line",
            of_size: |count| {
                let mark = |row: usize| format!("<{row}>{}", line(1));
                let body = (0..count).map(mark).collect();
                let action = |row: usize| replace(format!("<{row}>"), "", false);
                edits(body, (0..count).map(action).collect(), None)
            },
        },
        Case {
            name: "edits that each need the one before",
            of_size: |count| {
                // The text is short: more of such edits of a large text are refused.
                let body = format!("<0>{}", line(40));
                let action =
                    |row: usize| replace(format!("<{row}>"), format!("<{}>", row + 1), false);
                edits(body, (0..count).map(action).collect(), None)
            },
        },
    ]
}

/// A patch that succeeds, or fails with this code.
fn patch(body: String, patch: &str, refused: Option<FaultCode>) -> Work {
    let file = one(patch);
    Box::new(move |bounds| match (apply_within(body.as_bytes(), &file, bounds), refused) {
        (Ok(_), None) => Ok(()),
        (Err(fault), Some(code)) if fault.code() == code => Ok(()),
        (Err(fault), _) => Err(fault),
        (Ok(_), Some(code)) => Err(Fault::new(FaultCode::Io, format!("not {code:?}"))),
    })
}

/// A diff that changes every second line, with stated lines that are off by `drift`.
fn many_hunks(rows: &[String], drift: usize) -> String {
    let mut diff = String::from("--- a/f\n+++ b/f\n");
    for (at, row) in rows.iter().enumerate().step_by(2) {
        let _ = write!(diff, "@@ -{0} +{0} @@\n-{row}+changed {at}\n", at + 1 + drift);
    }
    diff
}

/// An envelope with these chunks.
fn envelope(chunks: impl Iterator<Item = String>) -> String {
    let chunks: String = chunks.collect();
    format!("*** Begin Patch\n*** Update File: f\n{chunks}*** End Patch\n")
}

/// Lines of two kinds, in runs of 48 of which no two are alike.
fn two_kinds(count: usize) -> Vec<String> {
    (0..count).map(|row| if bit(row) { "{\n".into() } else { "}\n".into() }).collect()
}

/// Each run of 48 lines as a hunk that changes the one in the middle.
fn runs(lines: &[String]) -> impl Iterator<Item = (usize, String)> {
    lines.chunks_exact(48).enumerate().map(|(at, run)| {
        let context =
            |lines: &[String]| -> String { lines.iter().map(|line| format!(" {line}")).collect() };
        let (before, after) = (context(&run[..24]), context(&run[25..]));
        (at * 48 + 1, format!("{before}-{}+changed\n{after}", run[24]))
    })
}

fn patches() -> Vec<Case> {
    vec![
        Case {
            name: "hunks at their stated lines",
            of_size: |count| {
                let rows = rows(2 * count);
                patch(rows.concat(), &many_hunks(&rows, 0), None)
            },
        },
        Case {
            name: "hunks that drifted",
            of_size: |count| {
                let rows = rows(2 * count);
                patch(rows.concat(), &many_hunks(&rows, 3), None)
            },
        },
        Case {
            name: "hunks that drifted and are indented in another way",
            of_size: |count| {
                let rows = rows(2 * count);
                let body = rows.concat().replace("    let", "\tlet");
                patch(body, &many_hunks(&rows, 3), None)
            },
        },
        Case {
            name: "hunks that drifted and have a line of context that is wrong",
            of_size: |count| {
                let row = |row: usize| format!("value_{row} = computed(\"a line\");\n");
                let rows: Vec<String> = (0..4 * count).map(row).collect();
                let mut diff = String::from("--- a/f\n+++ b/f\n");
                for (at, row) in rows.chunks_exact(4).enumerate() {
                    let _ = write!(
                        diff,
                        "@@ -{0},4 +{0},4 @@\n wrong {at}\n {1}-{2}+changed\n {3}",
                        4 * at + 8,
                        row[1],
                        row[2],
                        row[3]
                    );
                }
                patch(rows.concat(), &diff, None)
            },
        },
        Case {
            name: "hunks among equal lines",
            of_size: |count| {
                let rows = vec!["}\n".to_owned(); 2 * count];
                patch(rows.concat(), &many_hunks(&rows, 0), None)
            },
        },
        Case {
            name: "hunks that drifted among lines of two kinds",
            of_size: |count| {
                let lines = two_kinds(count);
                let mut diff = String::from("--- a/f\n+++ b/f\n");
                for (at, run) in runs(&lines) {
                    let _ = write!(diff, "@@ -{0},48 +{0},48 @@\n{run}", at + 7);
                }
                patch(lines.concat(), &diff, None)
            },
        },
        Case {
            name: "chunks among lines of two kinds",
            of_size: |count| {
                let lines = two_kinds(count);
                let chunks = envelope(runs(&lines).map(|(_, run)| format!("@@\n{run}")));
                patch(lines.concat(), &chunks, None)
            },
        },
        Case {
            name: "chunks in one block",
            of_size: |count| {
                let rows = rows(count);
                let chunk = |row: &String| format!("@@ class A:\n-{row}+    changed\n");
                let body = format!("class A:\n{}", rows.concat());
                patch(body, &envelope(rows.iter().map(chunk)), None)
            },
        },
        Case {
            name: "chunks in functions that are alike",
            of_size: |count| {
                let function = |row: usize| format!("fn f{row}() {{\n    same\n}}\n");
                let chunk = |row: usize| format!("@@ fn f{row}() {{\n-    same\n+    other\n");
                let body = (0..count).map(function).collect();
                patch(body, &envelope((0..count).map(chunk)), None)
            },
        },
        Case {
            name: "chunks below brackets that close nothing",
            of_size: |count| {
                let bracket = |row: usize| format!("{{{row}\n");
                let chunk = |row: usize| format!("@@ {{{row}\n-{{{}\n+{{x\n", row + 1);
                let body = (0..=count).map(bracket).collect();
                patch(body, &envelope((0..count).step_by(2).map(chunk)), None)
            },
        },
        Case {
            name: "chunks below a line that is everywhere",
            of_size: |count| {
                let rows = rows(count);
                let chunk = |row: &String| format!("@@ }}\n-{row}+    changed\n");
                let body = rows.iter().map(|row| format!("}}\n{row}")).collect();
                patch(body, &envelope(rows.iter().map(chunk)), None)
            },
        },
        Case {
            name: "a hunk in a line of many megabytes",
            of_size: |count| {
                let body = format!("a\n{}\nb\n", line(count));
                patch(body, "--- a/f\n+++ b/f\n@@ -7 +7 @@\n-b\n+c\n", None)
            },
        },
    ]
}

/// Two texts that are compared.
type Texts = fn(usize) -> (String, String);

/// Texts that make other ways of comparing slow.
const KINDS: [(&str, Texts); 7] = [
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
        (two_kinds(count).concat(), two_kinds(count + 777)[777..].concat())
    }),
    ("one line", |count| (line(count), format!("{}x", line(count)))),
    // At the full size of a soak 1,000 lines of 25 KB on either side, which differ at their ends only.
    ("long lines that begin alike", |count| {
        let begin = line(count.div_ceil(2_000));
        let lines = |first: usize| -> String {
            (first..first + 1_000).map(|row| format!("{begin}{row}\n")).collect()
        };
        (lines(0), lines(1_000))
    }),
    // 50 MB of line breaks at the full size of a soak.
    ("empty lines", |count| ("\n".repeat(count * 250), "\n".repeat(count * 249))),
];

fn diffs_and_merges() -> Vec<Case> {
    macro_rules! cases {
        ($($kind:literal),*) => {
            vec![$(
                Case { name: concat!("diff ", $kind), of_size: |count| diffed(KINDS[$kind].1(count)) },
                Case {
                    name: concat!("counted diff ", $kind),
                    of_size: |count| counted(KINDS[$kind].1(count)),
                },
                Case { name: concat!("merge ", $kind), of_size: |count| merged(KINDS[$kind].1(count)) },
            )*]
        };
    }
    cases![0, 1, 2, 3, 4, 5, 6]
}

fn diffed((old, new): (String, String)) -> Work {
    Box::new(move |bounds| {
        diff::unified(["a", "b"], [old.as_bytes(), new.as_bytes()], 1 << 20, bounds).map(drop)
    })
}

fn counted((old, new): (String, String)) -> Work {
    Box::new(move |bounds| diff::counted_hunks_within(&old, &new, 3, 1 << 20, bounds).map(drop))
}

/// Undo and what a command wrote are merged in this way, too.
fn merged((base, ours): (String, String)) -> Work {
    Box::new(move |bounds| {
        let theirs = format!("first\n{base}");
        merge::merge_within(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), bounds).map(drop)
    })
}

fn all() -> Vec<Case> {
    let cases = [replacing(), several_edits(), patches(), diffs_and_merges()];
    cases.into_iter().flatten().collect()
}

/// Runs every case, and fails with all that is wrong.
fn each(check: impl Fn(&Case) -> Result<String, String>) {
    let only = std::env::var("YARD_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    for case in all().iter().filter(|case| case.name.contains(&only)) {
        match check(case) {
            Ok(measured) => eprintln!("{}: {measured}", case.name),
            Err(why) => wrong.push(format!("{}: {why}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The processor time of the quickest of several runs.
fn quickest(work: &Work) -> Result<Duration, String> {
    let mut quickest = GIVE_UP;
    for _ in 0..if is_soak() { 2 } else { 3 } {
        let start = processor_time();
        let check = || match processor_time() - start > GIVE_UP {
            true => Err(Fault::new(FaultCode::Timeout, "too slow")),
            false => Ok(()),
        };
        work(Bounds::new(LOAD_BYTES, &check)).map_err(|fault| fault.to_string())?;
        quickest = quickest.min(processor_time() - start);
    }
    Ok(quickest)
}

#[test]
fn four_times_the_input_takes_about_four_times_as_long() {
    each(|case| {
        let short = quickest(&(case.of_size)(full_size() / 4))?;
        let long = quickest(&(case.of_size)(full_size()))?;
        let measured = format!("{short:?}, four times as much {long:?}");
        let is_good = long <= NOT_COMPARED.max(MOST_TIMES * short);
        if is_good { Ok(measured) } else { Err(measured) }
    });
}

/// The longest time between two looks at the deadline, the start and the end among them.
fn longest_gap(work: &Work) -> Result<Duration, String> {
    let state = Mutex::new((processor_time(), Duration::ZERO));
    let look = || {
        let now = processor_time();
        if let Ok(mut state) = state.lock() {
            let gap = now - state.0;
            *state = (now, state.1.max(gap));
        }
    };
    let start = processor_time();
    let check = || {
        look();
        match processor_time() - start > GIVE_UP {
            true => Err(Fault::new(FaultCode::Timeout, "too slow")),
            false => Ok(()),
        }
    };
    work(Bounds::new(LOAD_BYTES, &check)).map_err(|fault| fault.to_string())?;
    look();
    Ok(state.lock().map_err(|error| error.to_string())?.1)
}

#[test]
fn a_deadline_is_looked_at_often_enough_to_stop_the_work_soon() {
    each(|case| {
        let work = (case.of_size)(full_size());
        // The better of two: a machine that swaps or sleeps meanwhile makes it longer.
        let gap = longest_gap(&work)?.min(longest_gap(&work)?);
        let measured = format!("at most {gap:?} between two looks");
        if gap <= SOONEST { Ok(measured) } else { Err(measured) }
    });
}

#[test]
fn a_deadline_that_is_over_ends_the_work_with_a_timeout() {
    each(|case| {
        let work = (case.of_size)(full_size());
        let check = || Err(Fault::new(FaultCode::Timeout, "stopped"));
        let start = processor_time();
        let stopped = work(Bounds::new(LOAD_BYTES, &check));
        let took = processor_time() - start;
        match stopped {
            Err(fault) if fault.code() == FaultCode::Timeout && took <= SOONEST => {
                Ok(format!("{took:?}"))
            }
            other => Err(format!("{other:?} after {took:?}")),
        }
    });
}

/// A number of kilobytes that the kernel tells of this process.
fn kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Runs in the processes that the next test starts.
#[test]
fn one_case_measured_alone() {
    let Some(name) = std::env::var_os(CASE) else { return };
    let cases = all();
    let case = cases.iter().find(|case| *case.name == *name).unwrap();
    let work = (case.of_size)(full_size());
    // Only what is needed from here on counts, and the input that is still there.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = kib("VmRSS:");
    let done = work(Bounds::new(LOAD_BYTES, &|| Ok(())));
    println!("peak {} {before} {:?}", kib("VmHWM:"), done.err());
}

#[test]
fn no_work_at_full_size_needs_more_than_300_mb() {
    if !is_soak() {
        eprintln!("SKIPPED: memory is measured in the soak (YARD_SOAK=1)");
        return;
    }
    each(|case| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "growth::one_case_measured_alone", "--nocapture"]);
        let output = child.env(CASE, case.name).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.split_once("peak ")).ok_or(text.clone())?.1;
        let peak: u64 = line.split(' ').next().unwrap().parse().unwrap();
        let measured = format!("{} MiB of which before, and fault: {line}", peak >> 10);
        if peak <= MOST_KIB { Ok(measured) } else { Err(measured) }
    });
}
