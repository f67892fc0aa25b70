//! What the plan of an operation comes to: an answer, or a change that was proposed and not made.

use yard_core::op::Operation;
use yard_core::{Call, Effect, FileId, Result, WsPath};
use yard_store::Purged;

use crate::draft::Draft;
use crate::workspace::Workspace;

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
        draft: Draft,
        /// What it answers.
        answer: A,
    },
    /// Purge removed files.
    Purge {
        /// The files.
        files: Vec<FileId>,
        /// What it answers, once it is known what went.
        answer: Box<dyn FnOnce(Purged) -> A + Send>,
    },
}

/// What a commit came to.
pub enum Committed<A> {
    /// It happened: durable and visible.
    Done(A),
    /// The state moved since the plan; nothing happened. Plan again.
    Moved,
}
