//! A person's decision before something happens: what is asked, decided and done, each exactly once.
//!
//! A request holds the call and what it would do, with the hash of all that and of the state that it was
//! planned on. A decision carries that hash. A yes is executed by the one process that has claimed it in the
//! store (`claims.rs`); the step and the mark that it is done are one transaction. If the state moved in
//! between, the person is asked again. An agent can read its own requests and decide none.
//!
//! Requests are made by the attempt that has to wait (`attempt/asking.rs`), and not here.

mod claims;
mod effect;

use std::sync::Arc;

use serde_json::{Value, json};
use yard_core::{
    ApprovalId, Call, ContentHash, Dial, Effect, EffectKind, Fault, FaultCode, PathEffect,
    ProcessId, Result, RunId, WsPath,
};
use yard_kernel::store_fault;
use yard_store::{
    Approval, ApprovalFilter, ApprovalRequest, ApprovalStatus, Decision, Grant, NewDecision,
    Revision, Scope, StoreError,
};

pub(crate) use self::claims::is_expired;
pub use self::claims::{ClaimTurn, Served, lost};
use self::effect::{connects, effect_of, has_more_paths};
pub(crate) use self::effect::{effect_text, host_asked_for, state_of_start};
pub use self::effect::{effect_value, effect_words, is_for_host, shows_change};
use crate::policy::{BEFORE, Did, Thing};
use crate::rules::kinds_meant;
use crate::{Actor, Asks, ListPage, Origin, Policy, Preset, Rule, Session, transcript};

/// Bytes of diff that a person can be asked about: a longer one is refused and never cut.
pub(crate) const DIFF_BYTES: usize = 32 << 20;
/// Paths that a saved rule may name.
const MOST_RULE_PATHS: usize = 50;

/// What an attempt may do because a person said yes.
#[derive(Debug)]
pub(crate) struct Permit {
    pub(crate) id: ApprovalId,
    /// The run of a command whose changes were approved.
    pub(crate) run: Option<RunId>,
    /// The state that the person was shown.
    approved_state: ContentHash,
    /// The effect that the person was shown.
    approved_effect: Effect,
    /// The answer was no: why nothing of the run is kept.
    pub(crate) refusal: Option<String>,
}

/// What a person decided about a request, for the call that is made again: the session of the asker, and the decision.
pub struct Permitted {
    pub(crate) session: Session,
    pub(crate) permit: Arc<Permit>,
}

impl Permit {
    /// Whether a change is the one that was approved.
    pub(crate) fn permits_change(&self, planned: &Planned<'_>) -> bool {
        [planned.state, planned.before_args].contains(&self.approved_state)
    }

    /// Whether everything that is read or asked was approved.
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

    /// What a person is shown when they are asked again: also what was read before, which is read again then.
    pub(crate) fn effect_with_reads(&self, effect: &Effect) -> Effect {
        let read = self.approved_effect.paths.iter().filter(|one| one.kind == EffectKind::Read);
        let read = read.filter(|one| !effect.paths.contains(one)).cloned();
        let paths = read.chain(effect.paths.iter().cloned()).collect();
        Effect { paths, dials: effect.dials.clone() }
    }
}

/// What is about to happen, as a request describes it.
pub(crate) struct Planned<'a> {
    pub(crate) effect: &'a Effect,
    pub(crate) state: ContentHash,
    /// The same without the call, as requests of the version before this have it.
    pub(crate) before_args: ContentHash,
    pub(crate) diff: String,
}

/// What a person says.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    /// Yes or no.
    pub approves: bool,
    /// How far a yes reaches.
    pub scope: Scope,
    /// A word to the agent.
    pub reason: Option<String>,
    /// Other arguments, if the person wants others.
    pub args: Option<Value>,
    /// The state that the person was shown: if the request asks for something else by now, nothing is
    /// decided.
    pub state: ContentHash,
}

/// What a decision is made with, beside the person's own words.
#[derive(Debug)]
pub struct Deciding<'a> {
    /// What the tool asks for by itself.
    pub asks: Asks,
    /// The plan with the person's own arguments, where they gave some.
    pub revision: Option<&'a Revision>,
    /// The process that is going to execute it.
    pub claimed_by: Option<ProcessId>,
}

/// The requests of a workspace, as one session sees them: an agent its own (R16), a person all.
pub struct Approvals<'a>(pub(crate) &'a Session);

