//! Searching: regular expressions over lines, globs, the walk through a tree, and parallel work.
//!
//! The walk reads folders and ignore files through [`yard_disk::Disk`]; patterns open nothing. Callers, operations and
//! answers are not known here.

mod globs;
pub mod parallel;
pub mod regex;
mod walk;

pub use globs::{Globs, GlobsBuilder};
pub use walk::{
    Flow, FolderView, IGNORE_FILES, Ignores, Visit, Walk, WalkOptions, is_unreadable,
    is_unsearchable,
};
