//! One attempt of a session to perform a call: plan, judge, commit, and again if the state changed in between. It knows
//! the tool, the permit of a person, and the paths that it touched.
//!
//! [`Attempt::perform`] is the only way in for an operation on files.

mod asking;
mod dry_run;
mod effects;
mod judging;
mod part;
mod reads;
mod recording;
mod required_reads;

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::Value;
use yard_core::op::Operation;
use yard_core::{
    ApprovalId, Call, ChatId, Effect, Fault, FaultCode, FileKind, QuestionId, Result, RunId, WsPath,
};
use yard_kernel::{Committed, Execute, Planned, Proposal, StepMetadata};
use yard_net::Target;
use yard_store::{AuditEntry, Chat, Mode, NewTurn, StepSideEffect};

pub(crate) use self::asking::no_person;
use self::dry_run::DryRun;
pub use self::dry_run::ExplainedEffect;
pub(crate) use self::dry_run::{Plan, dry_run_only};
pub(crate) use self::effects::{Effects, summary};
use crate::approvals::{Permit, PermittedCall};
use crate::read_restrictions::TouchedPaths;
use crate::transcript::ToolCall;
use crate::{Asks, OpenWorkspace, Origin, Preset, Session, Verdict, transcript};

/// The result of an operation that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion<A> {
    /// It was performed.
    Done(A),
    /// A person is asked. The door waits for the decision; no thread is held.
    Pending(Pending),
}

/// A call that waits for a person. Its door may wait for the decision, and then calls `Catalog::resume`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The approval or question that it waits for.
    pub awaited: Awaited,
    /// For how many milliseconds the call itself asked to wait; `None` leaves it to the door.
    pub wait_ms: Option<u64>,
}

impl Pending {
    pub(crate) fn on(id: ApprovalId) -> Self {
        Self { awaited: Awaited::Approval(id), wait_ms: None }
    }
}

/// What a call can wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A person's decision.
    Approval(ApprovalId),
    /// A person's answer.
    Question(QuestionId),
}

impl Awaited {
    /// The id of what is awaited, as text.
    pub fn id(&self) -> String {
        match self {
            Self::Approval(id) => id.to_string(),
            Self::Question(id) => id.to_string(),
        }
    }
}

/// A call that can wait for a person, because it can be made again with the same arguments.
#[derive(Debug)]
struct Repeatable {
    /// What the tool was sent.
    args: Value,
    /// The run of the command that it has executed, once its changes are to be landed.
    run: Mutex<Option<RunId>>,
}

impl Repeatable {
    fn run(&self) -> Option<RunId> {
        *self.run.lock()
    }
}

/// What a person is shown of a start in addition to its effect.
#[derive(Clone, Default)]
struct StartSummary {
    /// The text. The approval covers exactly this text.
    text: Option<Arc<str>>,
    /// A host and port that the approval of the start covers.
    address: Option<Arc<str>>,
}

/// What an attempt records about itself.
#[derive(Clone, Default)]
struct Notes {
    /// The effects of its operations, for the log.
    effects: Option<Arc<Effects>>,
    /// The paths that it reads and changes, for the transcript.
    touched: Option<Arc<TouchedPaths>>,
    /// Set in a dry run: nothing is performed, and the judgements are recorded here.
    dry_run: Option<Arc<DryRun>>,
    /// It has changed something, so that making it again would change it twice.
    has_changed: Arc<AtomicBool>,
    /// The attempt is in another workspace than the one whose transcript has its call.
    is_elsewhere: bool,
}

/// One attempt of a session to perform a call, by one tool.
#[derive(Clone)]
pub struct Attempt<'a> {
    session: &'a Session,
    origin: Origin<'a>,
    call: &'a Call,
    repeatable: Option<Arc<Repeatable>>,
    permit: Option<Arc<Permit>>,
    summary: StartSummary,
    notes: Notes,
}

/// The chat of one operation, read from the store once, when it is first needed.
#[derive(Default)]
struct CallChat(OnceCell<Option<Chat>>);

impl CallChat {
    fn get(&self, session: &Session) -> Result<Option<&Chat>> {
        let chat = match self.0.get() {
            Some(chat) => chat,
            None => {
                let chat = session.current_chat()?;
                self.0.get_or_init(|| chat)
            }
        };
        Ok(chat.as_ref())
    }

    /// The chat of a change that has happened already: none, if the chat was deleted meanwhile.
    fn of_past_change(session: &Session) -> Result<Self> {
        match session.current_chat() {
            Err(fault) if fault.code() == FaultCode::NotFound => Ok(Self(OnceCell::from(None))),
            chat => Ok(Self(OnceCell::from(chat?))),
        }
    }

