//! The house rules: tests that read the repository.

mod conformance;
mod module_cycles;
mod names;
mod tidy;
