//! Calls that wait for an approval. An approved call is made again, with the arguments that were shown, by the process
//! that claims it; other processes read its stored answer. The gate checks who may decide, and which process may
//! claim.

use serde_json::{Value, json};
use yard_core::{ApprovalId, Call, ChangePart, Fault, FaultCode, WsPath};
use yard_gate::{
    Approval, ApprovalStatus, Asks, Awaited, CallLog, ClaimTurn, DecidedPart, DecisionContext,
    DecisionInput, ExecutableBy, ExplainedEffect, Pending, Revision, RulePreview, Session,
    UnwrittenTurn, denial_message, is_for_host, outcome_unknown, shows_change,
};

use super::{Catalog, outcome_name, refused_parts};
use crate::dialect::Answer;
use crate::relative;
use crate::stop::Stop;
use crate::tool::AnyTool;

/// The member of an answer which says that a person changed the arguments of the call.
pub const CHANGED_BY_PERSON: &str = "changed_by_person";

impl Catalog {
    /// Stores a person's decision about a request, and executes an approved call, unless only another process
    /// can. If the same approval is given again for a call that no process has executed, executes it.
    pub fn decide(
        &self,
        id: ApprovalId,
        decision: &DecisionInput,
        session: &Session,
        call: &Call,
    ) -> Result<Approval, Fault> {
        let approvals = session.approvals();
        let known = approvals.get(id)?;
        if is_for_host(&known) {
            // There is no call to execute: the command that waits, or the next one, makes the connection.
            let deciding =
                DecisionContext { asks: Asks::Never, revision: None, part: None, claimed_by: None };
            return approvals.decide(call, id, decision, &deciding);
        }
        if known.status == ApprovalStatus::Approved && is_same_decision(&known, decision) {
            return self.execute_unclaimed(&known, session, call);
        }
        let approval = approvals.decidable(call, id, decision)?;
        let (asks, served) = self.traits_of(&approval);
        let part = match &decision.parts {
            None => None,
            Some(parts) => match self.check_part(&approval, parts, session, call) {
                Ok(part) => Some(part),
                Err(fault) => {
                    // What was decided meanwhile may not fit the files any more.
                    approvals.decidable(call, id, decision)?;
                    return Err(fault);
                }
            },
        };
        let revision = match &decision.args {
            Some(args) if decision.approves => Some(self.revise(&approval, args, session, call)?),
            _ => None,
        };
        let claimed_by = match decision.approves {
            true => approvals.claimant(call, &approval, served)?,
            false => None,
        };
        let (revision, part) = (revision.as_ref(), part.as_ref());
        let deciding = DecisionContext { asks, revision, part, claimed_by };
        let decided = approvals.decide(call, id, decision, &deciding)?;
        if decided.status == ApprovalStatus::Denied {
            self.conclude_denied_run(&decided, session, call);
        } else if claimed_by.is_some() {
            self.execute(&decided, session, call);
        }
        approvals.get(id)
    }

    /// What the tool of a request asks for by itself, and which process can execute it.
    fn traits_of(&self, approval: &Approval) -> (Asks, ExecutableBy) {
        let request = &approval.request;
        match self.find_approved(&request.toolset, &request.tool) {
            Ok((_, tool)) if !is_for_host(approval) => {
                let args: Value = serde_json::from_str(&request.args).unwrap_or_default();
                (tool.traits(&args).asks, tool.served())
            }
            _ => (Asks::Never, ExecutableBy::AnyProcess),
        }
    }

    /// Whether any process can execute the call of a request: not one that answers with a terminal, nor the connection of a
    /// command that is over.
    pub fn is_executable_by_any_process(&self, approval: &Approval) -> bool {
        !is_for_host(approval) && self.traits_of(approval).1 == ExecutableBy::AnyProcess
    }

    /// The rules that a yes to a request would save.
    pub fn rule_previews(
        &self,
        approval: &Approval,
        session: &Session,
        call: &Call,
    ) -> Result<Vec<RulePreview>, Fault> {
        session.approvals().rule_previews(call, approval, self.traits_of(approval).0)
    }

    /// Executes a call that was approved before, if the process that was to execute it has ended.
    fn execute_unclaimed(
        &self,
        approval: &Approval,
        session: &Session,
        call: &Call,
    ) -> Result<Approval, Fault> {
        session.approvals().check_may_decide(call, approval.id)?;
        let request = &approval.request;
        let found = self.find_approved(&request.toolset, &request.tool).ok();
        let served = found.map_or(ExecutableBy::AnyProcess, |(_, tool)| tool.served());
        if session.approvals().claimant(call, approval, served)?.is_some() {
            self.claim_and_execute(approval, session, call)?;
        }
        session.approvals().get(approval.id)
    }

