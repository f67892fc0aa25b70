//! Plans, commits, projects and recovers changes: the only code that changes a workspace.
//!
//! Every operation has one file in `op/` with its `plan`, which finds out what the operation would change without changing
//! it. [`Workspace::commit`] checks that the workspace is still as planned, and makes the change durable. Files are opened by
//! `yard-disk`, processes started by `yard-sandbox`, and hosts dialled by `yard-net`. Nothing here knows callers and
//! policies.

mod applied;
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
mod draft;
mod flusher;
mod foreign_changes;
mod git_config_cache;
mod git_query;
mod git_tracked;
mod history_state;
mod leftovers;
mod load_limits;
mod masks;
mod moved_refs;
mod moved_tree;
mod op;
mod open;
mod opening;
mod planner;
mod ports;
mod preview;
mod projection;
mod proposal;
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
mod watch;
mod workspace;

pub use command::FinishedRun;
pub use command_box::{CommandBox, HiddenPrograms, TerminalLimits};
pub use leftovers::Leftover;
pub use opening::Opening;
pub use ports::{PortList, TerminalPort, terminal_ports};
pub use proposal::{Committed, Execute, Planned, Proposal};
pub use root_identity::{AdoptReport, adopt};
pub use run_environment::{Command, NewRun, StorageWarning, WriteMode};
pub use step_metadata::StepMetadata;
pub use terminal::{FinishedTerminal, NewTerminal, Screen, Terminal, TerminalUpdate, UpdateReason};
pub use upload::{Upload, Uploaded};
pub use virtual_files::{VirtualFile, VirtualFiles};
pub use watch::{ChangeListener, ExternalChanges, Watch};
pub use workspace::Workspace;