impl Approvals<'_> {
    /// A request.
    pub fn get(&self, id: ApprovalId) -> Result<Approval> {
        let row = self.0.open().desk.approval(id).map_err(store_fault)?;
        let row = row.filter(|row| self.may_see(row)).ok_or_else(|| no_approval(id))?;
        Ok(self.as_seen(row))
    }

    /// A diff may quote what an agent may not read: people see it. What was started by a process that ended
    /// is shown as lost, whether or not that is in the store yet.
    fn as_seen(&self, mut row: Approval) -> Approval {
        if !self.0.actor().is_person() {
            row.request.diff.clear();
        }
        if self.is_lost(&row) {
            row.status = ApprovalStatus::Unknown;
        }
        row
    }

    /// Requests, newest first; those made before `before`.
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
        let page =
            ListPage::read(limit, |count| self.0.open().desk.approvals(&filter, before, count))?;
        page.try_map(|row| Ok(self.as_seen(row)))
    }

    /// A fault if this session may not decide: an agent never may.
    pub fn check_may_decide(&self, call: &Call, id: ApprovalId) -> Result<()> {
        let session = self.0;
        session.check_desk_write(call, "decide")?;
        if session.actor().is_person() {
            return Ok(());
        }
        let deciding = session.open().words.deciding;
        let why = format!("an agent cannot approve: only a person can{deciding}");
        session.refuse(call, "decide", &format!("approval {id}"), &why)
    }

    /// The request that a person is about to decide, checked: it waits, and is what they were shown. A
    /// second decision is a conflict.
    pub fn decidable(&self, call: &Call, id: ApprovalId, ruling: &Ruling) -> Result<Approval> {
        self.check_may_decide(call, id)?;
        let approval = self.get(id)?;
        if approval.status != ApprovalStatus::Pending {
            return Err(decided_already(&approval));
        }
        if ruling.args.is_some() && is_for_host(&approval) {
            let message =
                "a command asks for this host: say yes or no to it, without other arguments";
            return Err(Fault::new(FaultCode::BadArgument, message));
        }
        if ruling.args.is_some() && approval.request.run.is_some() {
            let message = "the command is over, and this is what it changed: say yes or no to that, \
                           without other arguments";
            return Err(Fault::new(FaultCode::BadArgument, message));
        }
        if ruling.state != approval.request.state {
            return Err(changed_since_shown(id));
        }
        Ok(approval)
    }

    /// Says yes or no to a request, as a person. Whoever calls this executes what was approved, if it is
    /// the process that claims it.
    pub fn decide(
        &self,
        call: &Call,
        id: ApprovalId,
        ruling: &Ruling,
        deciding: &Deciding<'_>,
    ) -> Result<Approval> {
        let session = self.0;
        let approval = self.decidable(call, id, ruling)?;
        let audit = session.desk_audit(call, "decide", decision_detail(id, ruling));
        let decision = Decision {
            approves: ruling.approves,
            scope: ruling.scope,
            reason: ruling.reason.clone(),
            by: audit.actor.clone(),
            at: audit.at,
        };
        let is_edited = deciding.revision.is_some() || approval.edited_args.is_some();
        let grant = granted(
            &approval,
            &decision,
            deciding.asks,
            is_edited,
            session.open().words.writing_rule,
        )?;
        let turn = transcript::decision(&approval, &decision);
        let desk = &session.open().desk;
        let made = NewDecision {
            id,
            shown: ruling.state,
            decision: &decision,
            revision: deciding.revision,
            claimed_by: deciding.claimed_by,
            grant: grant.as_ref(),
        };
        match desk.decide(&made, &turn, &audit) {
            Err(StoreError::Misfit(_)) => {
                let now = self.get(id)?;
                return Err(match now.status {
                    ApprovalStatus::Pending => changed_since_shown(id),
                    _ => decided_already(&now),
                });
            }
            done => done.map_err(store_fault)?,
        }
        if decision.approves && decision.scope != Scope::Once && is_for_host(&approval) {
            // The rule is all that was asked for.
            let _ = desk.conclude(id, ApprovalStatus::Executed, &let_through(), audit.at);
        }
        session.open().rules_changed();
        session.open().bell.ring();
        self.get(id)
    }

    /// What was decided, for the call that is made again: in the session of its asker, in the chat of the request.
    pub fn permitted(&self, approval: &Approval) -> Result<Permitted> {
        let actor = Actor::from_name(&approval.asked_by).ok_or_else(|| {
            let message = format!("approval {} was asked for by nobody known", approval.id);
            Fault::new(FaultCode::Io, message)
        })?;
        let request = &approval.request;
        let denied = approval.status == ApprovalStatus::Denied;
        let permit = Permit {
            id: approval.id,
            run: request.run,
            approved_state: request.state,
            approved_effect: effect_of(request),
            refusal: denied.then(|| denial_words(approval)),
        };
        let (policy, root) = (policy_of(request), request.root.as_deref());
        let session = self.0.on_behalf_of(actor, policy, approval.chat, root);
        Ok(Permitted { session, permit: Arc::new(permit) })
    }

    /// Keeps what a decided call answered.
    pub fn conclude(
        &self,
        call: &Call,
        id: ApprovalId,
        status: ApprovalStatus,
        answer: &Value,
    ) -> Result<()> {
        let (desk, at) = (&self.0.open().desk, call.world().now());
        desk.conclude(id, status, &answer.to_string(), at).map_err(store_fault)?;
        let row = desk.approval(id).map_err(store_fault)?;
        if let Some(run) = row.and_then(|row| row.request.run) {
            self.0.open().workspace.drop_run(run);
        }
        self.0.open().bell.ring();
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

    /// A fault if what was permitted has happened meanwhile.
    pub(crate) fn check_not_executed(&self, permit: &Permit) -> Result<()> {
        let row = self.open().desk.approval(permit.id).map_err(store_fault)?;
        match row {
            Some(row) if row.status == ApprovalStatus::Approved => Ok(()),
            Some(row) => Err(decided_already(&row)),
            None => Err(no_approval(permit.id)),
        }
    }
}

