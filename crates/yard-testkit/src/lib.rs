//! What tests of every crate share: a world without surprises, the obvious twin of the store, and
//! the contract that every store keeps. Nothing here is part of the product.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod alike;
pub mod contract;
mod model;
pub mod rival;
mod scribe;
mod world;
mod yard;

pub use model::ModelStore;
pub use scribe::Scribe;
pub use world::{FakeWorld, RealWorld};
pub use yard::{Folders, Plan, Yard};
