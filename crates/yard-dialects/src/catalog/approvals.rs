//! Calls that wait for a person's word: what becomes of one once the word is there. What was approved is
//! called again with the arguments that were shown, by the process that has claimed it; everybody else reads
//! its answer. Who may decide, and whose turn it is, is the gate's to say.

use serde_json::{Value, json};
use yard_core::{ApprovalId, Call, Fault, FaultCode};
use yard_gate::{
    Approval, ApprovalStatus, Asks, Awaited, CallLog, ClaimTurn, Deciding, Explained, Line,
    Pending, Revision, Ruling, Served, Session, denial_words, is_for_host, lost, shows_change,
};

use super::{Catalog, outcome_word};
use crate::dialect::Answer;
use crate::relative;
use crate::stop::Stop;
use crate::tool::AnyTool;

/// Where an answer says that a person changed the arguments of the call.
pub const CHANGED_BY_PERSON: &str = "changed_by_person";

impl Catalog {
    /// Says yes or no to a request, as a person, and does what was approved, unless only another process
    /// can serve it. A second yes to what was approved, and what nobody executes, executes it.
    pub fn decide(
        &self,
        id: ApprovalId,
        ruling: &Ruling,
        session: &Session,
        call: &Call,
    ) -> Result<Approval, Fault> {
        let approvals = session.approvals();
        let known = approvals.get(id)?;
        if is_for_host(&known) {
            // Nothing is called again: the command that waits, or the next one, makes the connection.
            let deciding = Deciding { asks: Asks::Never, revision: None, claimed_by: None };
            return approvals.decide(call, id, ruling, &deciding);
        }
        if known.status == ApprovalStatus::Approved && is_same_yes(&known, ruling) {
            return self.decide_again(&known, session, call);
        }
        let approval = approvals.decidable(call, id, ruling)?;
        let request = &approval.request;
        let found = self.find_approved(&request.toolset, &request.tool).ok();
        let (asks, served) = match found {
            Some((_, tool)) => {
                let args: Value = serde_json::from_str(&request.args).unwrap_or_default();
                (tool.nature(&args).asks, tool.served())
            }
            None => (Asks::Never, Served::Anywhere),
        };
        let revision = match &ruling.args {
            Some(args) if ruling.approves => Some(self.revise(&approval, args, session, call)?),
            _ => None,
        };
        let claimed_by = match ruling.approves {
            true => approvals.claimant(call, &approval, served)?,
            false => None,
        };
        let deciding = Deciding { asks, revision: revision.as_ref(), claimed_by };
        let decided = approvals.decide(call, id, ruling, &deciding)?;
        if decided.status == ApprovalStatus::Denied {
            self.refuse_run(&decided, session, call);
        } else if claimed_by.is_some() {
            self.execute(&decided, session, call);
        }
        approvals.get(id)
    }

    /// A yes that was given before, and that nobody acts on: the process that was about to has ended.
    fn decide_again(
        &self,
        approval: &Approval,
        session: &Session,
        call: &Call,
    ) -> Result<Approval, Fault> {
        session.approvals().check_may_decide(call, approval.id)?;
        let request = &approval.request;
        let found = self.find_approved(&request.toolset, &request.tool).ok();
        let served = found.map_or(Served::Anywhere, |(_, tool)| tool.served());
        if session.approvals().claimant(call, approval, served)?.is_some() {
            self.take_turn(approval, session, call)?;
        }
        session.approvals().get(approval.id)
    }

