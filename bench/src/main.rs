//! Toolyard's speed, side by side with what one would use instead, in one run, as one table.
//!
//! `yard-bench all` measures everything; `read`, `write`, `patch`, `search`, `code`, `history`, `commands`,
//! `http` and `mcp` one part each. What has to be measured in a process of its own is a command here too (`slice`, `storm`, `bare`);
//! `spin` does one thing of ours for some seconds, for a profiler.

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
mod place;
mod read;
mod search;
mod source;
mod spin;
mod table;
mod tree;
mod write;

/// The allocator of the shipped program: `bench/run` measures what is shipped.
#[cfg(feature = "dist")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["slice", which, line, rest @ ..] => read::slice(which, line, rest.contains(&"hash")),
        ["storm", writers, each] => {
            write::storm(writers.parse().expect("a number"), each.parse().expect("a number"));
        }
        ["spin", what, seconds] => spin::run(what, seconds.parse().expect("a number")),
        ["bare"] => http::serve_bare(),
        ["mcp"] => mcp::measure(),
        [part] if *part == "all" || PARTS.iter().any(|(name, ..)| name == part) => measure(part),
        _ => {
            eprintln!("yard-bench all|{}|mcp", PARTS.map(|(name, ..)| name).join("|"));
            std::process::exit(2);
        }
    }
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

fn measure(wanted: &str) {
    for (name, title, rows) in PARTS {
        if wanted == "all" || wanted == name {
            table::print(title, &rows());
        }
    }
    if wanted == "all" {
        mcp::measure();
    }
}

/// Runs this program again with other arguments; what it says.
fn again(arguments: &[&str]) -> String {
    let program = std::env::current_exe().expect("this program");
    let done = std::process::Command::new(program).args(arguments).output().expect("its answer");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}
