//! An undo of a step that changed very many lines, below a later step that changed others, on texts that make
//! careless merges quadratic: four times the lines take about four times the processor time. The plain run has
//! a tenth of the size.

use std::process::Command;
use std::time::Duration;

use yard_core::op::Undo;
use yard_testkit::TestWorkspace;
use yard_testkit::{scaled, write};

use super::by_hand::last_step;

/// Set in the process that measures; the kind of text and the number of lines.
const MEASURE: &str = "YARD_MEASURE_UNDO";
/// n log n is less than five times as much for four times the input; a square is sixteen times.
const MOST_TIMES: u32 = 8;
/// What takes less than this is not compared.
const NOT_COMPARED: Duration = Duration::from_millis(250);
/// Lines of the larger text.
const LINES: usize = 200_000;

const KINDS: [&str; 3] = ["different", "equal", "alternating"];

fn line(kind: &str, row: usize) -> String {
    match kind {
        "different" => format!("line {row}\n"),
        "equal" => "}\n".to_owned(),
        _ => ["{\n", "}\n"][row % 2].to_owned(),
    }
}

/// The text with every second line of one half changed.
fn changed(kind: &str, lines: usize, half: std::ops::Range<usize>, word: &str) -> String {
    let row = |row: usize| match half.contains(&row) && row.is_multiple_of(2) {
        true => format!("{word} {row}\n"),
        false => line(kind, row),
    };
    (0..lines).map(row).collect()
}

fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks = |at: usize| -> u64 { after_name.split(' ').nth(at).unwrap().parse().unwrap() };
    Duration::from_millis((ticks(12) + ticks(13)) * 10)
}

/// Runs in the processes that the next test starts.
#[test]
fn measured_alone() {
    let Ok(order) = std::env::var(MEASURE) else { return };
    let (kind, lines) = order.split_once(' ').unwrap();
    let lines: usize = lines.parse().unwrap();
    let workspace = TestWorkspace::new();
    let first: String = (0..lines).map(|row| line(kind, row)).collect();
    workspace.perform(write("/a", &first, None)).unwrap();
    workspace.perform(write("/a", changed(kind, lines, 0..lines / 2, "undone"), None)).unwrap();
    let step = last_step(&workspace);
    let both: String = {
        let (undone, kept) = (0..lines / 2, lines / 2 + 10..lines);
        let one = changed(kind, lines, undone, "undone");
        let other = changed(kind, lines, kept, "kept");
        let cut = |text: &str, at: usize| text.split_inclusive('\n').take(at).map(str::len).sum();
        let (a, b): (usize, usize) = (cut(&one, lines / 2 + 5), cut(&other, lines / 2 + 5));
        format!("{}{}", &one[..a], &other[b..])
    };
    workspace.perform(write("/a", &both, None)).unwrap();
    let start = processor_time();
    workspace.perform(Undo::of(step)).unwrap();
    let took = processor_time() - start;
    let must = changed(kind, lines, lines / 2 + 10..lines, "kept");
    assert!(workspace.bytes("/a") == must.as_bytes(), "{kind}: the later step's lines stay");
    eprintln!("\ntook {} ms", took.as_millis());
}

fn measure(kind: &str, lines: usize) -> Duration {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "undo::growth::measured_alone", "--nocapture"]);
    let output = child.env(MEASURE, format!("{kind} {lines}")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let answer = text.split_once("\ntook ").unwrap().1;
    Duration::from_millis(answer.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn an_undo_takes_time_in_proportion_to_the_text() {
    let lines = scaled(LINES);
    for kind in KINDS {
        let (short, long) = (measure(kind, lines / 4), measure(kind, lines));
        eprintln!("{kind}: {short:?}, four times as much {long:?}");
        let most = NOT_COMPARED.max(MOST_TIMES * short);
        assert!(long <= most, "{kind}: {short:?}, four times as much {long:?}");
    }
}
