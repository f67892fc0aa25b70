//! How an attempt asks a person: what the person is shown of an operation, whether exactly that was approved, and the
//! stored request. How the request is decided and executed is in `approvals`.

use serde_json::Value;
use yard_core::{ApprovalId, ChatId, Effect, Fault, FaultCode, Result};
use yard_kernel::Proposal;
use yard_store::{
    ApprovalFilter, ApprovalRequest, ApprovalStatus, NewApproval, StepSideEffect, StoreError,
};

use super::{Admission, Attempt, Pending, Repeatable};
use crate::approvals::{
    DIFF_BYTES, Permit, PlannedEffect, decided_already, effect_text, state_hash, state_of_start,
    too_long_to_show,
};
use crate::{CallerPolicy, transcript};

/// How many requests of one caller may wait at the same time, in one chat.
const MAX_WAITING: u64 = 100;
/// How many bytes these requests may have together. One alone may have more.
const MAX_WAITING_BYTES: u64 = 32 << 20;

impl Attempt<'_> {
    /// What a person is shown of an operation.
    pub(super) fn planned<'e, A>(
        &self,
        effect: &'e Effect,
        proposal: Option<&Proposal<A>>,
    ) -> Result<PlannedEffect<'e>> {
        let (state, diff) = match proposal {
            Some(proposal) => {
                let workspace = &self.open().workspace;
                let state = proposal.state(workspace, self.call)?;
                match proposal.diff(workspace, DIFF_BYTES) {
                    (diff, false) => (state, diff),
                    (_, true) => return Err(too_long_to_show()),
                }
            }
            None => {
                let summary = self.summary.text.as_deref().unwrap_or_default();
                (state_of_start(effect, summary), summary.to_owned())
            }
        };
        let hash_of_older_version = state;
        let state = state_hash(self.origin, self.repeated_args(), &state);
        Ok(PlannedEffect { effect, state, hash_of_older_version, diff })
    }

    /// The arguments with which the call is made again.
    pub(super) fn repeated_args(&self) -> &Value {
        self.repeatable.as_ref().map_or(&Value::Null, |repeatable| &repeatable.args)
    }

    /// Whether the permit was for the start of a command, which used it up: the changes of the command are judged by
    /// themselves.
    pub(super) fn lands_what_it_started(&self) -> bool {
        let has_run = self.repeatable.as_ref().is_some_and(|call| call.run().is_some());
        has_run && self.permitted_run().is_none()
    }

    /// Asks a person, unless exactly this was approved.
    pub(super) fn ask(&self, reason: String, planned: PlannedEffect<'_>) -> Result<Admission> {
        if self.session.has_no_person() {
            return Err(no_person(&reason, self.open().hints.no_person));
        }
        let Some(repeatable) = &self.repeatable else { return self.cannot_wait(&reason) };
        if self.has_changed() {
            let message =
                format!("{reason}. The call has done its change already, and asks no more");
            return Err(Fault::new(FaultCode::Denied, message));
        }
        if self.session.policy() == CallerPolicy::ReadOnly {
            let message = format!("{reason}. Who may only read does not ask for more");
            return Err(Fault::new(FaultCode::Denied, message));
        }
        let Some(permit) = &self.permit else {
            return self.request(repeatable, reason, planned).map(Admission::Wait);
        };
        if let Some(why) = self.refusal() {
            return Err(Fault::new(FaultCode::Denied, why));
        }
        self.session.check_not_executed(permit)?;
        match self.permitted_side_effects(permit, repeatable, &planned) {
            Some(side_effects) => Ok(Admission::Go(side_effects)),
            None => self.request_again(permit, repeatable, reason, planned).map(Admission::Wait),
        }
    }

    /// An operation without a tool cannot be made again later: a person may do it at once, an agent may not.
    fn cannot_wait(&self, reason: &str) -> Result<Admission> {
        if self.session.actor().is_person() {
            return Ok(Admission::Go(Vec::new()));
        }
        let message = format!("{reason}. Only a tool can wait for a person's approval: call one");
        Err(Fault::new(FaultCode::Denied, message))
    }

    /// The records to commit with a planned change that the permit covers; `None` if it does not cover it.
    fn permitted_side_effects(
        &self,
        permit: &Permit,
        repeatable: &Repeatable,
        planned: &PlannedEffect<'_>,
    ) -> Option<Vec<StepSideEffect>> {
        if !planned.effect.changes_anything() {
            // The approval covers the summary as well as the effect.
            let is_same = self.summary.text.is_none() || permit.permits_change(planned);
            return (permit.permits_reading(planned.effect) && is_same).then(Vec::new);
        }
        // An approval of a command's start does not cover its changes.
        if repeatable.run() != permit.run {
            return None;
        }
        // The request becomes `executed` in the transaction of the change.
        let executes = StepSideEffect::Execute { approval: permit.id, at: self.call.world().now() };
        permit.permits_change(planned).then(|| vec![executes])
    }

    /// Stores a request for a person; durable when it returns.
    fn request(
        &self,
        repeatable: &Repeatable,
        reason: String,
        planned: PlannedEffect<'_>,
    ) -> Result<Pending> {
        let session = self.session;
        self.keep_run(repeatable)?;
        let request = self.request_of(repeatable, reason, planned);
        let chat = session.needed_chat(self.call)?;
        let waiting = ApprovalFilter {
            status: Some(ApprovalStatus::Pending),
            asked_by: Some(session.actor().name()),
            chat: Some(chat.id),
            ..ApprovalFilter::default()
        };
        let _one_at_a_time = self.open().requesting.lock();
        if let Some(id) = session.equal_approved_request(self.call, &waiting, &request)? {
            return Ok(Pending::on(id));
        }
        if let Some(id) = session.equal_pending_request(&waiting, &request)? {
            return Ok(Pending::on(id));
        }
        self.check_space_for(&waiting, &request)?;
        self.make_request(chat.id, request).map(Pending::on)
    }

    /// A fault if too many requests wait already, or too large ones.
    fn check_space_for(&self, waiting: &ApprovalFilter, request: &ApprovalRequest) -> Result<()> {
        let totals = self.open().records.approval_totals(waiting)?;
        if totals.count >= MAX_WAITING {
            let message = format!(
                "{MAX_WAITING} requests of this chat wait for a person already; wait for a decision"
            );
            return Err(Fault::new(FaultCode::Denied, message));
        }
        let bytes = request.args.len() + request.effect.len() + request.diff.len();
        if totals.count > 0 && totals.bytes.saturating_add(bytes as u64) > MAX_WAITING_BYTES {
            let message = format!(
                "{} requests of this chat wait for a person already, and with this one they would have more than \
                 {} MiB; wait for a decision",
                totals.count,
                MAX_WAITING_BYTES >> 20
            );
            return Err(Fault::new(FaultCode::Denied, message));
        }
        Ok(())
    }

    /// Writes a request into the store.
    pub(crate) fn make_request(
        &self,
        chat: ChatId,
        request: ApprovalRequest,
    ) -> Result<ApprovalId> {
        let (call, actor) = (self.call, self.session.actor().name());
        let id = ApprovalId::new(call.world());
        let detail = format!("{}.{} approval {id}", self.origin.toolset, self.origin.tool);
        let audit = self.session.audit_entry(call, "request approval", detail);
        let turn = self.with_about(transcript::request(
            audit.at,
            actor.clone(),
            id,
            &request,
            self.secret(),
        ));
        let asked_in = Some(self.open().workspace.process(call)?);
        let asked = NewApproval { id, chat, asked_by: actor, at: audit.at, asked_in, request };
        self.open().records.request(&asked, &turn, &audit)?;
        self.open().changes.notify();
        Ok(id)
    }

    /// Keeps the changes of a command until a person has decided about them.
    fn keep_run(&self, repeatable: &Repeatable) -> Result<()> {
        match repeatable.run() {
            Some(run) => self.open().workspace.keep_run(run),
            None => Ok(()),
        }
    }

    fn request_of(
        &self,
        repeatable: &Repeatable,
        reason: String,
        planned: PlannedEffect<'_>,
    ) -> ApprovalRequest {
        ApprovalRequest {
            toolset: self.origin.toolset.to_owned(),
            tool: self.origin.tool.to_owned(),
            args: repeatable.args.to_string(),
            reason,
            effect: effect_text(planned.effect),
            diff: planned.diff,
            state: planned.state,
            preset: self.session.policy().preset().word().to_owned(),
            run: repeatable.run(),
            root: self.session.mount().map(|mount| mount.name.clone()),
        }
    }

    /// Asks again, because the permit does not cover what would be done now.
    fn request_again(
        &self,
        permit: &Permit,
        repeatable: &Repeatable,
        reason: String,
        planned: PlannedEffect<'_>,
    ) -> Result<Pending> {
        self.keep_run(repeatable)?;
        let reason = match (repeatable.run(), permit.run) {
            (Some(_), None) => format!("{reason} (it was approved that the command starts)"),
            _ => format!("{reason} (asked again: this is not what was approved)"),
        };
        let effect = permit.effect_with_reads(planned.effect);
        let planned = PlannedEffect { effect: &effect, ..planned };
        let request = self.request_of(repeatable, reason, planned);
        let (toolset, tool) = (self.origin.toolset, self.origin.tool);
        let detail = format!("{toolset}.{tool} approval {} again", permit.id);
        let audit = self.session.audit_entry(self.call, "request approval", detail);
        let turn =
            transcript::request(audit.at, audit.actor.clone(), permit.id, &request, self.secret());
        match self.open().records.renew(permit.id, &request, &self.with_about(turn), &audit) {
            Err(StoreError::Misfit(_)) => {
                self.session.check_not_executed(permit)?;
                Err(decided_already(&self.session.approvals().get(permit.id)?))
            }
            done => {
                done?;
                self.open().changes.notify();
                Ok(Pending::on(permit.id))
            }
        }
    }
}

/// The fault if a person would have to be asked and cannot be; `why` says why not.
pub(crate) fn no_person(reason: &str, why: &str) -> Fault {
    let message = format!("{reason}. Nobody is there to be asked{why}, so that it is refused");
    Fault::new(FaultCode::Denied, message)
}
