//! Plans, records, projects and recovers: the only code that changes the world.
//!
//! Every operation has one file in `op/` with its `plan`: what it would do, with before- and
//! after-images, changing nothing. [`Workspace::commit`] checks that the before-images still hold and
//! makes it so. Files are opened by `yard-disk`, processes started by `yard-sandbox`, and hosts dialled by
//! `yard-net`. Nothing here knows who is calling, which policy holds or what a dialect calls things.

mod applied;
mod belonging;
mod box_sockets;
mod boxed;
mod command;
mod commit;
mod draft;
mod flusher;
mod git_says;
mod image;
mod journal;
mod leftovers;
mod load_limits;
mod making;
mod masks;
mod moved_tree;
mod op;
mod open;
mod opening;
mod others_seen;
mod output;
mod planner;
mod pointers;
mod ports;
mod preview;
mod projection;
mod proposal;
mod recent;
mod recovery;
mod refs;
mod run_files;
mod shown;
mod signatures;
mod signed;
mod site;
mod spilled;
mod store_fault;
mod terminal;
mod tracked;
mod upload;
mod virtual_files;
mod watch;
mod weigh;
mod workspace;

pub use belonging::{Adopted, adopt};
pub use boxed::{Boxed, HiddenPrograms, TerminalLimits};
pub use command::Ran;
pub use leftovers::Leftover;
pub use opening::Opening;
pub use ports::{Listing, TerminalPort, terminal_ports};
pub use proposal::{Committed, Execute, Planned, Proposal};
pub use signed::Signed;
pub use site::{Command, Ground, NotKept};
pub use store_fault::store_fault;
pub use terminal::{Glance, KeptTerminal, NewTerminal, Screen, Terminal, Why};
pub use upload::{Upload, Uploaded};
pub use virtual_files::{VirtualFile, VirtualFiles};
pub use watch::{Outside, Told, Watch};
pub use workspace::Workspace;
