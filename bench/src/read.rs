//! Reading: 10 KB through the kernel beside `std::fs::read`, and what a slice of 100 MB holds.

use std::hint::black_box;
use std::path::Path;

use yard_core::op::{LineStart, Read, Slice, Want};

use crate::clock::duel;
use crate::source::Dice;
use crate::table::{Row, Target, Used};
use crate::workspace::{Bench, Plan, Scratch, at, data};

const KIB: usize = 1 << 10;
const LARGE: usize = 100_000_000;
/// What a slice of a large file may hold beside its answer: buffers, not the file.
const HELD: u64 = 2 << 10;

/// Every row about reading.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = small();
    rows.extend(large());
    rows
}

fn whole(path: &str, want: Want) -> Read {
    let slice = Slice::Lines { start: LineStart::FromStart(0), limit: None };
    Read { path: at(path), slice, want, max_bytes: 256 << 10 }
}

fn small() -> Vec<Row> {
    let scratch = Scratch::new();
    let root = scratch.folder("root");
    std::fs::create_dir_all(root.join("src/deep")).expect("folders");
    let file = root.join("src/deep/file.rs");
    std::fs::write(&file, Dice(1).text(10 * KIB)).expect("a file");
    let bench = Bench::open(&root, &scratch.folder("state"), &Plan::default());
    let all = Want { hash: true, line_count: true, synced: true, up_to: None };
    bench.perform(yard_core::op::Import { path: at("/"), include_ignored: true });
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    [
        ("read 10 KB", Want::default(), Target::AtMost(4.0)),
        ("  with hash, lines, synced", all, Target::None),
    ]
    .into_iter()
    .map(|(what, want, target)| {
        let op = whole("/src/deep/file.rs", want);
        let duel = duel(
            31,
            2_000,
            || {
                black_box(bench.perform(op.clone()));
            },
            || {
                black_box(std::fs::read(&file).expect("the file"));
            },
        );
        Row::times(what, &duel, target)
    })
    .collect()
}

fn large() -> Vec<Row> {
    let folder = data().join("large");
    let file = folder.join("large.txt");
    if !std::fs::metadata(&file).is_ok_and(|about| about.len() >= LARGE as u64) {
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(&file, Dice(2).text(LARGE)).expect("a large file");
    }
    let text = std::fs::read(&file).expect("the large file");
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    drop(text);
    let mut rows = Vec::new();
    for hash in ["", "hash"] {
        for (slice, line) in [
            ("start", 0),
            ("middle", lines / 2),
            ("end, from the start", lines - 100),
            ("end, from the end", 0),
            ("bytes", 0),
        ] {
            let output = crate::again(&["slice", slice, &line.to_string(), hash]);
            let mut numbers = output.split_whitespace().map(|word| word.parse().unwrap_or(0.0));
            let (kib, millis) = (numbers.next().unwrap_or(0.0), numbers.next().unwrap_or(0.0));
            let place = match slice {
                "bytes" => "4 KB in the middle".to_owned(),
                _ => format!("100 lines at the {slice}"),
            };
            let also = if hash.is_empty() { "" } else { ", with hash" };
            let what = format!("memory for 100 MB: {place}{also}");
            let cells = [
                format!("{kib:.0} KiB"),
                String::new(),
                format!("{millis:.1} ms"),
                format!("<= {HELD} KiB"),
            ];
            assert!(kib > 0.0, "the slice has a peak");
            rows.push(Row::words(&what, cells, Some(Used::at_most(kib, HELD as f64))));
        }
    }
    rows
}

/// In a process of its own: one slice; prints by how many KiB its peak rose, and its time.
pub(crate) fn slice(which: &str, line: &str, hash: bool) {
    let scratch = Scratch::new();
    let root = data().join("large");
    let bench = Bench::open(&root, &scratch.folder("state"), &Plan::default());
    let limit = Some(100);
    let slice = match which {
        "end, from the end" => Slice::Lines { start: LineStart::FromEnd(100), limit },
        "bytes" => Slice::Bytes { offset: LARGE as u64 / 2, limit: 4 << 10 },
        _ => Slice::Lines { start: LineStart::FromStart(line.parse().expect("a line")), limit },
    };
    let want = Want { hash, ..Want::default() };
    let op = Read { path: at("/large.txt"), slice, want, max_bytes: 256 << 10 };
    // The peak is set back to what is held now.
    std::fs::write("/proc/self/clear_refs", "5").expect("a peak that can be set back");
    let before = status("VmHWM:");
    let start = std::time::Instant::now();
    let answer = bench.perform(op);
    let millis = start.elapsed().as_secs_f64() * 1e3;
    assert!(!answer.text.is_empty(), "the slice is inside the file ({which})");
    println!("{} {millis}", (status("VmHWM:") - before).max(1));
}

fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string(Path::new("/proc/self/status")).expect("status");
    let line = text.lines().find_map(|line| line.strip_prefix(field)).expect("a field");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
