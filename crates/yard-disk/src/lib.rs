//! The files of a workspace and of its data folder: besides the store and the box, the only code that opens files.
//!
//! [`Disk`] is the workspace's directory, and everything happens beneath its handle; [`Stage`] is where new files are
//! prepared and where displaced entries go. The other modules are the folders of runs, homes and caches in the data
//! folder. This crate neither plans nor records a change.

#![allow(clippy::disallowed_methods, reason = "the crate that opens files")]

mod attributes;
mod disk;
mod caches;
mod capabilities;
mod capture;
mod content;
mod removal_queue;
mod faults;
mod folders;
mod holes;
mod homes;
pub mod kept_name;
mod runs;
mod lock;
mod opened;
mod processes;
mod sockets;
mod output_store;
mod stage;
mod stat;

pub use disk::{Disk, DiskCall, Probe, RawEntry, Resolution, Spot, Stats};
pub use caches::{Added, Caches};
pub use capture::{Capture, Excerpt, Said, Whole};
pub use content::{each_piece, hash_all, io_fault, is_content, read_all, read_range};
pub use removal_queue::Dropped;
pub use faults::{is_folder, not_found, special, write_fault};
pub use homes::{Home, Homes};
pub use runs::{OverlayLayer, RunFolder, Runs};
pub use lock::{Locks, WorkspaceLock};
pub use processes::Processes;
pub use sockets::{Bound, Sockets};
pub use output_store::{Keeping, Spill, Spills, output_folder};
pub use stage::{Displaced, Incoming, NewlyKept, Shape, Stage, Staged, Taking, looks_like};
pub use stat::{EntryKind, EntryStat, RACY_NANOS, SET_ID, is_settled};
