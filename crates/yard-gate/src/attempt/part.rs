//! A part of a change: finding out in a dry run what it would leave out, and leaving it out of what is committed.

use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::{ChangePart, ContentHash, Fault, FaultCode, Result};
use yard_kernel::{Execute, Proposal};
use yard_store::StepSideEffect;

use super::Attempt;
use crate::approvals::{DecidedPart, state_hash};

/// A part that a dry run looks at.
#[derive(Debug)]
pub(super) struct PartCheck {
    chosen: Vec<ChangePart>,
    outcome: Mutex<Option<PartOutcome>>,
}

/// What a dry run found out about a part.
#[derive(Debug)]
struct PartOutcome {
    /// The states under which a person may have been shown the change.
    states: [ContentHash; 2],
    refused: Result<Vec<ChangePart>>,
}

impl Attempt<'_> {
    /// Finds out what is refused if only these parts of the change that was shown as `shown` are approved. Nothing is
    /// changed. The fault says what is wrong with the choice.
    pub fn check_part<T>(
        &self,
        chosen: &[ChangePart],
        shown: ContentHash,
        run: impl FnOnce(&Attempt<'_>) -> T,
    ) -> Result<DecidedPart> {
        let check = PartCheck { chosen: chosen.to_vec(), outcome: Mutex::default() };
        let check = Arc::new(check);
        self.dry_run_of_part(&check, run);
        let outcome = check.outcome.lock().take();
        let PartOutcome { states, refused } = outcome.ok_or_else(nothing_to_divide)?;
        let refused = match states.contains(&shown) {
            true => Some(refused?),
            false => None,
        };
        Ok(DecidedPart { approved: chosen.to_vec(), refused })
    }

    /// Lets the dry run look at a planned change.
    pub(super) fn look_at_parts<A>(&self, check: &PartCheck, proposal: &Proposal<A>) -> Result<()> {
        let workspace = &self.open().workspace;
        let state = proposal.state(workspace, self.call)?;
        let states = [state_hash(self.origin, self.repeated_args(), &state), state];
        let refused = proposal.refused_without(workspace, &check.chosen, self.call);
        check.outcome.lock().get_or_insert(PartOutcome { states, refused });
        Ok(())
    }

    /// The planned change without what the person refused. `None` if it has to be planned again.
    pub(super) fn without_refused<O: Execute>(
        &self,
        proposal: Box<Proposal<O::Answer>>,
        side_effects: &[StepSideEffect],
    ) -> Result<Option<Box<Proposal<O::Answer>>>> {
        let executes = |one: &StepSideEffect| matches!(one, StepSideEffect::Execute { .. });
        let part = self.permit.as_ref().and_then(|permit| permit.part.as_ref());
        let Some(part) = part.filter(|_| side_effects.iter().any(executes)) else {
            return Ok(Some(proposal));
        };
        match proposal.keep_only::<O>(&self.open().workspace, &part.approved, self.call) {
            Ok(kept) => Ok(Some(Box::new(kept))),
            // It was a choice among these very parts, so that the files changed in between.
            Err(fault) if fault.code() == FaultCode::BadArgument => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}

fn nothing_to_divide() -> Fault {
    let message = "this request has no parts to choose from: it changes no files itself, or cannot be planned any more. \
                   Approve all of it or none, without `parts`";
    Fault::new(FaultCode::BadArgument, message)
}
