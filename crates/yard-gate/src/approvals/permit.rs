//! What an attempt may do after a person decided: the call is made again, and what it does then is compared with what the
//! person was shown.

use std::sync::Arc;

use yard_core::{
    ApprovalId, ContentHash, Dial, Effect, EffectKind, Fault, FaultCode, PathEffect, Result, RunId,
};
use yard_store::{Approval, ApprovalRequest, ApprovalStatus};

use super::effect::effect_of;
use super::{Approvals, DecidedPart, denial_message};
use crate::{Actor, CallerPolicy, Preset, Session};

/// What an attempt may do after a person decided.
#[derive(Debug)]
pub(crate) struct Permit {
    pub(crate) id: ApprovalId,
    /// The run of a command whose changes were approved.
    pub(crate) run: Option<RunId>,
    /// The state that the person was shown.
    approved_state: ContentHash,
    /// The effect that the person was shown.
    approved_effect: Effect,
    /// The part that was approved, if it is not the whole.
    pub(crate) part: Option<DecidedPart>,
    /// Why the changes of the run are dropped, if the person denied them.
    pub(crate) refusal: Option<String>,
}

/// A decided request, for the call that is made again: the session of its caller, and the permit.
pub struct PermittedCall {
    pub(crate) session: Session,
    pub(crate) permit: Arc<Permit>,
}

impl Permit {
    /// Whether a change is the one that was approved, or of which a part was.
    pub(crate) fn permits_change(&self, planned: &PlannedEffect<'_>) -> bool {
        if self.part.as_ref().is_some_and(|part| !part.permits()) {
            return false;
        }
        [planned.state, planned.hash_of_older_version].contains(&self.approved_state)
    }

    /// Whether every path that is read and every host that is asked was approved.
    pub(crate) fn permits_reading(&self, effect: &Effect) -> bool {
        let is_approved = |one: &PathEffect| {
            self.approved_effect.paths.iter().any(|approved| {
                (approved.kind, &approved.path, approved.with_contents)
                    == (one.kind, &one.path, one.with_contents)
            })
        };
        let is_named = |dial: &Dial| {
            self.approved_effect.dials.iter().any(|approved| approved.asked == dial.asked)
        };
        effect.paths.iter().all(is_approved) && effect.dials.iter().all(is_named)
    }

    /// The effect that a person is shown when they are asked again, with the reads that were approved before.
    pub(crate) fn effect_with_reads(&self, effect: &Effect) -> Effect {
        let read = self.approved_effect.paths.iter().filter(|one| one.kind == EffectKind::Read);
        let read = read.filter(|one| !effect.paths.contains(one)).cloned();
        let paths = read.chain(effect.paths.iter().cloned()).collect();
        Effect { paths, dials: effect.dials.clone() }
    }
}

/// A planned effect, as a request describes it.
pub(crate) struct PlannedEffect<'a> {
    pub(crate) effect: &'a Effect,
    pub(crate) state: ContentHash,
    /// The hash without the call, as requests of the previous version have it.
    pub(crate) hash_of_older_version: ContentHash,
    pub(crate) diff: String,
}

impl Approvals<'_> {
    /// The permit for the call that is made again, in the session of its caller and the chat of the request.
    pub fn permitted(&self, approval: &Approval) -> Result<PermittedCall> {
        let actor = Actor::from_name(&approval.asked_by).ok_or_else(|| {
            let message = format!("approval {} was asked for by nobody known", approval.id);
            Fault::new(FaultCode::Io, message)
        })?;
        let request = &approval.request;
        let is_denied = approval.status == ApprovalStatus::Denied;
        let permit = Permit {
            id: approval.id,
            run: request.run,
            approved_state: request.state,
            approved_effect: effect_of(request),
            part: DecidedPart::of(approval),
            refusal: is_denied.then(|| denial_message(approval)),
        };
        let (policy, root) = (policy_of(request), request.root.as_deref());
        let session = self.0.on_behalf_of(actor, policy, approval.chat, root);
        Ok(PermittedCall { session, permit: Arc::new(permit) })
    }
}

/// The policy of the door through which the request was made.
fn policy_of(request: &ApprovalRequest) -> CallerPolicy {
    match Preset::from_word(&request.preset) {
        Some(Preset::Open) => CallerPolicy::Open,
        Some(Preset::Guarded) => CallerPolicy::Guarded,
        Some(Preset::Strict) | None => CallerPolicy::Strict,
    }
}
