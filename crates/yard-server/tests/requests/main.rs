//! Requests to a real server on loopback, in process: bodies that are malformed, too large or slow, and calls
//! over MCP against the standard catalog. They need neither the binary nor another program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests panic where they fail, and the harness connects to its server"
)]

mod bodies;
mod harness;
mod mcp;
mod pages;
mod retries;
mod shares;
mod slow_tools;
