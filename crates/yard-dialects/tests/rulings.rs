//! The rulings, as the tools of `workspace` keep them: each test is named after its ruling.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

mod answers;
mod arguments;
mod changing;
mod finding;
mod reading;
