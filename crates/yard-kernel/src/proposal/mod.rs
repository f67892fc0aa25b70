//! The result of planning an operation: an answer, or a proposed change.
//!
//! `classify.rs` describes a proposed change for rules and `preview.rs` for the person who has to approve it; `partial.rs`
//! leaves out of it what the person refused, and `done_part.rs` says what is left. Nothing here plans, judges or commits.

mod classify;
pub(crate) mod done_part;
mod partial;
pub(crate) mod preview;

use yard_core::op::Operation;
use yard_core::{Call, Effect, FileId, Result, WsPath};
use yard_store::Purged;

use crate::draft::Draft;
use crate::proposal::done_part::DonePart;
use crate::workspace::Workspace;

/// An operation that this kernel can plan.
pub trait Execute: Operation {
    /// Finds out what the operation would change, without changing it.
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Self::Answer>>;

    /// Whether the operation names the parts of a file that it changes, and leaves the rest alone.
    const IS_EDIT: bool = false;

    /// The answer where only a part of the change was done, because a person refused the rest.
    fn answer_for_part(answer: Self::Answer, _done: &DonePart) -> Self::Answer {
        answer
    }

    /// The paths in the arguments of the operation, with their links not resolved.
    fn named_paths(&self) -> Vec<WsPath> {
        self.paths()
    }

    /// The files whose contents decide the result of the plan, or may be quoted in a fault. A caller that may not read
    /// them cannot perform the operation.
    fn read_paths(&self) -> Vec<WsPath> {
        Vec::new()
    }
}

/// The result of a plan.
pub enum Planned<A> {
    /// Nothing needs to change.
    Answer {
        /// What was read.
        effect: Effect,
        /// The answer.
        answer: A,
    },
    /// A change that has to be committed.
    Change(Box<Proposal<A>>),
}

/// A change that is planned and not committed.
pub struct Proposal<A> {
    /// What it would do.
    pub effect: Effect,
    pub(crate) work: CommitWork<A>,
}

/// The work of a commit.
#[expect(clippy::large_enum_variant, reason = "every proposal is boxed as a whole")]
pub(crate) enum CommitWork<A> {
    /// Commit a step.
    Step {
        /// The planned step.
        draft: Draft,
        /// The answer once it is committed.
        answer: A,
    },
    /// Purge removed files.
    Purge {
        /// The files.
        files: Vec<FileId>,
        /// Makes the answer from the result.
        answer: Box<dyn FnOnce(Purged) -> A + Send>,
    },
}

/// The result of a commit.
pub enum Committed<A> {
    /// The change is durable and visible.
    Done(A),
    /// The disk or the history changed since the plan, and nothing was done: plan again.
    Stale,
}
