//! `toolyard mcp` from outside: the real binary, its pipes, and the protocol by hand in both revisions, so
//! that what a client sends wrong can be sent.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests drive the binary from outside"
)]

mod chats;
mod client;
mod clients;
mod config;
mod conformance;
mod conformance_extension;
mod conformance_tools;
#[path = "../support/counter.rs"]
mod counter;
mod decisions;
mod hostile;
mod messages;
mod people;
mod ports;
mod resources;
mod roots;
mod tools;
