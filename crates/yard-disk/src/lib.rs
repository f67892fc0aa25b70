//! The files of a workspace and of its data folder: beside the store and the box, the only code that opens
//! files.
//!
//! [`Disk`] is the workspace's directory, and everything happens beneath its handle; [`Stage`] is where changes are
//! made ready and where displaced files go. The rest are the folders that runs, homes and caches of commands
//! have in the data folder. Nothing here plans or records a change.

#![allow(clippy::disallowed_methods, reason = "the crate that opens files")]

mod attributes;
mod beneath;
mod caches;
mod capabilities;
mod capture;
mod content;
mod dropped;
mod faults;
mod folders;
mod holes;
mod homes;
pub mod kept_name;
mod layer;
mod lock;
mod opened;
mod processes;
mod sockets;
mod spill;
mod stage;
mod stat;

pub use beneath::{Disk, DiskCall, Probe, RawEntry, Resolution, Spot, Stats};
pub use caches::{Added, Caches};
pub use capture::{Capture, Excerpt, Said, Whole};
pub use content::{each_piece, hash_all, io_fault, is_content, read_all, read_range};
pub use dropped::Dropped;
pub use faults::{is_folder, not_found, special, write_fault};
pub use homes::{Home, Homes};
pub use layer::{OverlayLayer, RunFolder, Runs};
pub use lock::{Locks, WorkspaceLock};
pub use processes::Processes;
pub use sockets::{Bound, Sockets};
pub use spill::{Keeping, Spill, Spills, output_folder};
pub use stage::{Displaced, Incoming, NewlyKept, Shape, Stage, Staged, Taking, looks_like};
pub use stat::{EntryKind, EntryStat, RACY_NANOS, SET_ID, is_settled};
