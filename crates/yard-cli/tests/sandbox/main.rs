//! The box, driven through the real binary as its helper, as root and as an ordinary user.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests that watch a box from outside"
)]

mod basics;
mod bombs;
mod box_setup;
mod cases;
mod cost;
mod doctor;
mod escapes;