    /// The plan of a request with other arguments, as a person wants to see it: nothing happens.
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
            .map_err(|answer| Fault::new(FaultCode::NotFound, answer.failure_words()))?;
        let permitted = session.approvals().permitted(approval)?;
        let origin = dialect.origin(found, found.nature(args).asks);
        let attempt = permitted.attempt(origin, call, args.clone());
        attempt.revise(args, |attempt| {
            found.run(args.clone(), &dialect.context(attempt)).map_err(|stop| match stop {
                Stop::Fault(fault) | Stop::Detailed(fault, _) => fault,
                other => {
                    let answer = dialect.answer(found, Err(other));
                    Fault::new(FaultCode::BadArgument, answer.failure_words())
                }
            })
        })
    }

    /// Answers a call that waits for a person's word, as it stands now. Whoever waits can serve the answer:
    /// what was approved and is nobody's to execute is executed here.
    pub(crate) fn settled(&self, id: ApprovalId, session: &Session, call: &Call) -> Answer {
        match self.approval_for_caller(id, session, call) {
            Ok(approval) => self.answer_of(&approval, session),
            Err(fault) => self.stopped("", "", &Stop::Fault(fault)),
        }
    }

    fn approval_for_caller(
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
        self.take_turn(&approval, session, call)?;
        session.approvals().get(id)
    }

    /// Executes an approved request if it is this call's turn.
    fn take_turn(&self, approval: &Approval, session: &Session, call: &Call) -> Result<(), Fault> {
        let approvals = session.approvals();
        let request = &approval.request;
        match approvals.claim(call, approval)? {
            ClaimTurn::Mine => self.execute(&approvals.get(approval.id)?, session, call),
            ClaimTurn::Others => {}
            ClaimTurn::Lost => {
                let answer = self.stopped(&request.toolset, &request.tool, &Stop::Fault(lost()));
                conclude(session, call, approval.id, ApprovalStatus::Unknown, &answer);
            }
            ClaimTurn::Expired => {
                approvals.close(call, approval.id, ApprovalStatus::Expired)?;
            }
        }
        Ok(())
    }

    /// What would decide about a call, operation by operation; the reason why it would not come to that.
    pub fn explain(
        &self,
        toolset: &str,
        tool: &str,
        args: Value,
        session: &Session,
        call: &Call,
    ) -> Result<Vec<Explained>, Box<Answer>> {
        let (dialect, found) = self.find(toolset, tool)?;
        let origin = dialect.origin(found, found.nature(&args).asks);
        let attempt = session.attempt(origin, call).repeatable(args.clone());
        let (notes, outcome) =
            attempt.explain(|attempt| found.run(args, &dialect.context(attempt)));
        match outcome {
            Err(stop) if notes.is_empty() => Err(Box::new((dialect.stopped)(found.name(), &stop))),
            _ => Ok(notes),
        }
    }

    /// What a caller gets for a request, in the words of its dialect.
    fn answer_of(&self, approval: &Approval, session: &Session) -> Answer {
        let (toolset, tool) = (approval.request.toolset.as_str(), approval.request.tool.as_str());
        let fault = |code, message: String| {
            self.stopped(toolset, tool, &Stop::Fault(Fault::new(code, message)))
        };
        match approval.status {
            status if is_under_way(status) || session.approvals().is_being_answered(approval) => {
                let awaited = Awaited::Approval(approval.id);
                let pending = Pending { awaited, wait_ms: None };
                let answer = self.stopped(toolset, tool, &Stop::Pending(pending.clone()));
                Answer { pending: Some(pending), ..answer }
            }
            ApprovalStatus::Denied if approval.answer.is_none() => {
                let message = denial_words(approval) + &still_said(approval, session);
                fault(FaultCode::Denied, message)
            }
            ApprovalStatus::Unknown => self.stopped(toolset, tool, &Stop::Fault(lost())),
            ApprovalStatus::Withdrawn => {
                let message = "this call was cancelled before a person had decided";
                fault(FaultCode::Denied, message.to_owned())
            }
            ApprovalStatus::Expired => {
                let message =
                    "a person approved this, and nobody came to do it in time: call again";
                fault(FaultCode::Stale, message.to_owned())
            }
            _ => kept(approval),
        }
    }

    /// Calls again what a person approved, and this process has claimed.
    fn execute(&self, approval: &Approval, session: &Session, call: &Call) {
        let mut claim = Claim { session, call, id: approval.id, is_used: false };
        let request = &approval.request;
        let args = approval.edited_args.as_deref().unwrap_or(&request.args);
        let args: Value = serde_json::from_str(args).unwrap_or_default();
        let failed = ApprovalStatus::Failed;
        let permitted = match session.approvals().permitted(approval) {
            Ok(permitted) => permitted,
            Err(fault) => {
                let answer = self.stopped(&request.toolset, &request.tool, &Stop::Fault(fault));
                return conclude(session, call, approval.id, failed, &answer);
            }
        };
        let (dialect, found) = match self.find_approved(&request.toolset, &request.tool) {
            Ok(found) => found,
            // The tool was taken out of the catalog meanwhile.
            Err(answer) => return conclude(session, call, approval.id, failed, &answer),
        };
        // Whoever waits or decides may go away meanwhile: what was approved is done all the same.
        let call = &own_call(found, session, call);
        let origin = dialect.origin(found, found.nature(&args).asks);
        let attempt = permitted.attempt(origin, call, args.clone());
        let log = CallLog::begin(attempt.clone(), &args);
        let context = dialect.context(log.attempt());
        let outcome = log.within(|| found.run(args.clone(), &context));
        let word = outcome_word(&outcome);
        let passes = matches!(&outcome, Err(Stop::Fault(fault)) if may_pass(fault.code()));
        let answer = told_of_edit(approval, dialect.answer(found, outcome));
        let was_started = session.approvals().get(approval.id).is_ok_and(|row| row.started);
        // A request that waits again has no claim.
        claim.is_used = answer.pending.is_some();
        if answer.pending.is_none() && (!passes || was_started || attempt.has_changed()) {
            let line = attempt.line_of_call(&args, answer.ok, &answer.body);
            line.into_iter().for_each(Line::write);
            // What was shown as a change and changed nothing did not happen.
            let landed = was_started || attempt.has_changed() || !shows_change(approval);
            let status = if answer.ok && landed { ApprovalStatus::Executed } else { failed };
            conclude(session, call, approval.id, status, &answer);
            claim.is_used = true;
        }
        log.end(&word, || &answer.body);
    }

    /// Keeps what a command said whose changes a person refused: the agent is told both.
    fn refuse_run(&self, approval: &Approval, session: &Session, call: &Call) {
        let Some(run) = approval.request.run else { return };
        let request = &approval.request;
        let said = self.find_approved(&request.toolset, &request.tool).ok().and_then(|found| {
            let (dialect, tool) = found;
            let args: Value = serde_json::from_str(&request.args).unwrap_or_default();
            let permitted = session.approvals().permitted(approval).ok()?;
            let call = &own_call(tool, session, call);
            let origin = dialect.origin(tool, tool.nature(&args).asks);
            let attempt = permitted.attempt(origin, call, args.clone());
            let reply = tool.run(args, &dialect.context(&attempt)).ok()?.reply;
            Some((dialect, reply.into_value()))
        });
        if let Some((dialect, reply)) = said {
            let kept = still_said(approval, session);
            let message = format!("{}{}{kept}", denial_words(approval), output_told(&reply));
            let stop = Stop::Detailed(Fault::new(FaultCode::Denied, message), reply);
            let answer = (dialect.stopped)(&request.tool, &stop);
            conclude(session, call, approval.id, ApprovalStatus::Denied, &answer);
        }
        session.forget_run(run);
    }
}

