//! The box: the only place that starts processes. A command runs in namespaces of its own, behind
//! Landlock and seccomp, on a layer over the workspace; what it wrote is in that layer afterwards.
//!
//! The helper is a hidden subcommand of this same binary (`inner`): it is handed its order over its
//! standard input and nothing by its environment. Nothing here judges, lands or records an effect, and
//! no level is lowered silently: [`Sandbox::probe`] finds out by running boxed commands what holds, and
//! says so.

mod machine;
mod order;
mod patience;

#[cfg(target_os = "linux")]
mod capacity;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod findings;
#[cfg(target_os = "linux")]
mod first;
#[cfg(target_os = "linux")]
mod group;
#[cfg(target_os = "linux")]
mod handles;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod landlocked;
#[cfg(target_os = "linux")]
mod lasting;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod masks;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod places;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod pty;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod syscall;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod task;
#[cfg(target_os = "linux")]
mod usage;
#[cfg(target_os = "linux")]
mod waiting;
#[cfg(target_os = "linux")]
mod watched;

#[cfg(not(target_os = "linux"))]
mod elsewhere;

pub use order::{
    CACHES, Cache, CacheLayer, Ended, Exit, Finding, Hear, LONGEST_LINE, Lasting, Layer, Level,
    Limits, Mask, MaskKind, Order, Programs, ServedSocket, SharedMemory, Size, Stopped, Waiting,
    Walls, Wish, default_environment,
};

pub use patience::Patience;

#[cfg(target_os = "linux")]
pub(crate) use handles::{receive as receive_file, send as send_file};
#[cfg(target_os = "linux")]
pub use {
    inner::inner,
    network::BoxNetwork,
    pty::Pty,
    run::{Sandbox, empty_scratch},
};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{BoxNetwork, Pty, Sandbox, inner};
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{receive_file, send_file};

/// The word after the program's name that makes it the helper.
pub const HELPER: &str = "box-inner";
