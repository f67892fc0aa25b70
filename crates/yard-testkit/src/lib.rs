//! The shared code of tests: a deterministic world, an in-memory model of the store, the contracts that every store
//! keeps, failure injection and test workspaces. Nothing here is part of the product.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a crate of tests"
)]

pub mod contract;
pub mod failing_store;
pub mod harness;
pub mod large_args;
mod model;
pub mod model_comparison;
mod open_options;
pub mod records_contract;
pub mod registry_contract;
pub mod replay;
mod step_builder;
pub mod store_equality;
pub mod text_search;
mod transcripts;
mod yard;

pub use model::ModelStore;
pub use open_options::OpenOptions;
pub use step_builder::StepBuilder;
pub use transcripts::Transcripts;
pub use yard::{Folders, Yard};
pub use yard_fixtures::{Dice, FakeWorld, RealWorld, git, trees};
