//! The house rules: tests that read the repository.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests that read the repository"
)]

mod conformance;
mod module_cycles;
mod names;
mod sources;
mod tidy;