    fn mode(&self, session: &Session) -> Result<Mode> {
        Ok(session.mode_in(self.get(session)?))
    }
}

/// The result of judging an operation that was not refused.
pub(crate) enum Admission {
    /// It may go on, with records to commit in the same transaction.
    Go(Vec<StepSideEffect>),
    /// A person is asked.
    Wait(Pending),
}

/// A turn of a transcript that is not written yet.
pub struct UnwrittenTurn {
    open: Arc<OpenWorkspace>,
    chat: ChatId,
    turn: NewTurn,
}

impl UnwrittenTurn {
    /// Writes it.
    pub fn write(self) {
        // The call is done and durable: a transcript that cannot be written must not change its answer.
        let _ = self.open.records.record(self.chat, &self.turn);
    }
}

impl Session {
    /// An attempt of this session by one tool.
    pub fn attempt<'a>(&'a self, origin: Origin<'a>, call: &'a Call) -> Attempt<'a> {
        Attempt {
            session: self,
            origin,
            call,
            repeatable: None,
            permit: None,
            summary: StartSummary::default(),
            notes: Notes::default(),
        }
    }

    /// Performs one operation without a tool.
    pub fn perform<O: Execute>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        op: O,
    ) -> Result<Completion<O::Answer>> {
        self.attempt(origin, call).perform(op)
    }

    /// Whether a call of a tool with these `asks` may have to wait for a person.
    pub fn may_ask(&self, call: &Call, asks: Asks) -> Result<bool> {
        let policy = self.open().policy(call)?;
        Ok(match self.preset_of(&policy) {
            Preset::Strict | Preset::Guarded => true,
            Preset::Open => asks == Asks::Always || !policy.is_empty(),
        })
    }
}

impl PermittedCall {
    /// The attempt to make the decided call again, with these arguments.
    pub fn attempt<'a>(&'a self, origin: Origin<'a>, call: &'a Call, args: Value) -> Attempt<'a> {
        let attempt = self.session.attempt(origin, call).repeatable(args);
        Attempt { permit: Some(Arc::clone(&self.permit)), ..attempt }
    }
}