/// The hash of everything that a person is shown: the call, and the state of what it would do.
pub(crate) fn shown_state(origin: Origin<'_>, args: &Value, state: &ContentHash) -> ContentHash {
    let Origin { toolset, tool, .. } = origin;
    ContentHash::of(format!("{toolset}.{tool}\n{args}\n{state}").as_bytes())
}

/// The fault where so much would change that a person cannot be shown it.
pub(crate) fn too_long_to_show() -> Fault {
    let message = format!(
        "what would change is longer than {} MiB as a diff, and a person is asked only about what they can \
         read: do it in smaller parts",
        DIFF_BYTES >> 20
    );
    Fault::new(FaultCode::TooLarge, message)
}

/// What a yes allows for longer than this call.
fn granted(
    approval: &Approval,
    decision: &Decision,
    asks: Asks,
    is_edited: bool,
    writing_rule: &str,
) -> Result<Option<Grant>> {
    if !decision.approves {
        return Ok(None);
    }
    let ApprovalRequest { toolset, tool, .. } = &approval.request;
    let effect = effect_of(&approval.request);
    let kinds = kinds_meant(asks, &effect);
    if is_edited {
        // What was shown is not what happens: it is no measure for other calls.
        return match decision.scope {
            Scope::Once => Ok(None),
            Scope::Chat | Scope::Rule => Err(Fault::new(
                FaultCode::BadArgument,
                "a yes with other arguments is for this call only: leave the scope out",
            )),
        };
    }
    let whole = format!("{toolset}.{tool}");
    let hosts = || effect.dials.iter().map(|dial| globset::escape(&dial.host)).collect();
    let starts = effect.paths.iter().all(|one| one.kind == EffectKind::Run);
    let (chat, rule) = match decision.scope {
        Scope::Chat if connects(&effect) => (Some(approval.chat), Rule::allowing_commands(hosts())),
        Scope::Rule if connects(&effect) => (None, Rule::allowing_commands(hosts())),
        Scope::Chat if effect.paths.is_empty() && !effect.dials.is_empty() => {
            (Some(approval.chat), Rule::allowing_hosts(&kinds, &whole, hosts()))
        }
        Scope::Rule if effect.paths.is_empty() && !effect.dials.is_empty() => {
            (None, Rule::allowing_hosts(&kinds, &whole, hosts()))
        }
        Scope::Once => return Ok(granted_before(approval, decision, &effect)),
        Scope::Chat | Scope::Rule
            if effect.paths.iter().any(|one| asks.insists(Thing::Path(one))) =>
        {
            let message = format!(
                "{toolset}.{tool} {}: leave the scope out, a yes is for this call",
                asks.about()
            );
            return Err(Fault::new(FaultCode::BadArgument, message));
        }
        // It may start wherever the project is.
        Scope::Rule if asks == Asks::ToStart && starts => {
            (None, Rule::allowing(&kinds, &whole, None))
        }
        Scope::Rule => {
            let paths = exact_paths(approval, &effect, writing_rule)?;
            (None, Rule::allowing(&kinds, &whole, Some(paths)))
        }
        Scope::Chat if asks.is_remembered() => {
            (Some(approval.chat), Rule::allowing(&kinds, &format!("{toolset}.*"), None))
        }
        Scope::Chat => (Some(approval.chat), Rule::allowing(&kinds, &whole, None)),
    };
    Rule::parse(&rule).map_err(|error| Fault::new(FaultCode::BadArgument, error))?;
    let (by, at) = (decision.by.clone(), decision.at);
    Ok(Some(Grant { chat, rule: rule.to_string(), by, at }))
}

