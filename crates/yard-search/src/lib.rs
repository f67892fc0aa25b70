//! Looking for text and names: regular expressions over lines, globs, and the walk through a tree.
//!
//! The walk reads folders and ignore files through [`yard_disk::Disk`]; patterns open nothing. What a search is for,
//! who asks, and what it answers are not known here.

mod globs;
pub mod parallel;
pub mod regex;
mod walk;

pub use globs::{Globs, GlobsBuilder};
pub use walk::{
    Flow, IGNORE_FILES, Ignores, Listing, Rules, Visit, Walk, is_passing, is_tolerable,
};