    /// The plan of a request with other arguments, as a preview for a person. Changes nothing.
    pub fn revise(
        &self,
        approval: &Approval,
        args: &Value,
        session: &Session,
        call: &Call,
    ) -> Result<Revision, Fault> {
        if is_for_host(approval) {
            let message = "a command asks for this host, and there are no other arguments to give";
            return Err(Fault::new(FaultCode::BadArgument, message));
        }
        let request = &approval.request;
        let (dialect, found) = self
            .find_approved(&request.toolset, &request.tool)
            .map_err(|answer| Fault::new(FaultCode::NotFound, answer.failure_message()))?;
        let permitted = session.approvals().permitted(approval)?;
        let origin = dialect.origin(found, found.traits(args).asks);
        let attempt = permitted.attempt(origin, call, args.clone());
        attempt.revise(args, |attempt| {
            found.run(args.clone(), &dialect.context(attempt)).map_err(|stop| match stop {
                Stop::Fault(fault) | Stop::Detailed(fault, _) => fault,
                other => {
                    let answer = dialect.answer(found, Err(other));
                    Fault::new(FaultCode::BadArgument, answer.failure_message())
                }
            })
        })
    }

    /// The parts of a request that would be refused if only those that a person chose were approved. Changes nothing.
    fn check_part(
        &self,
        approval: &Approval,
        chosen: &[ChangePart],
        session: &Session,
        call: &Call,
    ) -> Result<DecidedPart, Fault> {
        let request = &approval.request;
        let (dialect, found) = self
            .find_approved(&request.toolset, &request.tool)
            .map_err(|answer| Fault::new(FaultCode::NotFound, answer.failure_message()))?;
        let args = args_of(approval);
        let permitted = session.approvals().permitted(approval)?;
        let origin = dialect.origin(found, found.traits(&args).asks);
        let attempt = permitted.attempt(origin, call, args.clone());
        attempt.check_part(chosen, request.state, |attempt| {
            found.run(args, &dialect.context(attempt)).map(drop)
        })
    }

    /// The present answer to a call that waits for an approval. Executes it first if it is approved and no process has
    /// claimed it.
    pub(crate) fn answer_waiting_call(
        &self,
        id: ApprovalId,
        session: &Session,
        call: &Call,
    ) -> Answer {
        match self.execute_if_claimable(id, session, call) {
            Ok(approval) => self.answer_for(&approval, session),
            Err(fault) => self.wrap_stop("", "", &Stop::Fault(fault)),
        }
    }

    fn execute_if_claimable(
        &self,
        id: ApprovalId,
        session: &Session,
        call: &Call,
    ) -> Result<Approval, Fault> {
        let approval = session.approvals().get(id)?;
        if is_for_host(&approval) {
            return Ok(approval);
        }
        let is_open = matches!(approval.status, ApprovalStatus::Approved | ApprovalStatus::Unknown);
        if !is_open || approval.answer.is_some() {
            return Ok(approval);
        }
        self.claim_and_execute(&approval, session, call)?;
        session.approvals().get(id)
    }

    /// Executes an approved request if this process can claim it.
    fn claim_and_execute(
        &self,
        approval: &Approval,
        session: &Session,
        call: &Call,
    ) -> Result<(), Fault> {
        let approvals = session.approvals();
        let request = &approval.request;
        match approvals.claim(call, approval)? {
            ClaimTurn::Mine => self.execute(&approvals.get(approval.id)?, session, call),
            ClaimTurn::Others => {}
            ClaimTurn::Lost => {
                let answer = self.wrap_stop(
                    &request.toolset,
                    &request.tool,
                    &Stop::Fault(outcome_unknown()),
                );
                conclude(session, call, approval.id, ApprovalStatus::Unknown, &answer);
            }
            ClaimTurn::Expired => {
                approvals.close(call, approval.id, ApprovalStatus::Expired)?;
            }
        }
        Ok(())
    }

    /// Which rules would decide about each operation of a call. Changes nothing.
    pub fn explain(
        &self,
        toolset: &str,
        tool: &str,
        args: Value,
        session: &Session,
        call: &Call,
    ) -> Result<Vec<ExplainedEffect>, Box<Answer>> {
        let (dialect, found) = self.find(toolset, tool)?;
        let origin = dialect.origin(found, found.traits(&args).asks);
        let attempt = session.attempt(origin, call).repeatable(args.clone());
        let (notes, outcome) =
            attempt.explain(|attempt| found.run(args, &dialect.context(attempt)));
        match outcome {
            Err(stop) if notes.is_empty() => {
                Err(Box::new((dialect.wrap_stop)(found.name(), &stop)))
            }
            _ => Ok(notes),
        }
    }

