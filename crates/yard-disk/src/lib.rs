//! The files of a workspace and of its data folder: besides the store and the box, the only code that opens files.
//!
//! [`Disk`] is the workspace's directory, and everything happens beneath its handle; [`Stage`] is where new files are
//! prepared and where displaced entries go. The other modules are the folders of runs, homes and caches in the data
//! folder. This crate neither plans nor records a change.

#![allow(clippy::disallowed_methods, reason = "the crate that opens files")]

mod attributes;
mod capabilities;
mod capture;
mod content;
mod disk;
mod faults;
mod folders;
mod holes;
mod homes;
pub mod kept_name;
mod lock;
mod opened;
mod output_store;
mod package_caches;
mod processes;
mod removal_queue;
mod runs;
mod sockets;
mod stage;
mod stat;
mod state_usage;

pub use capture::{Capture, CapturedOutput, Excerpt, OutputFile};
pub use content::{each_piece, hash_all, io_fault, is_content, read_all, read_range};
pub use disk::{Disk, DiskCall, Probe, RawEntry, Resolution, ResolvedPath, Stats};
pub use faults::{is_folder, not_found, special, write_fault};
pub use homes::{Home, Homes};
pub use lock::{Locks, WorkspaceLock};
pub use output_store::{OutputStore, OutputWriter, RetentionLimits, output_folder};
pub use package_caches::{CacheAddition, CacheFolders, CacheUpdate, PackageCaches};
pub use processes::Processes;
pub use removal_queue::RemovalQueue;
pub use runs::{OverlayLayer, RunFolder, Runs};
pub use sockets::{Bound, PORT_SOCKETS, Sockets, TERMINAL_SOCKETS};
pub use stage::{
    Displaced, Incoming, NewlyKept, Replaces, Stage, Staged, StagedAttributes, looks_like,
};
pub use stat::{EntryKind, EntryStat, SET_ID, is_older_than_a_tick, is_settled};
pub use state_usage::{StateUsage, files_below, is_build_output, size_of};
