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

/// A step that records what somebody else did.
pub(crate) fn external_step(id: StepId, changes: Vec<NewChange>, signed: &Signed) -> NewStep {
    let audit = AuditEntry {
        at: signed.audit.at,
        actor: Author::External.word().to_owned(),
        action: "adopt".to_owned(),
        detail: format!("found by {}", signed.audit.action),
    };
    NewStep {
        id,
        at: signed.audit.at,
        author: Author::External,
        verb: "adopt".to_owned(),
        chat: None,
        undoes: None,
        changes,
        audit,
        side_effects: Vec::new(),
        placements: Vec::new(),
    }
}
