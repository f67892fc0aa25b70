//! Performs an operation: it is planned, judged, and committed with its audit row; and again, if the state changed between
//! the plan and the commit.

use std::sync::Arc;

use yard_core::op::Operation;
use yard_core::{Effect, Fault, FaultCode, Result};
use yard_kernel::{Committed, Execute, Planned, Proposal, StepMetadata};
use yard_store::{AuditEntry, StepSideEffect};

use super::{Attempt, CallChat, Completion, Pending, dry_run_only, summary};
use crate::{Origin, Verdict};

/// The result of judging an operation that was not refused.
pub(crate) enum Admission {
    /// It may go on, with records to commit in the same transaction.
    Go(Vec<StepSideEffect>),
    /// A person is asked.
    Wait(Pending),
}

impl Attempt<'_> {
    /// Performs one operation: it is planned, judged and committed. If the state changed between plan and commit, it is
    /// planned and judged again, so that what is committed is what was judged.
    pub fn perform<O: Execute>(&self, op: O) -> Result<Completion<O::Answer>> {
        self.perform_with(op, &|| Ok(None))
    }

    /// Performs one operation and commits the record that `side_effect` returns with it. `side_effect` is called again
    /// whenever the operation is planned again.
    pub(crate) fn perform_with<O: Execute>(
        &self,
        op: O,
        side_effect: &dyn Fn() -> Result<Option<StepSideEffect>>,
    ) -> Result<Completion<O::Answer>> {
        match self.session.read_restrictions(self.origin, self.call)? {
            None => self.plan_and_commit(op, side_effect),
            Some(restrictions) => {
                let call = self.call.clone().with_read_access(Some(Arc::new(restrictions)));
                self.with_call(&call).plan_and_commit(op, side_effect)
            }
        }
    }

    fn plan_and_commit<O: Execute>(
        &self,
        op: O,
        side_effect: &dyn Fn() -> Result<Option<StepSideEffect>>,
    ) -> Result<Completion<O::Answer>> {
        let workspace = &self.open().workspace;
        let required = self.judge_required_reads(&op)?;
        for _ in 0..self.session.limits().replans {
            self.call.check()?;
            workspace.check_root()?;
            let planned = op.plan(workspace, self.call);
            match planned.map_err(|fault| required.without_content(fault))? {
                Planned::Answer { mut effect, answer } => {
                    self.add_other_names(&op, &mut effect)?;
                    return Ok(match self.admit::<O>(&effect)? {
                        Admission::Go(_) => Completion::Done(answer),
                        Admission::Wait(pending) => Completion::Pending(pending),
                    });
                }
                Planned::Change(mut proposal) => {
                    let chat = CallChat::default();
                    self.complete_effect::<O>(&chat, &mut proposal)?;
                    proposal.effect.paths.splice(0..0, required.effects_to_approve());
                    self.add_other_names(&op, &mut proposal.effect)?;
                    let effect = &proposal.effect;
                    let side_effects = match self.admit_in::<O>(&chat, effect, Some(&proposal))? {
                        Admission::Go(side_effects) => side_effects,
                        Admission::Wait(pending) => return Ok(Completion::Pending(pending)),
                    };
                    let Some(proposal) = self.without_refused::<O>(proposal, &side_effects)? else {
                        continue;
                    };
                    let mut signed = self.sign::<O>(&chat, &proposal.effect)?;
                    signed.side_effects = side_effects;
                    signed.side_effects.extend(side_effect()?);
                    if let Committed::Done(answer) =
                        workspace.commit(*proposal, signed, self.call)?
                    {
                        self.set_changed();
                        return Ok(Completion::Done(answer));
                    }
                }
            }
        }
        Err(changed_again_and_again())
    }

    /// Judges a read or a start, which changes nothing by itself.
    pub(crate) fn admit<O: Operation>(&self, effect: &Effect) -> Result<Admission> {
        self.admit_in::<O>(&CallChat::default(), effect, None)
    }

    fn admit_in<O: Operation>(
        &self,
        chat: &CallChat,
        effect: &Effect,
        proposal: Option<&Proposal<O::Answer>>,
    ) -> Result<Admission> {
        self.record_effect(effect);
        self.session.check_toolset(self.origin.toolset)?;
        if self.record_if_dry_run(effect, proposal)? {
            return match proposal {
                None => Ok(Admission::Go(Vec::new())),
                Some(_) => Err(dry_run_only()),
            };
        }
        if let (Some(why), Some(_)) = (self.refusal(), proposal) {
            return Err(Fault::new(FaultCode::Denied, why));
        }
        let reason = match self.judge_in(chat, effect)? {
            Verdict::Allow
                if self.permit.is_none() || proposal.is_none() || self.lands_what_it_started() =>
            {
                return Ok(Admission::Go(Vec::new()));
            }
            // The permit covers what was shown, even if the policy would not ask for this change any more.
            Verdict::Allow => "the files changed".to_owned(),
            Verdict::Ask(reason) => reason,
            Verdict::Deny(reason) => return self.deny::<O, _>(effect, reason),
        };
        let planned = self.planned(effect, proposal)?;
        self.ask(reason, planned)
    }

    /// Records the effect of a command that runs for a preview; a fault in a dry run.
    pub(crate) fn record_preview(&self, effect: &Effect) -> Result<()> {
        self.record_effect(effect);
        if self.record_if_dry_run::<()>(effect, None)? { Err(dry_run_only()) } else { Ok(()) }
    }

    /// In a dry run records the judgement of an effect. Whether this is a dry run.
    pub(super) fn record_if_dry_run<A>(
        &self,
        effect: &Effect,
        proposal: Option<&Proposal<A>>,
    ) -> Result<bool> {
        let Some(dry_run) = &self.notes.dry_run else { return Ok(false) };
        dry_run.record(self.explain_effect(effect)?);
        if let (Some(check), Some(proposal)) = (dry_run.part_check(), proposal) {
            self.look_at_parts(check, proposal)?;
        }
        if dry_run.records_plans() {
            dry_run.record_plan(self.planned(effect, proposal)?);
        }
        Ok(true)
    }

    /// Refuses an effect, and leaves the audit row that says so.
    pub(super) fn deny<O: Operation, T>(&self, effect: &Effect, reason: String) -> Result<T> {
        let mut entry = self.audit_entry::<O>(effect);
        entry.action.insert_str(0, "deny ");
        self.open().workspace.record_audit(&entry)?;
        Err(Fault::new(FaultCode::Denied, reason))
    }

    /// Records the effect of an operation for the log and the transcript.
    fn record_effect(&self, effect: &Effect) {
        if let Some(effects) = &self.notes.effects {
            effects.add(summary(effect));
        }
        match &self.notes.touched {
            Some(touched) if self.notes.is_elsewhere => touched.add_elsewhere(),
            Some(touched) => touched.add(effect),
            None => {}
        }
    }

    pub(super) fn sign<O: Operation>(
        &self,
        chat: &CallChat,
        effect: &Effect,
    ) -> Result<StepMetadata> {
        let session = self.session;
        let audit = self.audit_entry::<O>(effect);
        let chat = match chat.get(session)? {
            Some(chat) => Some(chat.id),
            None if session.makes_chat_with_change() => Some(session.needed_chat(self.call)?.id),
            None => None,
        };
        Ok(StepMetadata { author: session.actor().author(), chat, audit, side_effects: Vec::new() })
    }

    pub(crate) fn audit_entry<O: Operation>(&self, effect: &Effect) -> AuditEntry {
        let Origin { toolset, tool, .. } = self.origin;
        AuditEntry {
            at: self.call.world().now(),
            actor: self.session.actor().name(),
            action: O::VERB.to_owned(),
            detail: format!("{toolset}.{tool} {}", summary(effect)),
        }
    }
}

pub(super) fn changed_again_and_again() -> Fault {
    Fault::new(
        FaultCode::Stale,
        "the files changed again and again while this call was planned; nothing was changed. Call again",
    )
}
