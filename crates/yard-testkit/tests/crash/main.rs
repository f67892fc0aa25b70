//! A process that writes, edits, moves and removes is killed at random moments. After each kill the workspace
//! is opened again, and by then no acknowledged change is lost, no file is torn, and nothing of ours is
//! left over: recovery needs no hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests"
)]

mod interrupted;
mod judge;
mod kills;
mod large;
mod lost;
mod machine;
mod model;
mod older;
mod power;
mod reboots;
mod replay;
mod restarts;
mod trace;
mod writer;
