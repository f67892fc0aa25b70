//! A person's word before something happens: what is asked, decided and done, each exactly once.
//!
//! A request holds the call and what it would do, with the hash of all that and of the state that it was
//! planned on. A decision carries that hash. A yes is executed by the one process that has claimed it in the
//! store (`claims.rs`); the step and the mark that it is done are one transaction. If the state moved in
//! between, the person is asked again. An agent can read its own requests and decide none.

use serde_json::{Value, json};
use yard_core::{
    ApprovalId, Call, ChatId, ContentHash, Dial, Effect, EffectKind, Fault, FaultCode, PathEffect,
    ProcessId, Result, RunId, WsPath,
};
use yard_kernel::store_fault;
use yard_store::{
    Approval, ApprovalFilter, ApprovalStatus, Decision, Grant, NewApproval, NewDecision, Request,
    Revision, Scope, StepSideEffect, StoreError,
};

use crate::policy::Did;
use crate::rules::{Thing, kinds_meant};
use crate::session::{Asking, Awaited, Pending};
use crate::{Actor, Asks, Origin, Page, Policy, Preset, Rule, Session, transcript};

/// Bytes of diff that a person can be asked about: a longer one is refused and never cut.
pub(crate) const DIFF_BYTES: usize = 32 << 20;
/// Effects that a request names one by one.
const MOST_EFFECTS: usize = 5_000;
/// Paths that a saved rule may name.
const MOST_RULE_PATHS: usize = 50;
/// The member of a grant that tells what a person said yes to once, path by path.
const BEFORE: &str = "before";
/// Requests of one asker that may wait at the same time, in one chat.
const MOST_WAITING: usize = 100;

/// What a session may do because a person said yes.
#[derive(Debug)]
pub(crate) struct Permit {
    pub(crate) id: ApprovalId,
    /// The run of a command whose changes were shown.
    pub(crate) run: Option<RunId>,
    /// The state that was shown.
    state: ContentHash,
    /// The effect that was shown.
    shown: Effect,
    /// The answer was no: why nothing of the run is kept.
    pub(crate) refusal: Option<String>,
}

impl Permit {
    /// Whether a change is the one that was shown.
    fn permits_change(&self, planned: &Planned<'_>) -> bool {
        self.state == planned.state || self.state == planned.before_args
    }

    /// Whether everything that is read or asked was shown.
    fn permits_reading(&self, effect: &Effect) -> bool {
        let was_shown = |one: &PathEffect| {
            self.shown.paths.iter().any(|shown| {
                (shown.kind, &shown.path, shown.with_contents)
                    == (one.kind, &one.path, one.with_contents)
            })
        };
        let was_named =
            |dial: &Dial| self.shown.dials.iter().any(|shown| shown.asked == dial.asked);
        effect.paths.iter().all(was_shown) && effect.dials.iter().all(was_named)
    }

    /// What is shown when it is asked again: also what was read before, which is read again then.
    fn shown_with(&self, effect: &Effect) -> Effect {
        let read = self.shown.paths.iter().filter(|shown| shown.kind == EffectKind::Read);
        let read = read.filter(|shown| !effect.paths.contains(shown)).cloned();
        let paths = read.chain(effect.paths.iter().cloned()).collect();
        Effect { paths, dials: effect.dials.clone() }
    }
}