    /// The answer to the call of a request, in its dialect.
    fn answer_for(&self, approval: &Approval, session: &Session) -> Answer {
        let (toolset, tool) = (approval.request.toolset.as_str(), approval.request.tool.as_str());
        let fault = |code, message: String| {
            self.wrap_stop(toolset, tool, &Stop::Fault(Fault::new(code, message)))
        };
        match approval.status {
            status if is_open(status) || session.approvals().is_being_answered(approval) => {
                let awaited = Awaited::Approval(approval.id);
                let pending = Pending { awaited, wait_ms: None };
                let answer = self.wrap_stop(toolset, tool, &Stop::Pending(pending.clone()));
                Answer { pending: Some(pending), ..answer }
            }
            ApprovalStatus::Denied if approval.answer.is_none() => {
                let message = denial_message(approval) + &where_output_is(approval, session);
                fault(FaultCode::Denied, message)
            }
            ApprovalStatus::Unknown => {
                self.wrap_stop(toolset, tool, &Stop::Fault(outcome_unknown()))
            }
            ApprovalStatus::Withdrawn => {
                let message = "this call was cancelled before a person had decided";
                fault(FaultCode::Denied, message.to_owned())
            }
            ApprovalStatus::Expired => {
                let message =
                    "a person approved this, and nobody came to do it in time: call again";
                fault(FaultCode::Stale, message.to_owned())
            }
            _ => stored_answer(approval),
        }
    }

    /// Makes an approved call that this process has claimed.
    fn execute(&self, approval: &Approval, session: &Session, call: &Call) {
        let mut claim = ClaimGuard { session, call, id: approval.id, is_used: false };
        let request = &approval.request;
        let args = args_of(approval);
        let failed = ApprovalStatus::Failed;
        let permitted = match session.approvals().permitted(approval) {
            Ok(permitted) => permitted,
            Err(fault) => {
                let answer = self.wrap_stop(&request.toolset, &request.tool, &Stop::Fault(fault));
                return conclude(session, call, approval.id, failed, &answer);
            }
        };
        let (dialect, found) = match self.find_approved(&request.toolset, &request.tool) {
            Ok(found) => found,
            // The catalog of this version has no such tool any more.
            Err(answer) => return conclude(session, call, approval.id, failed, &answer),
        };
        // The caller and the person who decides may disconnect: the approved call is made all the same.
        let call = &detached_call(found, session, call);
        let origin = dialect.origin(found, found.traits(&args).asks);
        let attempt = permitted.attempt(origin, call, args.clone());
        let log = CallLog::begin(attempt.clone(), &args);
        let context = dialect.context(log.attempt());
        let outcome = log.within(|| found.run(args.clone(), &context));
        let outcome_name = outcome_name(&outcome);
        let can_retry = matches!(&outcome, Err(Stop::Fault(fault)) if is_transient(fault.code()));
        let answer = with_edited_args(approval, dialect.answer(found, outcome));
        let answer = match attempt.has_changed() {
            true => refused_parts::with_refused(approval, answer, &|path: &WsPath| {
                context.display(path)
            }),
            false => answer,
        };
        let was_started =
            session.approvals().get(approval.id).is_ok_and(|approval| approval.started);
        // A request that waits again has no claim.
        claim.is_used = answer.pending.is_some();
        if answer.pending.is_none() && (!can_retry || was_started || attempt.has_changed()) {
            let line = attempt.transcript_turn(&args, answer.ok, &answer.body);
            line.into_iter().for_each(UnwrittenTurn::write);
            // A call that was shown with changes, and changed nothing, has failed.
            let landed = was_started || attempt.has_changed() || !shows_change(approval);
            let status = if answer.ok && landed { ApprovalStatus::Executed } else { failed };
            conclude(session, call, approval.id, status, &answer);
            claim.is_used = true;
        }
        log.end(&outcome_name, || &answer.body);
    }

    /// Stores the answer to a command whose changes a person denied: the denial, and the output of the command.
    fn conclude_denied_run(&self, approval: &Approval, session: &Session, call: &Call) {
        let Some(run) = approval.request.run else { return };
        let request = &approval.request;
        let found = self.find_approved(&request.toolset, &request.tool).ok();
        let reply = found.and_then(|(dialect, tool)| {
            let args: Value = serde_json::from_str(&request.args).unwrap_or_default();
            let permitted = session.approvals().permitted(approval).ok()?;
            let call = &detached_call(tool, session, call);
            let origin = dialect.origin(tool, tool.traits(&args).asks);
            let attempt = permitted.attempt(origin, call, args.clone());
            let reply = tool.run(args, &dialect.context(&attempt)).ok()?.reply;
            Some((dialect, reply.into_value()))
        });
        if let Some((dialect, reply)) = reply {
            let where_output_is = where_output_is(approval, session);
            let message =
                format!("{}{}{where_output_is}", denial_message(approval), output_of(&reply));
            let stop = Stop::Detailed(Fault::new(FaultCode::Denied, message), reply);
            let answer = (dialect.wrap_stop)(&request.tool, &stop);
            conclude(session, call, approval.id, ApprovalStatus::Denied, &answer);
        }
        session.forget_run(run);
    }
}

