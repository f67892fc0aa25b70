//! Real projects, with the clients and toolchains that people have, driven over MCP: what an agent builds and
//! tests in the box must come to what the same commands come to outside of it. They install packages, so that they
//! are part of `scripts/test --full` alone. With `YARD_SOAK` each project is played by every kind of user and with
//! every toolset.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests drive the binary from outside"
)]

mod counts;
mod javascript;
mod native;
mod packages;
mod person;
mod python;
mod rust;
mod story;
mod workspace;
