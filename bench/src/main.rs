//! Toolyard's speed, side by side with what one would use instead, in one run, as one table.
//!
//! `yard-bench all` measures everything; `read`, `write`, `patch`, `search`, `code`, `history`, `commands`,
//! `http` and `mcp` one part each. The last line says which rows miss their targets. What has to be measured in a
//! process of its own is a command here too (`slice`, `storm`, `bare`); `spin` does one thing of ours for some seconds,
//! for a profiler.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement touches the world itself, and a broken one should stop"
)]

mod clock;
mod code;
mod commands;
mod counted;
mod history;
mod http;
mod mcp;
mod patch;
mod read;
mod search;
mod source;
mod spin;
mod table;
mod tree;
mod workspace;
mod write;

use std::process::ExitCode;

/// The allocator of the shipped program: `bench/run` measures what is shipped.
#[cfg(feature = "dist")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["slice", which, line, rest @ ..] => read::slice(which, line, rest.contains(&"hash")),
        ["storm", writers, each] => {
            write::storm(writers.parse().expect("a number"), each.parse().expect("a number"));
        }
        ["spin", what, seconds] => spin::run(what, seconds.parse().expect("a number")),
        ["bare"] => http::serve_bare(),
        [part] if ["all", "mcp"].contains(part) || PARTS.iter().any(|(name, ..)| name == part) => {
            return measure(part);
        }
        _ => {
            eprintln!("yard-bench all|{}|mcp", PARTS.map(|(name, ..)| name).join("|"));
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

type Part = (&'static str, &'static str, fn() -> Vec<table::Row>);

const PARTS: [Part; 8] = [
    ("read", "Reading", read::rows),
    ("write", "Writing", write::rows),
    ("patch", "Patches", patch::rows),
    ("search", "Searching 50,000 files", search::rows),
    ("code", "Searching code in 20,000 files", code::rows),
    ("history", "Listings and the past", history::rows),
    ("commands", "Commands in the box", commands::rows),
    ("http", "Over HTTP", http::rows),
];

/// Measures and prints one part or all of them. It fails if a row misses its target by more than a tenth.
fn measure(wanted: &str) -> ExitCode {
    let mut misses = table::Misses::default();
    for (name, title, rows) in PARTS {
        if ["all", name].contains(&wanted) {
            table::print(title, &rows(), &mut misses);
        }
    }
    if ["all", "mcp"].contains(&wanted) {
        mcp::measure(&mut misses);
    }
    match misses.report() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Runs this program again with other arguments; what it says.
fn again(arguments: &[&str]) -> String {
    let program = std::env::current_exe().expect("this program");
    let done = std::process::Command::new(program).args(arguments).output().expect("its answer");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}
