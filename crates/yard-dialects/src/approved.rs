//! Calls that wait for a person's word: what becomes of one once the word is there. What was approved is
//! called again with the arguments that were shown; the gate sees to it that it happens once, and that it
//! is what was shown. Who may decide is the gate's to say.

use serde_json::{Value, json};
use yard_core::{ApprovalId, Call, Fault, FaultCode};
use yard_gate::{
    Approval, ApprovalStatus, Asks, Awaited, CallLog, Explained, Line, Origin, Pending, Ruling,
    Session,
};

use crate::catalog::{Answer, Catalog, outcome_word};
use crate::relative;
use crate::tool::Stop;

/// How long after a decision an answer may still be on its way into the store.
const ANSWERING_MILLIS: i64 = 5_000;

impl Catalog {
    /// A request as it stands now. One that was approved, and that whoever approved it could not finish,
    /// is finished first.
    pub fn approval(
        &self,
        id: ApprovalId,
        session: &Session,
        call: &Call,
    ) -> Result<Approval, Fault> {
        let approval = session.approvals().get(id)?;
        if approval.status != ApprovalStatus::Approved {
            return Ok(approval);
        }
        self.execute(&approval, session, call);
        session.approvals().get(id)
    }

    /// Says yes or no to a request, as a person, and does what was approved.
    pub fn decide(
        &self,
        id: ApprovalId,
        ruling: &Ruling,
        session: &Session,
        call: &Call,
    ) -> Result<Approval, Fault> {
        let request = session.approvals().get(id)?.request;
        let found = self.find_approved(&request.toolset, &request.tool);
        let asks = found.map_or(Asks::Never, |(_, tool)| tool.asks());
        session.approvals().decide(call, id, ruling, asks)?;
        self.approval(id, session, call)
    }

    /// Answers a call that waited for a person's word, as it stands now.
    pub(crate) fn settled(&self, id: ApprovalId, session: &Session, call: &Call) -> Answer {
        match self.approval(id, session, call) {
            Ok(approval) => self.answer_of(&approval, session, call),
            Err(fault) => self.stopped("", "", &Stop::Fault(fault)),
        }
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
        let (notes, outcome) = session.explain(|session| {
            let session = session.calling(args.clone());
            let context = dialect.context(found, &session, call);
            found.run(args, &context)
        });
        match outcome {
            Err(stop) if notes.is_empty() => Err(Box::new((dialect.stopped)(found.name(), &stop))),
            _ => Ok(notes),
        }
    }

    /// What a caller gets for a request, in the words of its dialect.
    fn answer_of(&self, approval: &Approval, session: &Session, call: &Call) -> Answer {
        let (toolset, tool) = (approval.request.toolset.as_str(), approval.request.tool.as_str());
        match approval.status {
            status if is_under_way(status) || is_being_answered(approval, call) => {
                let awaited = Awaited::Approval(approval.id);
                let pending = Pending { awaited, wait_ms: None };
                let answer = self.stopped(toolset, tool, &Stop::Pending(pending.clone()));
                Answer { pending: Some(pending), ..answer }
            }
            ApprovalStatus::Denied => {
                let reason = approval.decision.as_ref().and_then(|said| said.reason.as_deref());
                let message = match reason {
                    Some(reason) => format!("a person said no: {reason}"),
                    None => "a person said no to this call; nothing was changed".to_owned(),
                };
                let denied =
                    Fault::new(FaultCode::Denied, message + &still_said(approval, session));
                self.stopped(toolset, tool, &Stop::Fault(denied))
            }
            _ => kept(approval),
        }
    }

    /// Calls again what a person approved. Whoever does it second finds it done.
    fn execute(&self, approval: &Approval, session: &Session, call: &Call) {
        let request = &approval.request;
        let other = approval.decision.as_ref().and_then(|decision| decision.args.as_deref());
        let args: Value = serde_json::from_str(other.unwrap_or(&request.args)).unwrap_or_default();
        let acting = match session.approvals().acting(approval) {
            Ok(acting) => acting.calling(args.clone()),
            Err(fault) => {
                let answer = self.stopped(&request.toolset, &request.tool, &Stop::Fault(fault));
                return conclude(session, call, approval.id, &answer);
            }
        };
        let (dialect, found) = match self.find_approved(&request.toolset, &request.tool) {
            Ok(found) => found,
            // The tool was taken out of the catalog meanwhile.
            Err(answer) => return conclude(session, call, approval.id, &answer),
        };
        let origin = Origin { toolset: dialect.name, tool: found.name(), asks: found.asks() };
        // Whoever waits or decides may go away meanwhile: what was approved is done all the same.
        let millis = found.millis(session.limits());
        let call = &Call::new(call.shared_world()).within_millis(millis);
        let log = CallLog::begin(&acting, origin, call, &args);
        let context = dialect.context(found, log.session(), call);
        let outcome = log.within(|| found.run(args.clone(), &context));
        let word = outcome_word(&outcome);
        let passes = matches!(&outcome, Err(Stop::Fault(fault)) if may_pass(fault.code()));
        let answer = dialect.answer(found, outcome);
        let is_final = answer.pending.is_none() && !passes;
        if is_final && (acting.has_changed() || self.is_still_ours(approval.id, session, &answer)) {
            let line = acting.line_of_call(origin, call, &args, answer.ok, &answer.body);
            line.into_iter().for_each(Line::write);
            conclude(session, call, approval.id, &answer);
        }
        log.end(&word, || &answer.body);
    }

    /// Whether a failure is this call's own: another process may have done meanwhile what was approved.
    fn is_still_ours(&self, id: ApprovalId, session: &Session, answer: &Answer) -> bool {
        let now = session.approvals().get(id).map(|approval| approval.status);
        answer.ok || now == Ok(ApprovalStatus::Approved)
    }
}

/// Whether a fault says nothing about the call: the yes stands, and the next look tries again.
fn may_pass(code: FaultCode) -> bool {
    matches!(
        code,
        FaultCode::Timeout | FaultCode::DiskFull | FaultCode::Io | FaultCode::Unavailable
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

fn is_under_way(status: ApprovalStatus) -> bool {
    matches!(status, ApprovalStatus::Pending | ApprovalStatus::Approved)
}

/// Whether it happened a moment ago and its answer is on the way. Who made the call may also have died
/// before it could keep one: nobody waits for that long.
fn is_being_answered(approval: &Approval, call: &Call) -> bool {
    let decided = approval.decision.as_ref().map_or(0, |decision| decision.at.as_millis());
    approval.status == ApprovalStatus::Executed
        && approval.answer.is_none()
        && call.world().now().as_millis().saturating_sub(decided) < ANSWERING_MILLIS
}

fn conclude(session: &Session, call: &Call, id: ApprovalId, answer: &Answer) {
    let kept = json!({"ok": answer.ok, "status": answer.status, "body": *answer.body});
    // What happened is durable already; without its answer, the next look says so in our words.
    let _ = session.approvals().conclude(call, id, answer.ok, &kept);
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
