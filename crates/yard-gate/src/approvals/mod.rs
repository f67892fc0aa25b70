//! Approvals: requests to a person, their decisions and the execution of what was approved, each exactly once.
//!
//! A request holds the call and its effect, with a hash of both and of the state that it was planned on. A decision
//! carries that hash. An approved request is executed by the one process that has claimed it in the store
//! (`claims.rs`); its step and its status `executed` are written in one transaction. If the state changed in between,
//! the person is asked again (`permit.rs`). An agent can read its own requests and decide none.
//!
//! Requests are made by the attempt that has to wait (`attempt/asking.rs`), and not here.

mod claims;
mod effect;
mod grants;
mod part;
mod permit;
mod saved_rules;

use serde_json::{Value, json};
use yard_core::{
    ApprovalId, Call, ChangePart, ContentHash, Fault, FaultCode, ProcessId, Result, Timestamp,
};
use yard_store::{
    Approval, ApprovalFilter, ApprovalStatus, AuditEntry, Decision, NewDecision, Revision, Scope,
    StoreError,
};

pub(crate) use self::claims::is_expired;
pub use self::claims::{ClaimTurn, ExecutableBy, outcome_unknown};
pub use self::effect::{effect_lines, effect_value, is_for_host, shows_change};
pub(crate) use self::effect::{effect_text, requested_host, state_of_start};
use self::grants::grant_of;
pub use self::part::DecidedPart;
pub use self::permit::PermittedCall;
pub(crate) use self::permit::{Permit, PlannedEffect};
pub use self::saved_rules::RulePreview;
use crate::{Asks, ListPage, Origin, Session, transcript};

/// The longest diff that a person is shown. A call with a longer one is refused; the diff is never cut.
pub(crate) const DIFF_BYTES: usize = 32 << 20;
/// A page of a listing ends with the request that reaches so many bytes.
const LIST_BYTES: usize = 16 << 20;
/// The decision of a person, as a door received it.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionInput {
    /// Whether the person approves.
    pub approves: bool,
    /// What else an approval covers.
    pub scope: Scope,
    /// A message to the agent.
    pub reason: Option<String>,
    /// Other arguments, if the person changed them.
    pub args: Option<Value>,
    /// The state hash that the person was shown. If the request has another one by now, nothing is decided.
    pub state: ContentHash,
    /// The state hash of the plan with other arguments, if the person was shown one. If the plan has another one by now,
    /// nothing is decided.
    pub planned: Option<ContentHash>,
    /// What may happen, if it is not all of it. The rest is refused.
    pub parts: Option<Vec<ChangePart>>,
}

/// What a decision needs in addition to the person's input.
#[derive(Debug)]
pub struct DecisionContext<'a> {
    /// What the tool asks for by itself.
    pub asks: Asks,
    /// The plan with the person's own arguments, if they changed them.
    pub revision: Option<&'a Revision>,
    /// The part that is approved, with the rest, if the person chose parts.
    pub part: Option<&'a DecidedPart>,
    /// The process that executes the approved call.
    pub claimed_by: Option<ProcessId>,
}

/// The requests of a workspace, as one session sees them: an agent its own (R16), a person all.
pub struct Approvals<'a>(pub(crate) &'a Session);

