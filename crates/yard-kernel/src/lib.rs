//! Plans, commits, projects and recovers changes: the only code that changes a workspace.
//!
//! The way of a change, in the order in which to read it:
//!
//! 1. [`Workspace`] (`workspace.rs`) is one folder with its store; `opening.rs` says what it is opened with.
//! 2. Every operation has one file in `op/` with its `plan` ([`Execute`], `proposal.rs`), which finds out what the operation
//!    would change without changing it. Most plans are made with the `Planner`, which fills a `Draft` (`draft.rs`): the
//!    changes, the staged files, and what has to be on disk still.
//! 3. [`Workspace::commit`] (`commit.rs`) checks that the workspace is still as planned, and records the step in the store,
//!    together with the other drafts that wait in the `CommitQueue`. From then on the change has happened.
//! 4. The `Projector` (`projection.rs`) puts the recorded step on disk. `applied.rs` and `flusher.rs` note how far the disk
//!    is, and `recovery.rs` finishes after a crash what was recorded and not on disk.
//!
//! Commands and terminals run in a box on a layer over the workspace or in place (`command.rs`, `terminal.rs`); `op/land.rs`
//! and `op/import.rs` make steps of what they wrote. `classify.rs` and `preview.rs` describe a proposal for rules and for
//! people, and `partial.rs` leaves out of it what a person refused.
//!
//! Files are opened by `yard-disk`, processes started by `yard-sandbox`, and hosts dialled by `yard-net`. Nothing here knows
//! callers and policies.

mod applied;
mod blame_cache;
mod box_sockets;
mod build_output;
mod caches;
mod classify;
mod command;
mod command_box;
mod command_output;
mod command_state;
mod commit;
mod commit_queue;
mod content_cache;
mod done_part;
mod draft;
mod flusher;
mod foreign_changes;
mod git_config_cache;
mod git_query;
mod git_tracked;
mod history_state;
mod leftovers;
mod line_counts;
mod load_limits;
mod masks;
mod moved_refs;
mod moved_tree;
mod node_lookup;
mod op;
mod open;
mod opening;
mod partial;
mod path_faults;
mod planner;
mod ports;
mod preview;
mod projection;
mod proposal;
mod read_target;
mod recovery;
mod root_identity;
mod run_environment;
mod run_files;
mod signatures;
mod staging;
mod step_metadata;
mod stored_content;
mod terminal;
mod upload;
mod virtual_files;
mod virtual_paths;
mod waiting_contents;
mod watch;
mod workspace;

pub use command::FinishedRun;
pub use command_box::{CommandBox, HiddenPrograms, TerminalLimits};
pub use done_part::DonePart;
pub use leftovers::Leftover;
pub use opening::Opening;
pub use ports::{PortList, TerminalPort, terminal_ports};
pub use proposal::{Committed, Execute, Planned, Proposal};
pub use root_identity::{AdoptReport, adopt};
pub use run_environment::{Command, NewRun, StorageWarning, WriteMode};
pub use step_metadata::StepMetadata;
pub use terminal::{
    FinishedTerminal, NewTerminal, Screen, Terminal, TerminalService, TerminalUpdate, UpdateReason,
};
pub use upload::{Upload, Uploaded};
pub use virtual_files::{VirtualFile, VirtualFiles};
pub use watch::{ChangeListener, ExternalChanges, Watch};
pub use workspace::Workspace;
