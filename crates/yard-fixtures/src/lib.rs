//! What tests of every crate start from: [`Dice`] (random numbers that are the same on every machine), [`FakeWorld`] (a
//! clock that tests set), [`trees`] (generated trees of files), [`patches`] (patches printed, reversed and applied in memory)
//! and [`git`] (the real git, to compare with). It needs `yard-core` alone, so that the tests of that crate build little
//! else. Nothing here is part of the product.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a crate of tests"
)]

mod dice;
pub mod git;
pub mod patches;
pub mod trees;
mod world;

pub use dice::Dice;
pub use world::{FakeWorld, RealWorld};
