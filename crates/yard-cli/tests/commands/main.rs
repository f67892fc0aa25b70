//! Commands with their effects: real boxes on a real workspace, through the catalog, as agents call them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests drive real processes"
)]

mod answers;
mod approved;
#[path = "../support/attempts.rs"]
mod attempts;
mod box_setup;
mod conformance;
mod crashes;
mod crowd;
#[path = "../support/effects.rs"]
mod effects;
mod exchanged;
mod formatting;
mod git_commits;
mod git_looks;
mod git_pushes;
mod git_settings;
mod in_place;
mod installs;
mod judged;
mod landed;
mod limits;
mod network;
mod network_pushes;
mod outputs;
mod ports;
mod programs;
mod reading;
mod restarts;
mod scripts;
mod set_ids;
mod spilled;
mod terminals;
mod test_runs;
mod typed_installs;
mod verdicts;