impl<'a> Attempt<'a> {
    /// Its session.
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// The deadline, the cancel flag and the clock of its call.
    pub fn call(&self) -> &'a Call {
        self.call
    }

    /// Its tool.
    pub fn origin(&self) -> Origin<'a> {
        self.origin
    }

    /// The same attempt, which can wait for a person, because its call can be made again with these arguments.
    #[must_use]
    pub fn repeatable(self, args: Value) -> Self {
        let repeatable = Repeatable { args, run: Mutex::default() };
        Self { repeatable: Some(Arc::new(repeatable)), ..self.tracked() }
    }

    /// The same attempt, which records the paths that it touches for the transcript.
    #[must_use]
    pub fn tracked(mut self) -> Self {
        self.notes.touched.get_or_insert_default();
        self
    }

    /// The same attempt, which records the effects of its operations for the log.
    pub(crate) fn logging_effects(mut self, effects: Arc<Effects>) -> Self {
        self.notes.effects = Some(effects);
        self
    }

    /// The same attempt in another session of its caller. Its permit is valid in the workspace of its first session only;
    /// what it records about itself, and whether it is a dry run, goes on.
    #[must_use]
    pub fn in_session<'b>(&'b self, session: &'b Session) -> Attempt<'b> {
        match session.shares_workspace(self.session) {
            true => Attempt { session, ..self.clone() },
            false => {
                let notes = Notes { is_elsewhere: true, ..self.notes.clone() };
                Attempt { notes, ..session.attempt(self.origin, self.call) }
            }
        }
    }

    /// The same attempt with another call, such as one with the read restrictions of its caller.
    pub(crate) fn with_call<'b>(&'b self, call: &'b Call) -> Attempt<'b> {
        Attempt { call, ..self.clone() }
    }

    /// The same attempt, whose next start shows this text to the person who is asked. An approval covers exactly this.
    #[must_use]
    pub fn with_summary(&self, text: &str) -> Self {
        let summary = StartSummary { text: Some(text.into()), ..self.summary.clone() };
        Self { summary, ..self.clone() }
    }

    /// The same attempt, whose next start shows the person an address on the network. An approval of the start lets the
    /// command reach that host and port. An address that cannot be parsed adds nothing.
    #[must_use]
    pub fn with_address(&self, address: &str) -> Self {
        let address = Target::parse(address).ok().map(|target| target.host_port().into());
        Self { summary: StartSummary { address, ..self.summary.clone() }, ..self.clone() }
    }

    /// The host and port that an approval of the start covers.
    pub(crate) fn shown_address(&self) -> Option<Arc<str>> {
        self.summary.address.clone()
    }

    pub(crate) fn open(&self) -> &'a Arc<OpenWorkspace> {
        self.session.open()
    }

    /// Marks the call as one that lands the changes of this run.
    pub(crate) fn set_run(&self, run: RunId) {
        if let Some(repeatable) = &self.repeatable {
            *repeatable.run.lock() = Some(run);
        }
    }

    /// The finished run whose changes a person decided about.
    pub(crate) fn permitted_run(&self) -> Option<RunId> {
        self.permit.as_ref().and_then(|permit| permit.run)
    }

    /// The approval that the start of a command uses up.
    pub(crate) fn permitted_start(&self) -> Option<ApprovalId> {
        self.permit.as_ref().map(|permit| permit.id)
    }

    /// Why the changes of a run are dropped, if a person denied them.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.permit.as_ref().and_then(|permit| permit.refusal.as_deref())
    }

    /// Whether it has changed something.
    pub fn has_changed(&self) -> bool {
        self.notes.has_changed.load(Ordering::Relaxed)
    }

    fn set_changed(&self) {
        self.notes.has_changed.store(true, Ordering::Relaxed);
        self.open().changes.notify();
    }

    /// A fault in a dry run.
    pub(crate) fn check_not_dry_run(&self) -> Result<()> {
        match self.notes.dry_run {
            Some(_) => Err(dry_run_only()),
            None => Ok(()),
        }
    }

    /// A fault if the caller may not use the toolset of this tool. The refusal leaves an audit row.
    pub fn check_toolset(&self) -> Result<()> {
        let Origin { toolset, tool, .. } = self.origin;
        self.session.check_toolset(toolset).or_else(|fault| {
            self.session.refuse(self.call, "call", &format!("{toolset}.{tool}"), fault.message())
        })
    }

    /// A fault if the caller may not write chats, questions and terminals.
    pub(crate) fn check_record_write(&self, action: &str) -> Result<()> {
        self.check_not_dry_run()?;
        self.session.check_record_write(self.call, action)
    }

    /// The same call with the read restrictions of its caller.
    pub(crate) fn restricted_call(&self) -> Result<Call> {
        self.session.restricted_call(self.origin, self.call)
    }

    /// Whether something is at a path, be it a link that leads nowhere. For the caller, what it may not list is not there.
    pub fn is_there(&self, path: &WsPath) -> bool {
        let is_hidden = self.restricted_call().is_ok_and(|call| !call.may_list(path));
        !is_hidden && self.open().workspace.is_there(path)
    }

    /// The kind of the entry at a path, with links followed. For the caller, what it may not list is not there. A link that
    /// leaves the workspace is a fault.
    pub fn kind_at(&self, path: &WsPath) -> Result<Option<FileKind>> {
        let (call, workspace) = (self.restricted_call()?, &self.open().workspace);
        let is_hidden = |path: &WsPath| !call.may_list(path);
        if is_hidden(path) || workspace.leads_to(path).as_ref().is_some_and(is_hidden) {
            return Ok(None);
        }
        workspace.kind_at(path)
    }

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
    fn record_if_dry_run<A>(
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
    fn deny<O: Operation, T>(&self, effect: &Effect, reason: String) -> Result<T> {
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

    /// The turn of the transcript about a call and its answer, bounded and redacted; `None` if the session does not
    /// record its calls.
    pub fn transcript_turn(&self, args: &Value, ok: bool, answer: &Value) -> Option<UnwrittenTurn> {
        let session = self.session;
        if !session.records_call(false) {
            return None;
        }
        let chat = session.recorded_chat(self.call)?;
        let tool = format!("{}.{}", self.origin.toolset, self.origin.tool);
        let made = ToolCall { tool, args, ok, answer, secret: self.secret() };
        let at = self.call.world().now();
        let turn = transcript::tool_call(at, session.actor().name(), &made);
        Some(UnwrittenTurn { open: Arc::clone(self.open()), chat, turn: self.with_about(turn) })
    }

    /// A turn of a transcript, with the paths by which it is decided later who may see it.
    pub(crate) fn with_about(&self, turn: NewTurn) -> NewTurn {
        self.session.with_about(self.origin, self.call, turn, self.notes.touched.as_deref())
    }

    /// Members of arguments whose values no transcript has.
    fn secret(&self) -> &'static [&'static str] {
        self.open().hints.members.secret
    }

    fn sign<O: Operation>(&self, chat: &CallChat, effect: &Effect) -> Result<StepMetadata> {
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

fn changed_again_and_again() -> Fault {
    Fault::new(
        FaultCode::Stale,
        "the files changed again and again while this call was planned; nothing was changed. Call again",
    )
}
