//! The only code that changes the world.
//!
//! Every operation has one file in `op/` with its `plan`: what it would do, with before- and
//! after-images, changing nothing. [`Workspace::commit`] checks that the before-images still hold and
//! makes it so. `disk` is the only module that opens files. Nothing here knows who is calling, which
//! policy holds or what a dialect calls things.

mod belonging;
mod code;
mod command;
mod content;
mod disk;
mod draft;
mod flusher;
mod git_says;
mod globs;
mod journal;
mod leftovers;
mod making;
mod masks;
mod moved_tree;
pub mod net;
mod op;
mod output;
mod parallel;
mod ports;
mod preview;
mod projection;
mod recent;
mod recovery;
mod refs;
mod regex;
pub mod sandbox;
mod spilled;
mod terminal;
mod tracked;
mod upload;
mod virtual_files;
mod walk;
mod watch;
mod weigh;
mod workspace;

pub use belonging::{Adopted, adopt};
pub use command::{Boxed, Command, Ground, HiddenPrograms, NotKept, Ran, TerminalLimits};
pub use disk::{DiskCall, Keeping, Probe, Resolution, Said, Whole};
pub use journal::Signed;
pub use leftovers::Leftover;
pub use ports::{Listing, TerminalPort, terminal_ports};
pub use terminal::{Glance, KeptTerminal, NewTerminal, Screen, Terminal, Why};
pub use upload::{Upload, Uploaded};
pub use virtual_files::{VirtualFile, VirtualFiles};
pub use watch::{Outside, Told, Watch};
pub use workspace::{Opening, Workspace, store_fault};

use yard_core::op::Operation;
use yard_core::{Call, Effect, Result, WsPath};

/// An operation that this kernel can plan.
pub trait Execute: Operation {
    /// Works out what the operation would do, changing nothing.
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Self::Answer>>;

    /// It names what it changes, and leaves the rest of a file alone.
    const EDITS: bool = false;

    /// The paths that its caller named, as they were named: links in them are not resolved.
    fn asked(&self) -> Vec<WsPath> {
        Vec::new()
    }

    /// The files whose contents decide what becomes of the plan, and that a fault of it may quote. Who may
    /// not read them cannot do this.
    fn reads(&self) -> Vec<WsPath> {
        Vec::new()
    }
}

/// What a plan came to.
pub enum Planned<A> {
    /// Nothing needs to change: this is the answer.
    Answer {
        /// What was looked at.
        effect: Effect,
        /// The answer.
        answer: A,
    },
    /// This would change, once it is committed.
    Change(Box<Proposal<A>>),
}

/// A change that was planned and not made.
pub struct Proposal<A> {
    /// What it would do.
    pub effect: Effect,
    pub(crate) deed: Deed<A>,
}

/// What a commit has to do.
#[expect(clippy::large_enum_variant, reason = "every proposal is boxed as a whole")]
pub(crate) enum Deed<A> {
    /// Land a step.
    Step {
        /// The step on paper.
        draft: draft::Draft,
        /// What it answers.
        answer: A,
    },
    /// Purge removed files.
    Purge {
        /// The files.
        files: Vec<yard_core::FileId>,
        /// What it answers, once it is known what went.
        answer: Box<dyn FnOnce(yard_store::Purged) -> A + Send>,
    },
}

/// What a commit came to.
pub enum Committed<A> {
    /// It happened: durable and visible.
    Done(A),
    /// The state moved since the plan; nothing happened. Plan again.
    Moved,
}