/// What is about to happen, as a request tells it.
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
    /// is told as what it is, whether or not anybody has noted that yet.
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
    ) -> Result<Page<Approval>> {
        if let Some(id) = before {
            self.get(id)?;
        }
        if !self.0.actor().is_person() {
            filter.asked_by = Some(self.0.actor().name());
        }
        let page = Page::read(limit, |count| self.0.open().desk.approvals(&filter, before, count))?;
        page.try_map(|row| Ok(self.as_seen(row)))
    }

    /// A fault if this session may not decide: an agent never may.
    pub fn check_may_decide(&self, call: &Call, id: ApprovalId) -> Result<()> {
        let session = self.0;
        session.check_desk_write(call, "decide")?;
        if session.actor().is_person() {
            return Ok(());
        }
        let why =
            "an agent cannot approve: only a person can, with `toolyard approve` or over HTTP";
        session.refuse(call, "decide", &format!("approval {id}"), why)
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
            return Err(shown_otherwise(id));
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
        let grant = granted(&approval, &decision, deciding.asks, is_edited)?;
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
                    ApprovalStatus::Pending => shown_otherwise(id),
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

    /// The session that may do what was approved: of who asked, in the chat of the request.
    pub fn acting(&self, approval: &Approval) -> Result<Session> {
        let actor = Actor::from_name(&approval.asked_by).ok_or_else(|| {
            let message = format!("approval {} was asked for by nobody known", approval.id);
            Fault::new(FaultCode::Io, message)
        })?;
        let request = &approval.request;
        let (state, shown) = (request.state, effect_of(&request.effect));
        let denied = approval.status == ApprovalStatus::Denied;
        let refusal = denied.then(|| said_no(approval));
        let permit = Permit { id: approval.id, run: request.run, state, shown, refusal };
        let (policy, root) = (policy_of(&approval.request), approval.request.root.as_deref());
        Ok(self.0.permitted(actor, policy, approval.chat, permit, root))
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

    /// Whether what is about to happen is what this session was permitted; with what has to go along.
    /// `None` if it is not.
    pub(crate) fn permitted_riders(
        &self,
        call: &Call,
        permit: &Permit,
        asking: &Asking,
        planned: &Planned<'_>,
    ) -> Option<Vec<StepSideEffect>> {
        if !planned.effect.changes_anything() {
            // What was said beside the effect is part of what the yes was to.
            let is_shown = !self.shows_more() || permit.permits_change(planned);
            return (permit.permits_reading(planned.effect) && is_shown).then(Vec::new);
        }
        // A yes to the start of a command is none to what it did.
        if asking.run() != permit.run {
            return None;
        }
        // The mark goes into the transaction of the change.
        let executes = StepSideEffect::Execute { approval: permit.id, at: call.world().now() };
        permit.permits_change(planned).then(|| vec![executes])
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

    /// Asks a person; durable when it returns.
    pub(crate) fn request(
        &self,
        origin: Origin<'_>,
        call: &Call,
        asking: &Asking,
        reason: String,
        planned: Planned<'_>,
    ) -> Result<Pending> {
        self.keep_run(asking)?;
        let request = self.request_of(origin, asking, reason, planned);
        let chat = self.needed_chat(call)?;
        let asked_by = self.actor().name();
        let waiting = ApprovalFilter {
            status: Some(ApprovalStatus::Pending),
            asked_by: Some(asked_by.clone()),
            chat: Some(chat.id),
        };
        if let Some(id) = self.approved_already(call, &waiting, &request)? {
            return Ok(pending(id));
        }
        let desk = &self.open().desk;
        let waiting = desk.approvals(&waiting, None, MOST_WAITING).map_err(store_fault)?;
        if let Some(same) = waiting.iter().find(|row| row.request == request) {
            return Ok(pending(same.id));
        }
        if waiting.len() >= MOST_WAITING {
            let message = format!(
                "{MOST_WAITING} requests of this chat wait for a person already; wait for a decision"
            );
            return Err(Fault::new(FaultCode::Denied, message));
        }
        self.make_request(origin, call, chat.id, request).map(pending)
    }

    /// Writes a request down.
    pub(crate) fn make_request(
        &self,
        origin: Origin<'_>,
        call: &Call,
        chat: ChatId,
        request: Request,
    ) -> Result<ApprovalId> {
        let (id, asked_by) = (ApprovalId::new(call.world()), self.actor().name());
        let detail = format!("{}.{} approval {id}", origin.toolset, origin.tool);
        let audit = self.desk_audit(call, "request approval", detail);
        let turn = transcript::request(audit.at, asked_by.clone(), id, &request);
        let turn = self.noted(origin, call, turn);
        let asked_in = Some(self.open().workspace.process(call)?);
        let asked = NewApproval { id, chat, asked_by, at: audit.at, asked_in, request };
        self.open().desk.request(&asked, &turn, &audit).map_err(store_fault)?;
        self.open().bell.ring();
        Ok(id)
    }

    /// What a command changed has to be there when a person says yes to it.
    fn keep_run(&self, asking: &Asking) -> Result<()> {
        match asking.run() {
            Some(run) => self.open().workspace.keep_run(run),
            None => Ok(()),
        }
    }

    fn request_of(
        &self,
        origin: Origin<'_>,
        asking: &Asking,
        reason: String,
        planned: Planned<'_>,
    ) -> Request {
        let effect = effect_json(planned.effect);
        Request {
            toolset: origin.toolset.to_owned(),
            tool: origin.tool.to_owned(),
            args: asking.args.to_string(),
            reason,
            effect: effect.to_string(),
            diff: planned.diff,
            state: planned.state,
            preset: self.policy().preset().word().to_owned(),
            run: asking.run(),
            root: self.mount().map(|mount| mount.name.clone()),
        }
    }

    /// Asks again: what was permitted is no longer what would happen.
    pub(crate) fn request_again(
        &self,
        origin: Origin<'_>,
        call: &Call,
        permit: &Permit,
        asking: &Asking,
        reason: String,
        planned: Planned<'_>,
    ) -> Result<Pending> {
        self.keep_run(asking)?;
        let reason = match (asking.run(), permit.run) {
            (Some(_), None) => format!("{reason} (it was approved that the command starts)"),
            _ => format!("{reason} (asked again: this is not what was approved)"),
        };
        let shown = permit.shown_with(planned.effect);
        let planned = Planned { effect: &shown, ..planned };
        let request = self.request_of(origin, asking, reason, planned);
        let detail = format!("{}.{} approval {} again", origin.toolset, origin.tool, permit.id);
        let audit = self.desk_audit(call, "request approval", detail);
        let turn = transcript::request(audit.at, audit.actor.clone(), permit.id, &request);
        let turn = self.noted(origin, call, turn);
        match self.open().desk.renew(permit.id, &request, &turn, &audit) {
            Err(StoreError::Misfit(_)) => {
                self.check_not_executed(permit)?;
                Err(decided_already(&self.approvals().get(permit.id)?))
            }
            done => {
                done.map_err(store_fault)?;
                self.open().bell.ring();
                Ok(pending(permit.id))
            }
        }
    }
}

pub(crate) fn pending(id: ApprovalId) -> Pending {
    Pending { awaited: Awaited::Approval(id), wait_ms: None }
}

pub(crate) fn effect_json(effect: &Effect) -> Value {
    effects_json(effect, MOST_EFFECTS)
}

fn effects_json(effect: &Effect, most: usize) -> Value {
    let shown = effect.paths.iter().take(most).map(|one| {
        let file_type = one.file_type.map(yard_core::FileType::word);
        json!({
            "kind": one.kind.word(),
            "path": one.path.to_string(),
            "file_type": file_type,
            "with_contents": one.with_contents,
            "edits": one.edits,
            "mode_only": one.mode_only,
            "decides": one.decides,
        })
    });
    let more = effect.paths.len().saturating_sub(most);
    let mut told = json!({"paths": shown.collect::<Vec<_>>(), "more": more});
    if !effect.dials.is_empty() {
        let dial = |dial: &Dial| {
            json!({
                "kind": dial.kind.word(),
                "asked": dial.asked,
                "host": dial.host,
                "port": dial.port,
            })
        };
        told["dials"] = effect.dials.iter().map(dial).collect();
    }
    told
}

/// The hash of an effect that changes nothing yet: its paths and what is shown beside them are all that
/// there is.
pub(crate) fn state_of_start(effect: &Effect, shown: &str) -> ContentHash {
    ContentHash::of(format!("{}{shown}", effects_json(effect, usize::MAX)).as_bytes())
}

/// The hash of everything that a person is shown: the call, and the state of what it would do.
pub(crate) fn shown_state(origin: Origin<'_>, args: &Value, state: &ContentHash) -> ContentHash {
    let Origin { toolset, tool, .. } = origin;
    ContentHash::of(format!("{toolset}.{tool}\n{args}\n{state}").as_bytes())
}

/// What a person is told where so much would change that nobody can be shown it.
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
) -> Result<Option<Grant>> {
    if !decision.approves {
        return Ok(None);
    }
    let Request { toolset, tool, .. } = &approval.request;
    let effect = effect_of(&approval.request.effect);
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
            let paths = exact_paths(approval, &effect)?;
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

/// Whether something is a connection of a command, which is executed by nobody: the command makes it.
fn connects(effect: &Effect) -> bool {
    effect.dials.iter().any(|dial| dial.kind == EffectKind::Connect)
}

/// Whether a request is about a host that a command wants to reach.
pub fn is_for_host(approval: &Approval) -> bool {
    connects(&effect_of(&approval.request.effect))
}

/// The host and the port that a request is about, if it is about a command's connection.
pub(crate) fn place_asked_for(request: &Request) -> Option<(String, u16)> {
    let effect = effect_of(&request.effect);
    let dial = effect.dials.into_iter().find(|dial| dial.kind == EffectKind::Connect)?;
    Some((dial.host, dial.port))
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

/// What a person said yes to before, if that is what a grant is about.
pub(crate) fn remembered(grant: &Value) -> Option<Vec<(Did, WsPath)>> {
    let did = grant.get(BEFORE)?.as_array()?;
    let one = |pair: &Value| {
        let (word, path) = (pair[0].as_str()?, pair[1].as_str()?);
        let did = Did::WORDS.iter().find(|(_, known)| *known == word)?.0;
        Some((did, WsPath::parse_shown(path).ok()?))
    };
    Some(did.iter().filter_map(one).collect())
}

/// The paths of a request as globs that match nothing else.
fn exact_paths(approval: &Approval, effect: &Effect) -> Result<Vec<String>> {
    let told: Value = serde_json::from_str(&approval.request.effect).unwrap_or_default();
    let has_more = told["more"].as_u64().is_some_and(|more| more > 0);
    let paths = effect.paths.iter().map(|one| one.path.to_string());
    // What is no plain text, or could be read as a glob's own sign, is no name for a rule.
    let is_odd = { paths }.any(|path| path.contains('\\') || path == "/");
    if has_more || is_odd || effect.paths.is_empty() || effect.paths.len() > MOST_RULE_PATHS {
        let message = format!(
            "a rule of its own names at most {MOST_RULE_PATHS} paths, each a plain text below the root: \
             approve this once or for the chat, or write a rule (PUT .../policy, `toolyard policy set`)"
        );
        return Err(Fault::new(FaultCode::BadArgument, message));
    }
    let glob = |path: &WsPath, with_contents: bool| {
        let exact = globset::escape(&path.to_string());
        if with_contents { format!("{}/**", exact.trim_end_matches('/')) } else { exact }
    };
    Ok(effect.paths.iter().map(|one| glob(&one.path, one.with_contents)).collect())
}

/// The effect of a request, as people are told it.
pub fn effect_told(approval: &Approval) -> Value {
    serde_json::from_str(&approval.request.effect).unwrap_or_default()
}

/// Whether a person was shown that files change.
pub fn shows_change(approval: &Approval) -> bool {
    effect_of(&approval.request.effect).changes_anything()
}

/// The same as words, a pair an effect: what would be done, and to what.
pub fn effects_told(approval: &Approval) -> Vec<(String, String)> {
    let told = effect_told(approval);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let paths = told["paths"].as_array().into_iter().flatten();
    let mut effects: Vec<_> =
        paths.map(|effect| (text(&effect["kind"]), text(&effect["path"]))).collect();
    let dials = told["dials"].as_array().into_iter().flatten();
    effects.extend(dials.map(|dial| (text(&dial["kind"]), text(&dial["asked"]))));
    if let Some(more) = told["more"].as_u64().filter(|more| *more > 0) {
        effects.push(("and".to_owned(), format!("{more} more")));
    }
    effects
}

/// What the door of who asked lets happen.
fn policy_of(request: &Request) -> Policy {
    match Preset::from_word(&request.preset) {
        Some(Preset::Open) => Policy::Open,
        Some(Preset::Guarded) => Policy::Guarded,
        Some(Preset::Strict) | None => Policy::Strict,
    }
}

/// The effect that a request tells.
fn effect_of(text: &str) -> Effect {
    let told: Value = serde_json::from_str(text).unwrap_or_default();
    let one = |told: &Value| {
        let kind = EffectKind::from_word(told["kind"].as_str()?)?;
        let path = WsPath::parse_shown(told["path"].as_str()?).ok()?;
        let is = |name: &str| told[name].as_bool().unwrap_or_default();
        Some(PathEffect {
            with_contents: is("with_contents"),
            edits: is("edits"),
            mode_only: is("mode_only"),
            decides: is("decides"),
            ..PathEffect::new(kind, path)
        })
    };
    let dial = |told: &Value| {
        Some(Dial {
            kind: EffectKind::from_word(told["kind"].as_str()?)?,
            asked: told["asked"].as_str()?.to_owned(),
            host: told["host"].as_str()?.to_owned(),
            port: told["port"].as_u64().and_then(|port| u16::try_from(port).ok())?,
            known: false,
        })
    };
    Effect {
        paths: told["paths"].as_array().into_iter().flatten().filter_map(one).collect(),
        dials: told["dials"].as_array().into_iter().flatten().filter_map(dial).collect(),
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

/// What a person said who denied a request, for whoever asked.
pub fn said_no(approval: &Approval) -> String {
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

pub(crate) fn shown_otherwise(id: ApprovalId) -> Fault {
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
