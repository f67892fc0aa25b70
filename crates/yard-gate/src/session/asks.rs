//! How a session asks a person: what they are shown of an operation, and whether they have said yes to
//! exactly that. What becomes of the request is in `approvals.rs`.

use std::sync::atomic::Ordering;

use serde_json::Value;
use yard_core::{Call, Effect, Fault, FaultCode, Result};
use yard_kernel::Proposal;

use super::{Admission, Session};
use crate::{Origin, Policy, approvals};

impl Session {
    /// What a person is shown of an operation.
    pub(super) fn planned<'a, A>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &'a Effect,
        proposal: Option<&Proposal<A>>,
    ) -> Result<approvals::Planned<'a>> {
        let (state, diff) = match proposal {
            Some(proposal) => {
                let workspace = &self.open.workspace;
                let state = proposal.state(workspace, call)?;
                match proposal.diff(workspace, approvals::DIFF_BYTES) {
                    (diff, false) => (state, diff),
                    (_, true) => return Err(approvals::too_long_to_show()),
                }
            }
            None => {
                let shown = self.shown.as_deref().unwrap_or_default();
                (approvals::state_of_start(effect, shown), shown.to_owned())
            }
        };
        let args = self.asking.as_ref().map_or(&Value::Null, |asking| &asking.args);
        let (before_args, state) = (state, approvals::shown_state(origin, args, &state));
        Ok(approvals::Planned { effect, state, before_args, diff })
    }

    /// Whether the yes was to the start of a command, which used it up: what the command changed is
    /// judged by itself.
    pub(super) fn lands_what_it_started(&self) -> bool {
        let has_run = self.asking.as_ref().is_some_and(|asking| asking.run().is_some());
        has_run && self.permitted_run().is_none()
    }

    /// Asks a person, unless one has said yes to exactly this.
    pub(super) fn ask(
        &self,
        origin: Origin<'_>,
        call: &Call,
        reason: String,
        planned: approvals::Planned<'_>,
    ) -> Result<Admission> {
        if self.has_no_person {
            return Err(nobody_there(&reason));
        }
        let Some(asking) = &self.asking else { return self.ask_nobody(&reason) };
        if asking.has_changed.load(Ordering::Relaxed) {
            let message =
                format!("{reason}. The call has done its change already, and asks no more");
            return Err(Fault::new(FaultCode::Denied, message));
        }
        if self.policy == Policy::ReadOnly {
            let message = format!("{reason}. Who may only read does not ask for more");
            return Err(Fault::new(FaultCode::Denied, message));
        }
        let Some(permit) = &self.permit else {
            return self.request(origin, call, asking, reason, planned).map(Admission::Wait);
        };
        if let Some(why) = self.refusal() {
            return Err(Fault::new(FaultCode::Denied, why));
        }
        self.check_not_executed(permit)?;
        match self.permitted_riders(call, permit, asking, &planned) {
            Some(side_effects) => Ok(Admission::Go(side_effects)),
            None => {
                let again = self.request_again(origin, call, permit, asking, reason, planned);
                again.map(Admission::Wait)
            }
        }
    }

    /// What is no call of a tool cannot be made again later: a person does it at once, an agent does not.
    fn ask_nobody(&self, reason: &str) -> Result<Admission> {
        if self.actor.is_person() {
            return Ok(Admission::Go(Vec::new()));
        }
        let message = format!("{reason}. Only a tool can wait for a person's approval: call one");
        Err(Fault::new(FaultCode::Denied, message))
    }

    /// Whether there is nobody to ask.
    pub(crate) fn has_no_person(&self) -> bool {
        self.has_no_person
    }

    /// Why nothing of a run is kept, where a person said no to it.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.permit.as_ref().and_then(|permit| permit.refusal.as_deref())
    }
}

pub(crate) fn nobody_there(reason: &str) -> Fault {
    let message =
        format!("{reason}. Nobody is there to be asked (--no-person), so that it is refused");
    Fault::new(FaultCode::Denied, message)
}
