//! What tests of every crate share: a world without surprises, the obvious twin of the store, and
//! the contract that every store keeps. Nothing here is part of the product.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a crate of tests"
)]

pub mod alike;
pub mod contract;
pub mod desk_contract;
pub mod failing;
pub mod large_args;
mod model;
mod plan;
pub mod probe;
pub mod registry_contract;
pub mod remains;
pub mod replay;
pub mod rival;
mod scribe;
mod transcripts;
mod yard;

pub use model::ModelStore;
pub use plan::Plan;
pub use scribe::Scribe;
pub use transcripts::Transcripts;
pub use yard::{Folders, Yard};
pub use yard_fixtures::{Dice, FakeWorld, RealWorld, trees};
