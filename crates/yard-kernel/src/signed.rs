//! Who stands behind a change, as it is written with the step. Nothing here decides who may change what.

use yard_core::{Author, ChatId, StepId};
use yard_store::{AuditEntry, NewChange, NewStep, StepSideEffect};

/// Who stands behind a change: the gate's word, written with the step.
#[derive(Clone, Debug)]
pub struct Signed {
    /// Whom history names.
    pub author: Author,
    /// The chat that it happens in.
    pub chat: Option<ChatId>,
    /// The row in the audit chain.
    pub audit: AuditEntry,
    /// What else becomes so with the change, or keeps it from happening.
    pub side_effects: Vec<StepSideEffect>,
}

impl Signed {
    /// The step with these changes that the audit row describes.
    pub(crate) fn step(self, id: StepId, changes: Vec<NewChange>) -> NewStep {
        let Self { author, chat, audit, side_effects } = self;
        let (at, verb) = (audit.at, audit.action.clone());
        let (undoes, placements) = (None, Vec::new());
        NewStep { id, at, author, verb, chat, undoes, changes, audit, side_effects, placements }
    }
}

/// A step that records what somebody else did.
pub(crate) fn external_step(id: StepId, changes: Vec<NewChange>, signed: &Signed) -> NewStep {
    let audit = AuditEntry {
        at: signed.audit.at,
        actor: Author::External.word().to_owned(),
        action: "adopt".to_owned(),
        detail: format!("found by {}", signed.audit.action),
    };
    let (author, side_effects) = (Author::External, Vec::new());
    Signed { author, chat: None, audit, side_effects }.step(id, changes)
}
