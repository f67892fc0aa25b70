//! The box: the only place that starts processes. A command runs in namespaces of its own, behind
//! Landlock and seccomp, on a layer over the workspace; what it wrote is in that layer afterwards.
//!
//! The helper is a hidden subcommand of this same binary (`inner`): it is handed its order over its
//! standard input and nothing by its environment. Nothing here judges, lands or records an effect, and
//! no level is lowered silently: [`Sandbox::probe`] finds out by running boxed commands what holds, and
//! says so.

mod capacity;
mod filter;
mod findings;
mod first;
mod group;
mod group_folders;
mod handles;
mod inner;
mod landlocked;
mod lasting;
mod loopback;
mod machine;
mod masks;
mod mounts;
mod network;
mod order;
mod path_bytes;
mod patience;
mod places;
mod probe;
mod process;
mod pty;
mod report;
mod run;
mod sandbox;
mod syscall;
mod system;
mod task;
mod trees;
mod usage;
mod waiting;
mod watched;

pub use handles::{receive as receive_file, send as send_file};
pub use inner::inner;
pub use network::BoxNetwork;
pub use order::{
    CACHES, Cache, CacheLayer, Ended, Exit, Finding, Hear, Lasting, Layer, Level, Limits, Mask,
    MaskKind, Order, Programs, ServedSocket, SharedMemory, Stopped, Walls, Wish,
    default_environment,
};
pub use patience::Patience;
pub use pty::{LONGEST_LINE, Pty, Size};
pub use run::empty_scratch;
pub use sandbox::Sandbox;
pub use waiting::Waiting;

/// The word after the program's name that makes it the helper.
pub const HELPER: &str = "box-inner";