/// Releases the claim when it is dropped, if the approved call was neither finished nor started.
struct ClaimGuard<'a> {
    session: &'a Session,
    call: &'a Call,
    id: ApprovalId,
    is_used: bool,
}

impl Drop for ClaimGuard<'_> {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        // A started call keeps its claim. If the store cannot be written, the claim ends with the process.
        let _ = self.session.approvals().release(self.call, self.id);
    }
}

/// A call that no disconnecting caller cancels.
fn detached_call(tool: &AnyTool, session: &Session, call: &Call) -> Call {
    Call::new(call.shared_world()).within_millis(tool.millis(session.limits()))
}

/// Whether a second decision is the same approval as the first.
fn is_same_decision(approval: &Approval, decision: &DecisionInput) -> bool {
    let approved = DecidedPart::of(approval).map(|part| part.approved);
    decision.approves
        && decision.args.is_none()
        && decision.state == approval.request.state
        && decision.parts == approved
}

/// The arguments with which a decided call is made: those of the caller, or those that a person gave instead.
fn args_of(approval: &Approval) -> Value {
    let args = approval.edited_args.as_deref().unwrap_or(&approval.request.args);
    serde_json::from_str(args).unwrap_or_default()
}

/// Adds the arguments that a person changed to the answer.
fn with_edited_args(approval: &Approval, answer: Answer) -> Answer {
    let Some(args) = &approval.edited_args else { return answer };
    let args: Value = serde_json::from_str(args).unwrap_or_default();
    let mut body = answer.body.into_value();
    if let Value::Object(members) = &mut body {
        let notice = json!({
            "message": "a person changed the arguments of this call before approving it",
            "args": args,
        });
        members.insert(CHANGED_BY_PERSON.to_owned(), notice);
    }
    Answer { body: body.into(), ..answer }
}

/// Whether the call may succeed later: the approval stands, and the next poll tries again.
fn is_transient(code: FaultCode) -> bool {
    matches!(
        code,
        FaultCode::Timeout
            | FaultCode::DiskFull
            | FaultCode::Io
            | FaultCode::NotRun
            | FaultCode::Unavailable
    )
}

/// The paths of the output of a command whose changes were denied, as the end of a message.
fn where_output_is(approval: &Approval, session: &Session) -> String {
    let paths = approval.request.run.map(|run| session.kept_output(run)).unwrap_or_default();
    let root = approval.request.root.as_deref().map(|name| format!("{name}/"));
    let root = root.unwrap_or_default();
    let shown: Vec<String> =
        paths.iter().map(|path| format!("{root}{}", relative::display(path))).collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!("; what the command said is at {}", shown.join(" and ")),
    }
}

/// The output of a command, as the end of a message, for dialects whose failures have no details.
fn output_of(reply: &Value) -> String {
    let stream = |name: &str| match reply[name].as_str() {
        Some(text) if !text.is_empty() => format!("\n{name}:\n{text}"),
        _ => String::new(),
    };
    stream("stdout") + &stream("stderr")
}

fn is_open(status: ApprovalStatus) -> bool {
    matches!(status, ApprovalStatus::Pending | ApprovalStatus::Approved)
}

fn conclude(
    session: &Session,
    call: &Call,
    id: ApprovalId,
    status: ApprovalStatus,
    answer: &Answer,
) {
    let stored = json!({"ok": answer.ok, "status": answer.status, "body": *answer.body});
    // The step is durable already; without a stored answer, `stored_answer` makes one from it.
    let _ = session.approvals().conclude(call, id, status, &stored);
}

/// The answer that was stored. The process that executed the call may have ended before it could store one.
fn stored_answer(approval: &Approval) -> Answer {
    let text = approval.answer.as_deref();
    let stored = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if let Some(mut stored) = stored {
        let status = stored["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let ok = stored["ok"].as_bool().unwrap_or_default();
        let body = stored["body"].take();
        return Answer { ok, status: status.unwrap_or(200), body: body.into(), pending: None };
    }
    let result = json!({
        "status": "executed",
        "approval_id": approval.id.to_string(),
        "step_id": approval.step.map(|step| step.to_string()),
    });
    let body = json!({"success": true, "result": result, "error": null});
    let answer = Answer { ok: true, status: 200, body: body.into(), pending: None };
    refused_parts::with_refused(approval, answer, &|path: &WsPath| path.to_string())
}
