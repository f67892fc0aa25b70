//! What a call ends with: it is done, or a person is asked.

use yard_core::{ApprovalId, QuestionId};

/// The result of an operation that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion<A> {
    /// It was performed.
    Done(A),
    /// A person is asked. The door waits for the decision; no thread is held.
    Pending(Pending),
}

/// A call that waits for a person. Its door may wait for the decision, and then calls `Catalog::resume`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The approval or question that it waits for.
    pub awaited: Awaited,
    /// For how many milliseconds the call itself asked to wait; `None` leaves it to the door.
    pub wait_ms: Option<u64>,
}

impl Pending {
    pub(crate) fn on(id: ApprovalId) -> Self {
        Self { awaited: Awaited::Approval(id), wait_ms: None }
    }
}

/// What a call can wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A person's decision.
    Approval(ApprovalId),
    /// A person's answer.
    Question(QuestionId),
}

impl Awaited {
    /// The id of what is awaited, as text.
    pub fn id(&self) -> String {
        match self {
            Self::Approval(id) => id.to_string(),
            Self::Question(id) => id.to_string(),
        }
    }
}
