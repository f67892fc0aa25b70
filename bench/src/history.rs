//! Listings, the past and its size: what must stay fast when there is much of it.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use yard_core::op::{
    Blame, BlameOf, History, HistoryOf, Import, List, OnFolder, Remove, Undo, Write,
};

use crate::clock::{Solo, alone, once, solo};
use crate::source::{Dice, edited};
use crate::table::{Row, Used};
use crate::workspace::{Bench, Plan, Scratch, at, size, unbounded};

const FAST: Option<Duration> = Some(Duration::from_millis(50));

/// Every row about listings and the past.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = listings();
    rows.extend(long_history());
    rows.extend(blame());
    rows.push(undo());
    rows.push(store_size());
    rows
}

fn write(path: &str, content: Vec<u8>) -> Write {
    Write::replacing(at(path), content)
}

/// Files of `bytes` each in a folder, behind the kernel's back.
pub(crate) fn fill(folder: &Path, files: usize, bytes: usize) {
    std::fs::create_dir_all(folder).expect("a folder");
    let mut dice = Dice(files as u64);
    for number in 0..files {
        let path = folder.join(format!("file_{number:05}.rs"));
        std::fs::write(path, dice.text(bytes)).expect("a file");
    }
}

fn list(limit: Option<usize>) -> List {
    List { limit, ..List::own(at("/many")) }
}

/// Long enough for a file's signature to be trusted.
const SETTLED: Duration = Duration::from_millis(2_100);

fn listings() -> Vec<Row> {
    let scratch = Scratch::new();
    let root = scratch.folder("root");
    fill(&root.join("many"), 10_000, 300);
    std::thread::sleep(SETTLED);
    let bench = Bench::open(&root, &scratch.folder("state"), &Plan::default());
    let mut rows = vec![
        Row::bound("ls of 10,000, only on disk", listed(&bench, None), FAST),
        Row::bound("  limit 100", listed(&bench, Some(100)), FAST),
    ];
    let import = once(|| {
        bench.perform(Import { path: at("/"), include_ignored: true });
    });
    rows.push(Row::bound("  (import of the 10,000)", import, None));
    rows.push(Row::bound("ls of 10,000, imported, the first", first(&bench), FAST));
    rows.push(Row::bound("ls of 10,000, imported", listed(&bench, None), FAST));
    rows.push(Row::bound("  limit 100", listed(&bench, Some(100)), FAST));
    rows.push(imported_young());
    rows
}

/// Files that were too young when they were imported are looked into once more.
fn imported_young() -> Row {
    let scratch = Scratch::new();
    let root = scratch.folder("root");
    let bench = Bench::open(&root, &scratch.folder("state"), &Plan::default());
    fill(&root.join("many"), 10_000, 300);
    bench.perform(Import { path: at("/"), include_ignored: true });
    std::thread::sleep(SETTLED);
    Row::bound("  the first, young when imported", first(&bench), None)
}

fn first(bench: &Bench) -> Solo {
    once(|| {
        black_box(bench.perform(list(None)));
    })
}

fn listed(bench: &Bench, limit: Option<usize>) -> Solo {
    alone(9, || {
        black_box(bench.perform(list(limit)));
    })
}

fn long_history() -> Vec<Row> {
    let scratch = Scratch::new();
    let (root, state) = (scratch.folder("root"), scratch.folder("state"));
    let quick = Plan { flush: false, limits: unbounded(), ..Plan::default() };
    let bench = Bench::open(&root, &state, &quick);
    let (mut dice, mut text) = (Dice(7), Dice(7).text(2_000));
    for _ in 0..10_000 {
        text = edited(&text, &mut dice);
        bench.perform(write("/file.rs", text.clone()));
    }
    let run = |limit| {
        alone(9, || {
            let op = History { of: HistoryOf::Path(at("/file.rs")), limit, before: None };
            assert!(bench.perform(op).steps.len() >= limit.min(10_000), "every version");
        })
    };
    vec![
        Row::bound("history of 10,000 versions, all", run(10_000), FAST),
        Row::bound("  limit 50", run(50), FAST),
    ]
}

