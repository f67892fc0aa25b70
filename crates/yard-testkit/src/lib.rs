//! The shared code of tests. Nothing here is part of the product. A test works with the real store, the real disk and real
//! processes; what stands in their place is named here: a store in memory to compare with, stores and disks that fail when
//! a test wants it, and names that lead nowhere, so that no test reaches the web.
//!
//! - [`TestWorkspace`]: a workspace in a temporary folder, with everything that a call goes through. Most tests need
//!   nothing else. [`ChildWorkspace`] is the same in a process that a test starts and kills, and [`OpenOptions`] changes
//!   how either is opened.
//! - [`at`], [`write`], [`mv`] and their like build operations; [`tree`] takes a snapshot of a folder.
//! - [`FailureTrigger`], [`FailingProbe`] and [`failing_store`] let the n-th call to the disk or to the store fail, and
//!   [`FailingRecords`] a call to the records of a workspace, by its name.
//! - [`contract`], [`records_contract`] and [`registry_contract`] are what every store has to pass; [`ModelStore`] is a
//!   store in memory, slow and obvious, that others are compared with.
//! - [`replay`] writes random histories, [`large_args`] makes input, and [`InMemoryFiles`] are files that are on no disk.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a crate of tests"
)]

mod child_workspace;
pub mod contract;
mod counts;
mod failing_disk;
mod failing_records;
pub mod failing_store;
mod in_memory_files;
pub mod large_args;
mod model;
pub mod model_comparison;
mod open_options;
mod operations;
pub mod records_contract;
pub mod registry_contract;
pub mod replay;
mod snapshots;
mod step_builder;
pub mod store_equality;
mod test_workspace;
pub mod text_search;

pub use child_workspace::ChildWorkspace;
pub use counts::{scaled, soak};
pub use failing_disk::{FailingCalls, FailingProbe, FailureTrigger, InjectedFailure};
pub use failing_records::FailingRecords;
pub use in_memory_files::InMemoryFiles;
pub use model::ModelStore;
pub use open_options::OpenOptions;
pub use operations::{at, insert, mv, replace, rm, write};
pub use snapshots::{EntrySnapshot, FolderSnapshot, copy_tree, staged, tree};
pub use step_builder::StepBuilder;
pub use test_workspace::{Folders, TestWorkspace};
pub use yard_fixtures::{Dice, FakeWorld, RealWorld, git, patches, trees};
