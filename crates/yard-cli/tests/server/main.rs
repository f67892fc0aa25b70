//! `toolyard serve` from outside: the real binary, real sockets on loopback, real clients.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests drive the binary from outside"
)]

mod bodies;
mod files;
mod harness;
mod isolation;
mod logs;
mod people;
mod retries;
mod talk;
mod traces;
mod workspaces;
