//! What runs in a box: commands, terminals, and git where the kernel asks it something.
//!
//! `run_environment.rs` says what a box shows, hides and connects, `run.rs` runs a command in it, and `terminal.rs` a
//! program that goes on after its call. `run_files.rs` names the small files that a run leaves in its folder, `masks.rs`
//! finds the files that its caller may not read, and `box_sockets.rs` and `ports.rs` hand out connections.
//!
//! Nothing here records a change: what a run wrote becomes a step by the operations `land` and `import`. Whether a command
//! may start is not decided here.

mod box_sockets;
pub(crate) mod git;
mod masks;
pub(crate) mod ports;
pub(crate) mod run;
pub(crate) mod run_environment;
mod run_files;
pub(crate) mod terminal;
