//! What is stored with a step beside its changes. Nothing here decides which caller may change what.

use yard_core::{Author, ChatId, StepId};
use yard_store::{AuditEntry, NewChange, NewStep, StepSideEffect};

/// What the gate says about a change: it is stored with the step.
#[derive(Clone, Debug)]
pub struct StepMetadata {
    /// The author that the history names.
    pub author: Author,
    /// The chat in which it happens.
    pub chat: Option<ChatId>,
    /// The row in the audit chain.
    pub audit: AuditEntry,
    /// Records that are written in the same transaction, or conditions under which the step is refused.
    pub side_effects: Vec<StepSideEffect>,
}

impl StepMetadata {
    /// Makes the step with these changes.
    pub(crate) fn step(self, id: StepId, changes: Vec<NewChange>) -> NewStep {
        let Self { author, chat, audit, side_effects } = self;
        let (at, verb) = (audit.at, audit.action.clone());
        let (undoes, placements) = (None, Vec::new());
        NewStep { id, at, author, verb, chat, undoes, changes, audit, side_effects, placements }
    }
}

/// Makes a step of author `external`, which records changes by other programs.
pub(crate) fn external_step(
    id: StepId,
    changes: Vec<NewChange>,
    metadata: &StepMetadata,
) -> NewStep {
    let audit = AuditEntry {
        at: metadata.audit.at,
        actor: Author::External.word().to_owned(),
        action: "adopt".to_owned(),
        detail: format!("found by {}", metadata.audit.action),
    };
    let (author, side_effects) = (Author::External, Vec::new());
    StepMetadata { author, chat: None, audit, side_effects }.step(id, changes)
}