/// The steps that the lines of a file came from: each version is compared with the one before, once.
fn blame() -> Vec<Row> {
    let scratch = Scratch::new();
    let (root, state) = (scratch.folder("root"), scratch.folder("state"));
    let quick = Plan { flush: false, limits: unbounded(), ..Plan::default() };
    let bench = Bench::open(&root, &state, &quick);
    let mut lines: Vec<String> =
        (0..10_000).map(|number| format!("let value_{number} = compute({number});\n")).collect();
    for version in 0..1_000 {
        lines[version * 7_919 % 9_000] = format!("changed in {version}\n");
        if version % 3 == 0 {
            lines.insert(version * 7_919 % 9_000 + 500, format!("new in {version}\n"));
            lines.remove((version * 7_919 + 5_000) % 9_000);
        }
        bench.perform(write("/file.rs", lines.concat().into_bytes()));
    }
    drop(bench);
    let bench = Bench::open(&root, &state, &quick);
    let run = || {
        let of = BlameOf::Path(at("/file.rs"));
        let blame = Blame { of, version: None, first_line: 1, limit: 1_000 };
        assert_eq!(bench.perform(blame).total_lines, 10_000);
    };
    let first = once(run);
    let again = solo((0..9).map(|_| once(run)).collect());
    lines[77] = "one more\n".to_owned();
    bench.perform(write("/file.rs", lines.concat().into_bytes()));
    let one_more = once(run);
    let (first_most, then_most) = (Duration::from_secs(3), Duration::from_millis(100));
    vec![
        Row::bound("blame of 10,000 lines, 1,000 versions", first, Some(first_most)),
        Row::bound("  again", again, Some(then_most)),
        Row::bound("  after one more version", one_more, Some(then_most)),
    ]
}

fn undo() -> Row {
    let took = solo((0..5).map(|_| undo_once()).collect());
    Row::bound("undo of a 1,000-file step", took, Some(Duration::from_millis(300)))
}

/// Each time in folders of its own: what was deleted there before would be paid for here.
fn undo_once() -> Solo {
    let scratch = Scratch::new();
    let root = scratch.folder("root");
    fill(&root.join("many"), 1_000, 2_000);
    let bench = Bench::open(&root, &scratch.folder("state"), &Plan::default());
    bench.perform(Import { path: at("/"), include_ignored: true });
    bench.perform(Remove { path: at("/many"), on_folder: OnFolder::WithContents });
    let newest = bench.perform(History { of: HistoryOf::Workspace, limit: 1, before: None });
    let step = newest.steps[0].id;
    let took = once(|| {
        black_box(bench.perform(Undo::of(step)));
    });
    assert_eq!(std::fs::read_dir(root.join("many")).expect("a folder").count(), 1_000);
    took
}

fn store_size() -> Row {
    let scratch = Scratch::new();
    let (root, state) = (scratch.folder("root"), scratch.folder("state"));
    let quick = Plan { flush: false, ..Plan::default() };
    let bench = Bench::open(&root, &state, &quick);
    let (mut dice, mut text) = (Dice(8), Dice(8).text(10 << 10));
    let mut copies = 0;
    for _ in 0..1_000 {
        text = edited(&text, &mut dice);
        copies += text.len() as u64;
        bench.perform(write("/file.rs", text.clone()));
    }
    drop(bench);
    let stored = size(&state);
    let share = stored as f64 / copies as f64;
    let cells = [
        format!("{} KiB", stored >> 10),
        format!("{} KiB", copies >> 10),
        format!("{:.1} %", share * 100.0),
        "<= 10 %".to_owned(),
    ];
    Row::words("store of 10 KB edited 1,000 times", cells, Some(Used::at_most(share, 0.1)))
}
