//! `toolyard serve` from outside: the real binary, real sockets on loopback, real clients.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests drive the binary from outside"
)]

mod account;
mod all_events;
mod approvals;
mod attacks;
#[path = "../support/attempts.rs"]
mod attempts;
mod bodies;
#[path = "../support/canaries.rs"]
mod canaries;
mod chats;
mod comments;
mod conformance_endpoint;
mod conformance_logins;
mod costs;
#[path = "../support/counter.rs"]
mod counter;
mod decide;
mod decisions;
mod dialects;
mod doctor;
#[path = "../support/effects.rs"]
mod effects;
mod examples;
mod explained;
mod files;
mod fuzzed;
mod harness;
mod history;
mod inbox;
mod isolation;
mod keys;
mod load;
mod logs;
mod node;
mod parts;
mod people;
mod programs;
mod purged;
mod restarted;
mod retries;
mod secrets;
mod seen;
mod spec_examples;
mod storage;
mod talk;
mod tenants;
mod terminals;
#[cfg(feature = "telemetry")]
mod traces;
mod ui;
mod undo;
mod upgraded;
mod verdicts;
mod web_files;
mod withheld;
mod workspaces;
