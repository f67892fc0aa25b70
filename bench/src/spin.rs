//! One thing of ours again and again, for a profiler to look at: no peer, no table.

use std::hint::black_box;
use std::time::{Duration, Instant};

use yard_core::op::{
    Find, FindBy, Grep, History, Import, LineStart, List, OnFolder, PathFilter, Read, RegexFlavor,
    Remove, Slice, Undo, Want, Write,
};

use crate::source::{Dice, edited};
use crate::table::time;
use crate::tree::{RARE, tree};
use crate::workspace::{Bench, Plan, Scratch, at, unbounded};

/// Does `what` for so many seconds; says how long one took.
pub(crate) fn run(what: &str, seconds: u64) {
    if let Some(connections) = crate::http::connections(what) {
        return crate::http::spin(what, connections, seconds);
    }
    let scratch = Scratch::new();
    let in_tree = matches!(what, "grep" | "grep-any-case" | "glob" | "find");
    let root = if in_tree { tree() } else { scratch.folder("root") };
    let plan =
        Plan { limits: unbounded(), flush: !what.ends_with("-unflushed"), ..Plan::default() };
    let bench = Bench::open(&root, &scratch.folder("state"), &plan);
    let mut work = work(what, &bench, &root);
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        work();
        count += 1;
    }
    println!("{what}: {} each, {count} times", time(start.elapsed() / count));
}

fn work<'a>(what: &str, bench: &'a Bench, root: &std::path::Path) -> Box<dyn FnMut() + 'a> {
    let (mut dice, mut text) = (Dice(9), Dice(9).text(10 << 10));
    match what {
        "read" | "read-all" => {
            std::fs::write(root.join("file.rs"), text).expect("a file");
            let all = what == "read-all";
            bench.perform(Import { path: at("/"), include_ignored: true });
            std::thread::sleep(Duration::from_millis(2_100));
            let want = Want { hash: all, line_count: all, synced: all, up_to: None };
            let slice = Slice::Lines { start: LineStart::FromStart(0), limit: None };
            let op = Read { path: at("/file.rs"), slice, want, max_bytes: 256 << 10 };
            Box::new(move || {
                black_box(bench.perform(op.clone()));
            })
        }
        "write" | "write-unflushed" | "create" | "create-unflushed" => {
            let (creating, mut number) = (what.starts_with("create"), 0);
            Box::new(move || {
                text = edited(&text, &mut dice);
                number += u32::from(creating);
                bench.perform(Write::replacing(at(&format!("/file-{number}.rs")), text.clone()));
            })
        }
        "grep" | "grep-any-case" => {
            let op = Grep {
                pattern: RARE.to_owned(),
                flavor: RegexFlavor::Plain,
                case_sensitive: what == "grep",
                path: at("/"),
                filter: PathFilter::All,
                before: 0,
                after: 0,
                include_ignored: false,
                limit: None,
                cursor: None,
            };
            Box::new(move || {
                black_box(bench.perform(op.clone()));
            })
        }
        "glob" | "find" => {
            let by = match what {
                "glob" => FindBy::Globs(vec!["**/*.rs".to_owned()]),
                _ => FindBy::Name("*.rs".to_owned()),
            };
            let op = Find { include_ignored: what == "find", ..Find::below(at("/"), by) };
            Box::new(move || {
                black_box(bench.perform(op.clone()));
            })
        }
        "ls" | "undo" | "undo-unflushed" => {
            let files = if what == "ls" { 10_000 } else { 1_000 };
            crate::history::fill(&root.join("many"), files, 2_000);
            bench.perform(Import { path: at("/"), include_ignored: true });
            std::thread::sleep(Duration::from_millis(2_100));
            if what == "ls" {
                let op = List::own(at("/many"));
                return Box::new(move || {
                    black_box(bench.perform(op.clone()));
                });
            }
            Box::new(move || {
                bench.perform(Remove { path: at("/many"), on_folder: OnFolder::WithContents });
                let newest = bench.perform(History {
                    of: yard_core::op::HistoryOf::Workspace,
                    limit: 1,
                    before: None,
                });
                bench.perform(Undo::of(newest.steps[0].id));
            })
        }
        _ => panic!("nothing is called {what}"),
    }
}