/// A claim that is given back where what was approved was neither done nor started.
struct Claim<'a> {
    session: &'a Session,
    call: &'a Call,
    id: ApprovalId,
    is_used: bool,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        // What was started keeps its claim. If the store cannot be written, the claim ends with the process.
        let _ = self.session.approvals().release(self.call, self.id);
    }
}

/// The surroundings of a call that nobody who waits can end.
fn own_call(tool: &AnyTool, session: &Session, call: &Call) -> Call {
    Call::new(call.shared_world()).within_millis(tool.millis(session.limits()))
}

/// Whether a second decision says the same as the first.
fn is_same_yes(approval: &Approval, ruling: &Ruling) -> bool {
    ruling.approves && ruling.args.is_none() && ruling.state == approval.request.state
}

/// The answer to a call whose arguments a person changed says so.
fn told_of_edit(approval: &Approval, answer: Answer) -> Answer {
    let Some(args) = &approval.edited_args else { return answer };
    let args: Value = serde_json::from_str(args).unwrap_or_default();
    let mut body = answer.body.into_value();
    if let Value::Object(members) = &mut body {
        let told = json!({
            "message": "a person changed the arguments of this call before approving it",
            "args": args,
        });
        members.insert(CHANGED_BY_PERSON.to_owned(), told);
    }
    Answer { body: body.into(), ..answer }
}

/// Whether a fault says nothing about the call: the yes stands, and the next look tries again.
fn may_pass(code: FaultCode) -> bool {
    matches!(
        code,
        FaultCode::Timeout
            | FaultCode::DiskFull
            | FaultCode::Io
            | FaultCode::NotRun
            | FaultCode::Unavailable
    )
}

/// A no drops what a command changed, and not what it said.
fn still_said(approval: &Approval, session: &Session) -> String {
    let paths = approval.request.run.map(|run| session.kept_output(run)).unwrap_or_default();
    let root = approval.request.root.as_deref().map(|name| format!("{name}/"));
    let root = root.unwrap_or_default();
    let shown: Vec<String> =
        paths.iter().map(|path| format!("{root}{}", relative::shown(path))).collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!("; what the command said is at {}", shown.join(" and ")),
    }
}

/// What a command wrote, for dialects whose failures have only a message.
fn output_told(reply: &Value) -> String {
    let stream = |name: &str| match reply[name].as_str() {
        Some(text) if !text.is_empty() => format!("\n{name}:\n{text}"),
        _ => String::new(),
    };
    stream("stdout") + &stream("stderr")
}

fn is_under_way(status: ApprovalStatus) -> bool {
    matches!(status, ApprovalStatus::Pending | ApprovalStatus::Approved)
}

fn conclude(
    session: &Session,
    call: &Call,
    id: ApprovalId,
    status: ApprovalStatus,
    answer: &Answer,
) {
    let kept = json!({"ok": answer.ok, "status": answer.status, "body": *answer.body});
    // What happened is durable already; without its answer, the next look says so in our words.
    let _ = session.approvals().conclude(call, id, status, &kept);
}

/// The answer that was kept. Whoever made the call may have died before it could keep one.
fn kept(approval: &Approval) -> Answer {
    let text = approval.answer.as_deref();
    let kept = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if let Some(mut kept) = kept {
        let status = kept["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let ok = kept["ok"].as_bool().unwrap_or_default();
        let body = kept["body"].take();
        return Answer { ok, status: status.unwrap_or(200), body: body.into(), pending: None };
    }
    let result = json!({
        "status": "executed",
        "approval_id": approval.id.to_string(),
        "step_id": approval.step.map(|step| step.to_string()),
    });
    let body = json!({"success": true, "result": result, "error": null});
    Answer { ok: true, status: 200, body: body.into(), pending: None }
}
