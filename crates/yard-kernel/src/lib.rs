//! Plans, commits, projects and recovers changes: the only code that changes a workspace.
//!
//! A change goes through these modules, in this order:
//!
//! | module | what it does |
//! |---|---|
//! | `op` | one file for each operation, with its plan: what it would change, without changing it |
//! | `lookup`, `virtual_files` | what is at the paths that a plan names |
//! | `planner` | writes a draft for a plan, after it adopted what other programs changed |
//! | `contents` | stages new contents, and finds the stored ones |
//! | `draft` | the planned change: data that is checked, shown, recorded and projected |
//! | `proposal` | a draft with its effects: classified for rules, shown to people, and reduced to the part that they approve |
//! | `commit` | checks that the workspace is still as planned, and records a batch of drafts. *Then the change has happened.* |
//! | `projection` | puts a recorded step on disk, and notes how far the disk is |
//! | `recovery` | opens a workspace, and finishes what was recorded and is not on disk |
//!
//! `workspace` is what they all work on: one folder, its store, its queue of drafts, its locks and its caches. `commands` runs
//! commands and terminals in a box; the operations `land` and `import` make steps of what they wrote. `watch` reports what
//! other programs change.
//!
//! Where to begin: [`Workspace`], then [`Execute::plan`] with one short operation (`op/touch.rs`), then [`Workspace::commit`].
//! A method of `Workspace` is in the module that does its work. What a module imports does not import it, by whatever way.
//!
//! Files are opened by `yard-disk`, processes started by `yard-sandbox`, and hosts dialled by `yard-net`. Nothing here knows
//! callers and policies.

mod commands;
mod commit;
mod contents;
mod draft;
mod lookup;
mod op;
mod planner;
mod projection;
mod proposal;
mod recovery;
mod virtual_files;
mod watch;
mod workspace;

pub use commands::ports::{PortList, TerminalPort, terminal_ports};
pub use commands::run::FinishedRun;
pub use commands::run_environment::{Command, NewRun, StorageWarning, WriteMode};
pub use commands::terminal::{
    FinishedTerminal, NewTerminal, Screen, Terminal, TerminalService, TerminalUpdate, UpdateReason,
};
pub use draft::step_metadata::StepMetadata;
pub use proposal::done_part::DonePart;
pub use proposal::{Committed, Execute, Planned, Proposal};
pub use recovery::leftovers::Leftover;
pub use virtual_files::{VirtualFile, VirtualFiles};
pub use watch::{ChangeListener, ExternalChanges, Watch};
pub use workspace::Workspace;
pub use workspace::command_box::{CommandBox, HiddenPrograms, TerminalLimits};
pub use workspace::opening::Opening;
pub use workspace::root_identity::{AdoptReport, adopt};
pub use workspace::upload::{Upload, Uploaded};
