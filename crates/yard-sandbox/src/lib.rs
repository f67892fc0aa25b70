//! The box: the only code that starts processes. A command runs in namespaces of its own, behind
//! Landlock and seccomp, on an overlay over the workspace; afterwards the overlay holds what the command wrote.
//!
//! The helper is a hidden subcommand of this same binary ([`run_helper`]): it gets its task over its standard input and
//! nothing by its environment. This crate does not judge, land or record an effect, and it lowers no level
//! silently: [`Sandbox::probe`] finds out by running boxed commands which walls hold, and reports it.

mod box_helper;
mod command_spec;
mod config;
mod deadline;
mod filter;
mod findings;
mod first_process;
mod folder_size;
mod foreground;
mod group;
mod group_folders;
mod handles;
mod landlock_wall;
mod loopback;
mod machine;
mod masks;
mod mount_points;
mod mounts;
mod network;
mod outcome;
mod path_bytes;
mod persistent;
mod probe;
mod process;
mod process_limits;
mod pty;
mod report;
mod run;
mod sandbox;
mod syscall;
mod system;
mod task;
mod trees;
mod usage;
mod watcher;

pub use box_helper::run_helper;
pub use command_spec::{
    CacheLayer, CommandLimits, CommandSpec, Layer, Mask, MaskKind, PersistentFolders, ServedSocket,
    SharedMemory, default_environment,
};
pub use config::{CACHES, Cache, Level, Programs, SandboxConfig, Walls};
pub use deadline::Deadline;
pub use findings::Finding;
pub use foreground::ForegroundState;
pub use handles::{receive as receive_file, send as send_file};
pub use network::BoxNetwork;
pub use outcome::{CommandEnd, CommandListener, Exit, StopReason};
pub use pty::{LONGEST_LINE, Pty, Size};
pub use run::empty_scratch;
pub use sandbox::Sandbox;

/// The first argument that makes this program the helper.
pub const HELPER: &str = "box-inner";