impl Approvals<'_> {
    /// A request.
    pub fn get(&self, id: ApprovalId) -> Result<Approval> {
        let row = self.0.open().records.approval(id)?;
        let row = row.filter(|row| self.may_see(row)).ok_or_else(|| no_approval(id))?;
        Ok(self.visible(row))
    }

    /// The request as this session may see it. A diff may quote files that an agent may not read, so that only people
    /// see it. A request that was started by a process that ended is shown as lost, even if the store does not say so.
    fn visible(&self, mut row: Approval) -> Approval {
        if !self.0.actor().is_person() {
            row.request.diff.clear();
        }
        if self.is_lost(&row) {
            row.status = ApprovalStatus::Unknown;
        }
        row
    }

    /// Requests that were made before `before`, newest first. A page of large requests is shorter than `limit`.
    pub fn list(
        &self,
        mut filter: ApprovalFilter,
        before: Option<ApprovalId>,
        limit: usize,
    ) -> Result<ListPage<Approval>> {
        if let Some(id) = before {
            self.get(id)?;
        }
        if !self.0.actor().is_person() {
            filter.asked_by = Some(self.0.actor().name());
        }
        let records = &self.0.open().records;
        let ids = ListPage::read(limit, |count| records.approval_ids(&filter, before, count))?;
        let mut page = ListPage { rows: Vec::new(), truncated: ids.truncated };
        let mut bytes = 0;
        for id in ids.rows {
            if bytes >= LIST_BYTES {
                page.truncated = true;
                break;
            }
            if let Some(row) = records.approval(id)?.map(|row| self.visible(row)) {
                bytes += row.request.args.len() + row.request.diff.len();
                bytes += row.answer.as_ref().map_or(0, String::len);
                page.rows.push(row);
            }
        }
        Ok(page)
    }

    /// The ids and times of the requests that wait for a person, oldest first. Only for a person's session.
    pub(crate) fn pending(&self, limit: usize) -> Result<Vec<(ApprovalId, Timestamp)>> {
        Ok(self.0.open().records.pending_approvals(limit)?)
    }

    /// A fault if this session may not decide. An agent never may.
    pub fn check_may_decide(&self, call: &Call, id: ApprovalId) -> Result<()> {
        let session = self.0;
        session.check_record_write(call, "decide")?;
        if session.actor().is_person() {
            return Ok(());
        }
        let deciding = session.open().hints.deciding;
        let why = format!("an agent cannot approve: only a person can{deciding}");
        session.refuse(call, "decide", &format!("approval {id}"), &why)
    }

    /// The request that a person is about to decide. It is a fault if it was decided before, or is not what the person
    /// was shown.
    pub fn decidable(
        &self,
        call: &Call,
        id: ApprovalId,
        decision: &DecisionInput,
    ) -> Result<Approval> {
        self.check_may_decide(call, id)?;
        let approval = self.get(id)?;
        if approval.status != ApprovalStatus::Pending {
            return Err(decided_already(&approval));
        }
        if decision.args.is_some() && is_for_host(&approval) {
            let message =
                "a command asks for this host: say yes or no to it, without other arguments";
            return Err(Fault::new(FaultCode::BadArgument, message));
        }
        if decision.args.is_some() && approval.request.run.is_some() {
            let message = "the command is over, and this is what it changed: say yes or no to that, \
                           without other arguments";
            return Err(Fault::new(FaultCode::BadArgument, message));
        }
        part::check_input(decision, &approval)?;
        if decision.state != approval.request.state {
            return Err(changed_since_shown(id));
        }
        Ok(approval)
    }

    /// Approves or denies a request, as a person. The caller executes what was approved, if its process claimed it.
    pub fn decide(
        &self,
        call: &Call,
        id: ApprovalId,
        decision: &DecisionInput,
        deciding: &DecisionContext<'_>,
    ) -> Result<Approval> {
        let session = self.0;
        let approval = self.decidable(call, id, decision)?;
        if decision.parts.is_some() != deciding.part.is_some() {
            let message =
                "a decision about parts was not compared with what there is: nothing was decided";
            return Err(Fault::new(FaultCode::BadArgument, message));
        }
        let planned = deciding.revision.map(|revision| revision.state);
        if decision.planned.is_some() && decision.planned != planned {
            return Err(changed_since_planned(id));
        }
        let audit = session.audit_entry(call, "decide", decision_detail(id, decision));
        let stored = Decision {
            approves: decision.approves,
            scope: decision.scope,
            reason: decision.reason.clone(),
            parts: deciding.part.map(DecidedPart::to_json),
            by: audit.actor.clone(),
            at: audit.at,
        };
        let is_edited = deciding.revision.is_some() || approval.edited_args.is_some();
        let writing_rule = session.open().hints.writing_rule;
        let grant = grant_of(&approval, &stored, deciding.asks, is_edited, writing_rule)?;
        let made = NewDecision {
            id,
            shown: decision.state,
            decision: &stored,
            revision: deciding.revision,
            claimed_by: deciding.claimed_by,
            grant: grant.as_ref(),
        };
        self.store_decision(&approval, &made, &audit)?;
        if decision.approves && decision.scope != Scope::Once && is_for_host(&approval) {
            // The rule is the whole effect of this approval.
            let (records, answer) = (&session.open().records, host_allowed_answer());
            let _ = records.conclude(id, ApprovalStatus::Executed, &answer, audit.at);
        }
        session.open().forget_policy();
        session.open().changes.notify();
        self.get(id)
    }

    /// Stores a decision with its turn of the transcript. A fault if the request was decided, or changed, meanwhile.
    fn store_decision(
        &self,
        approval: &Approval,
        made: &NewDecision<'_>,
        audit: &AuditEntry,
    ) -> Result<()> {
        let turn = transcript::decision(approval, made.decision);
        match self.0.open().records.decide(made, &turn, audit) {
            Err(StoreError::Misfit(_)) => {
                let now = self.get(made.id)?;
                Err(match now.status {
                    ApprovalStatus::Pending => changed_since_shown(made.id),
                    _ => decided_already(&now),
                })
            }
            done => Ok(done?),
        }
    }

    /// Stores the answer of a decided call.
    pub fn conclude(
        &self,
        call: &Call,
        id: ApprovalId,
        status: ApprovalStatus,
        answer: &Value,
    ) -> Result<()> {
        let (records, at) = (&self.0.open().records, call.world().now());
        records.conclude(id, status, &answer.to_string(), at)?;
        let row = records.approval(id)?;
        if let Some(run) = row.and_then(|row| row.request.run) {
            self.0.open().workspace.drop_run(run);
        }
        self.0.open().changes.notify();
        Ok(())
    }

    pub(crate) fn may_see(&self, row: &Approval) -> bool {
        self.0.actor().is_person() || row.asked_by == self.0.actor().name()
    }
}