/// The answer that is kept with a yes to a host, once it is used.
pub(crate) fn let_through() -> String {
    let body = json!({"success": true, "result": {"status": "let through"}, "error": null});
    json!({"ok": true, "status": 200, "body": body}).to_string()
}

/// That a person said yes to this, path by path: the same chat may do the same to the same paths again.
fn granted_before(approval: &Approval, decision: &Decision, effect: &Effect) -> Option<Grant> {
    let did = effect.paths.iter().filter_map(|one| {
        let word = Did::WORDS.iter().find(|(did, _)| Some(*did) == Did::of(one))?.1;
        Some(json!([word, one.path.to_string()]))
    });
    let did: Vec<Value> = did.collect();
    if did.is_empty() {
        return None;
    }
    let rule = json!({ BEFORE: did }).to_string();
    let (by, at) = (decision.by.clone(), decision.at);
    Some(Grant { chat: Some(approval.chat), rule, by, at })
}

/// The paths of a request as globs that match nothing else.
fn exact_paths(approval: &Approval, effect: &Effect, writing_rule: &str) -> Result<Vec<String>> {
    let has_more = has_more_paths(&approval.request);
    let paths = effect.paths.iter().map(|one| one.path.to_string());
    // What is no plain text, or could be read as a glob's own sign, is no name for a rule.
    let is_odd = { paths }.any(|path| path.contains('\\') || path == "/");
    if has_more || is_odd || effect.paths.is_empty() || effect.paths.len() > MOST_RULE_PATHS {
        let message = format!(
            "a rule of its own names at most {MOST_RULE_PATHS} paths, each a plain text below the root: \
             approve this once or for the chat, or write a rule{writing_rule}"
        );
        return Err(Fault::new(FaultCode::BadArgument, message));
    }
    let glob = |path: &WsPath, with_contents: bool| {
        let exact = globset::escape(&path.to_string());
        if with_contents { format!("{}/**", exact.trim_end_matches('/')) } else { exact }
    };
    Ok(effect.paths.iter().map(|one| glob(&one.path, one.with_contents)).collect())
}

/// What the door of who asked lets happen.
fn policy_of(request: &ApprovalRequest) -> Policy {
    match Preset::from_word(&request.preset) {
        Some(Preset::Open) => Policy::Open,
        Some(Preset::Guarded) => Policy::Guarded,
        Some(Preset::Strict) | None => Policy::Strict,
    }
}

fn decision_detail(id: ApprovalId, ruling: &Ruling) -> String {
    let word = if ruling.approves { "approve" } else { "deny" };
    let edited = if ruling.args.is_some() { " with other arguments" } else { "" };
    format!("{word} {id} {}{edited} as shown in {}", ruling.scope.word(), ruling.state)
}

fn no_approval(id: ApprovalId) -> Fault {
    Fault::new(FaultCode::NotFound, format!("there is no approval {id} in this workspace"))
}

/// What a person said who denied a request, for its asker.
pub fn denial_words(approval: &Approval) -> String {
    match approval.decision.as_ref().and_then(|said| said.reason.as_deref()) {
        Some(reason) => format!("a person said no: {reason}"),
        None => "a person said no to this call; nothing was changed".to_owned(),
    }
}

/// Something is started once with a yes.
pub(crate) fn started_already(id: ApprovalId) -> Fault {
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