impl Session {
    /// The requests of the workspace.
    pub fn approvals(&self) -> Approvals<'_> {
        Approvals(self)
    }

    /// A fault if the permitted call was executed meanwhile.
    pub(crate) fn check_not_executed(&self, permit: &Permit) -> Result<()> {
        let row = self.open().records.approval(permit.id)?;
        match row {
            Some(row) if row.status == ApprovalStatus::Approved => Ok(()),
            Some(row) => Err(decided_already(&row)),
            None => Err(no_approval(permit.id)),
        }
    }
}

/// The hash of everything that a person is shown: the call, its effect and the state that it was planned on.
pub(crate) fn state_hash(origin: Origin<'_>, args: &Value, state: &ContentHash) -> ContentHash {
    let Origin { toolset, tool, .. } = origin;
    ContentHash::of(format!("{toolset}.{tool}\n{args}\n{state}").as_bytes())
}

/// The fault if the diff is too long to be shown.
pub(crate) fn too_long_to_show() -> Fault {
    let message = format!(
        "what would change is longer than {} MiB as a diff, and a person is asked only about what they can \
         read: do it in smaller parts",
        DIFF_BYTES >> 20
    );
    Fault::new(FaultCode::TooLarge, message)
}

/// The stored answer of an approved host, once a command has connected to it.
pub(crate) fn host_allowed_answer() -> String {
    let body = json!({"success": true, "result": {"status": "let through"}, "error": null});
    json!({"ok": true, "status": 200, "body": body}).to_string()
}

fn decision_detail(id: ApprovalId, decision: &DecisionInput) -> String {
    let word = if decision.approves { "approve" } else { "deny" };
    let edited = if decision.args.is_some() { " with other arguments" } else { "" };
    let parts = decision.parts.as_deref().map(part::in_short).unwrap_or_default();
    format!("{word} {id} {}{edited}{parts} as shown in {}", decision.scope.word(), decision.state)
}

fn no_approval(id: ApprovalId) -> Fault {
    Fault::new(FaultCode::NotFound, format!("there is no approval {id} in this workspace"))
}

/// The message to the caller of a denied request.
pub fn denial_message(approval: &Approval) -> String {
    match approval.decision.as_ref().and_then(|decision| decision.reason.as_deref()) {
        Some(reason) => format!("a person said no: {reason}"),
        None => "a person said no to this call; nothing was changed".to_owned(),
    }
}

/// The fault if the approved call was started before.
pub(crate) fn started_before(id: ApprovalId) -> Fault {
    let message = format!("what approval {id} allows was started by another process already");
    Fault::new(FaultCode::Denied, message)
}

pub(crate) fn changed_since_shown(id: ApprovalId) -> Fault {
    let message = format!(
        "approval {id} asks for something else than what was shown: look at it again, and decide with the \
         state hash that it has now"
    );
    Fault::new(FaultCode::Stale, message)
}

fn changed_since_planned(id: ApprovalId) -> Fault {
    let message = format!(
        "with these arguments the call of approval {id} would do something else than what was shown: plan it again, \
         and decide with the state hash of that plan"
    );
    Fault::new(FaultCode::Stale, message)
}

pub(crate) fn decided_already(approval: &Approval) -> Fault {
    let by = approval.decision.as_ref();
    let by = by.map(|by| format!(" by {} at {}", by.by, by.at)).unwrap_or_default();
    let message = format!(
        "approval {} is {}{by} already; a decision is not changed",
        approval.id,
        approval.status.word()
    );
    Fault::new(FaultCode::Exists, message)
}
