//! One attempt of a session to do something: plan, judge, commit; and again if the state moved in between. It knows
//! which tool makes it, which person said yes to it, and what it has touched.
//!
//! [`Attempt::perform`] is the only way in for an operation on files.

mod asking;
mod effects;
mod judging;
mod needed;
mod notebook;
mod reads;
mod recording;

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use yard_core::op::Operation;
use yard_core::{ApprovalId, Call, ChatId, Effect, Fault, FaultCode, QuestionId, Result, RunId};
use yard_kernel::{Committed, Execute, Planned, Proposal, Signed};
use yard_net::Target;
use yard_store::{AuditEntry, Chat, Mode, NewTurn, StepSideEffect};

pub(crate) use self::asking::no_person;
pub(crate) use self::effects::{Effects, summary};
pub use self::notebook::Explained;
use self::notebook::Notebook;
pub(crate) use self::notebook::{Plan, only_explained};
use crate::approvals::{Permit, Permitted};
use crate::reading::Touched;
use crate::transcript::ToolCall;
use crate::{Asks, OpenWorkspace, Origin, Preset, Session, Verdict, transcript};

/// What became of an operation that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion<A> {
    /// It happened.
    Done(A),
    /// A person is asked; the door waits, no thread does.
    Pending(Pending),
}

/// A call that waits for a person. Its door waits, if anybody does, and calls `Catalog::resume`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// What is waited for.
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
    /// It has changed something by now: calling it again would change it twice.
    has_changed: AtomicBool,
    /// The run of a command whose changes it is about by now.
    run: Mutex<Option<RunId>>,
}

impl Repeatable {
    fn run(&self) -> Option<RunId> {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a person is shown of a start beside its effect.
#[derive(Clone, Default)]
struct Summary {
    /// The text. A yes is to exactly that.
    text: Option<Arc<str>>,
    /// A host and port that is shown with it: a yes to the start is one to them.
    address: Option<Arc<str>>,
}

/// What an attempt notes of itself.
#[derive(Clone, Default)]
struct Notes {
    /// What its operations do: for the log.
    effects: Option<Arc<Effects>>,
    /// What it reads and changes: for the transcript.
    touched: Option<Arc<Touched>>,
    /// Nothing happens: what would decide is noted here.
    notebook: Option<Arc<Notebook>>,
}

/// One attempt of a session to do something, by one tool.
#[derive(Clone)]
pub struct Attempt<'a> {
    session: &'a Session,
    origin: Origin<'a>,
    call: &'a Call,
    repeatable: Option<Arc<Repeatable>>,
    permit: Option<Arc<Permit>>,
    summary: Summary,
    notes: Notes,
}

/// The chat of one operation, read from the store when it is first needed and then no more.
#[derive(Default)]
struct CallChat(OnceCell<Option<Chat>>);

impl CallChat {
    fn get(&self, session: &Session) -> Result<Option<&Chat>> {
        let chat = match self.0.get() {
            Some(chat) => chat,
            None => {
                let found = session.current_chat()?;
                self.0.get_or_init(|| found)
            }
        };
        Ok(chat.as_ref())
    }

    fn mode(&self, session: &Session) -> Result<Mode> {
        Ok(self.get(session)?.map_or(Mode::Build, |chat| chat.mode))
    }
}

/// What becomes of an operation that was judged and not refused.
pub(crate) enum Admission {
    /// It goes on, with what has to be committed together with it.
    Go(Vec<StepSideEffect>),
    /// A person is asked.
    Wait(Pending),
}

/// A line of a transcript that is still to be written.
pub struct Line {
    open: Arc<OpenWorkspace>,
    chat: ChatId,
    turn: NewTurn,
}

impl Line {
    /// Writes it.
    pub fn write(self) {
        // The call is done and durable by itself: a line of the transcript must not undo its answer.
        let _ = self.open.desk.record(self.chat, &self.turn);
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
            summary: Summary::default(),
            notes: Notes::default(),
        }
    }

    /// Performs one operation that no tool makes.
    pub fn perform<O: Execute>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        op: O,
    ) -> Result<Completion<O::Answer>> {
        self.attempt(origin, call).perform(op)
    }

    /// Whether a call of such a tool may have to wait for a person.
    pub fn may_ask(&self, call: &Call, asks: Asks) -> Result<bool> {
        let rules = self.open().rules(call)?;
        Ok(match self.preset_of(&rules) {
            Preset::Strict | Preset::Guarded => true,
            Preset::Open => asks == Asks::Always || !rules.is_empty(),
        })
    }
}

impl Permitted {
    /// The attempt to do what was decided, with these arguments.
    pub fn attempt<'a>(&'a self, origin: Origin<'a>, call: &'a Call, args: Value) -> Attempt<'a> {
        let attempt = self.session.attempt(origin, call).repeatable(args);
        Attempt { permit: Some(Arc::clone(&self.permit)), ..attempt }
    }
}

impl<'a> Attempt<'a> {
    /// The session that makes it.
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// The deadline, the cancel flag and the clock of its call.
    pub fn call(&self) -> &'a Call {
        self.call
    }

    /// The tool that makes it.
    pub fn origin(&self) -> Origin<'a> {
        self.origin
    }

    /// The same attempt, which can wait for a person, because its call can be made again with these arguments.
    #[must_use]
    pub fn repeatable(self, args: Value) -> Self {
        let repeatable =
            Repeatable { args, has_changed: AtomicBool::new(false), run: Mutex::default() };
        Self { repeatable: Some(Arc::new(repeatable)), ..self.tracked() }
    }

    /// The same attempt, which notes what it touches: for the line of the transcript.
    #[must_use]
    pub fn tracked(mut self) -> Self {
        self.notes.touched.get_or_insert_default();
        self
    }

    /// The same attempt, which notes what its operations do: for the log.
    pub(crate) fn noting(mut self, effects: Arc<Effects>) -> Self {
        self.notes.effects = Some(effects);
        self
    }

    /// The same attempt by another session of its caller. What was permitted, and what is noted, counts in the
    /// workspace of this session only.
    #[must_use]
    pub fn through<'b>(&'b self, session: &'b Session) -> Attempt<'b> {
        match session.shares_workspace(self.session) {
            true => Attempt { session, ..self.clone() },
            false => session.attempt(self.origin, self.call),
        }
    }

    /// The same attempt, with a call that knows what its caller may not read.
    pub(crate) fn during<'b>(&'b self, call: &'b Call) -> Attempt<'b> {
        Attempt { call, ..self.clone() }
    }

    /// The same attempt, whose next start shows this text to the person who is asked. A yes is to exactly that.
    #[must_use]
    pub fn with_summary(&self, text: &str) -> Self {
        let summary = Summary { text: Some(text.into()), ..self.summary.clone() };
        Self { summary, ..self.clone() }
    }

    /// The same attempt, whose next start shows the person an address on the network: a yes to the start lets the
    /// command reach its host and port, and nothing else there. An address that cannot be read adds nothing.
    #[must_use]
    pub fn with_address(&self, address: &str) -> Self {
        let address = Target::parse(address).ok().map(|target| target.place().into());
        Self { summary: Summary { address, ..self.summary.clone() }, ..self.clone() }
    }

    /// The host and port that a yes to the start covers.
    pub(crate) fn shown_address(&self) -> Option<Arc<str>> {
        self.summary.address.clone()
    }

    pub(crate) fn open(&self) -> &'a Arc<OpenWorkspace> {
        self.session.open()
    }

    /// From now on the call is about what this run changed.
    pub(crate) fn set_run(&self, run: RunId) {
        if let Some(repeatable) = &self.repeatable {
            *repeatable.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
        }
    }

    /// The run of a command that is over, and whose changes a person decided about.
    pub(crate) fn permitted_run(&self) -> Option<RunId> {
        self.permit.as_ref().and_then(|permit| permit.run)
    }

    /// The yes that a command starts with.
    pub(crate) fn permitted_start(&self) -> Option<ApprovalId> {
        self.permit.as_ref().map(|permit| permit.id)
    }

    /// Why nothing of a run is kept, where a person said no to it.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.permit.as_ref().and_then(|permit| permit.refusal.as_deref())
    }

    /// Whether it has changed something.
    pub fn has_changed(&self) -> bool {
        let repeatable = self.repeatable.as_ref();
        repeatable.is_some_and(|repeatable| repeatable.has_changed.load(Ordering::Relaxed))
    }

    fn set_changed(&self) {
        if let Some(repeatable) = &self.repeatable {
            repeatable.has_changed.store(true, Ordering::Relaxed);
        }
        self.open().bell.ring();
    }

    /// A fault where nothing happens, because it is only asked what would decide.
    pub(crate) fn check_happens(&self) -> Result<()> {
        match self.notes.notebook {
            Some(_) => Err(only_explained()),
            None => Ok(()),
        }
    }

    /// A fault if it may not write into chats, questions and terminals.
    pub(crate) fn check_desk_write(&self, action: &str) -> Result<()> {
        self.check_happens()?;
        self.session.check_desk_write(self.call, action)
    }

    /// The same call, which knows what its caller may not read.
    pub(crate) fn reading(&self) -> Result<Call> {
        self.session.reading(self.origin, self.call)
    }

    /// Performs one operation: planned, judged, committed. Where the state moved between plan and commit it is
    /// planned and judged again, because what was judged would no longer be what happens.
    pub fn perform<O: Execute>(&self, op: O) -> Result<Completion<O::Answer>> {
        self.perform_with(op, &|| Ok(None))
    }

    /// Performs one operation together with what `side_effect` says, which is asked again whenever the
    /// operation is planned again.
    pub(crate) fn perform_with<O: Execute>(
        &self,
        op: O,
        side_effect: &dyn Fn() -> Result<Option<StepSideEffect>>,
    ) -> Result<Completion<O::Answer>> {
        match self.session.withheld(self.origin, self.call)? {
            None => self.plan_and_commit(op, side_effect),
            Some(withheld) => {
                let call = self.call.clone().with_read_access(Some(Arc::new(withheld)));
                self.during(&call).plan_and_commit(op, side_effect)
            }
        }
    }

    fn plan_and_commit<O: Execute>(
        &self,
        op: O,
        side_effect: &dyn Fn() -> Result<Option<StepSideEffect>>,
    ) -> Result<Completion<O::Answer>> {
        let workspace = &self.open().workspace;
        let needed = self.needed_reading(&op)?;
        for _ in 0..self.session.limits().replans {
            self.call.check()?;
            workspace.check_root()?;
            let planned = op.plan(workspace, self.call);
            match planned.map_err(|fault| needed.reworded(fault))? {
                Planned::Answer { mut effect, answer } => {
                    self.name_otherwise(&op, &mut effect)?;
                    return Ok(match self.admit::<O>(&effect)? {
                        Admission::Go(_) => Completion::Done(answer),
                        Admission::Wait(pending) => Completion::Pending(pending),
                    });
                }
                Planned::Change(mut proposal) => {
                    let chat = CallChat::default();
                    self.weigh::<O>(&chat, &mut proposal)?;
                    proposal.effect.paths.splice(0..0, needed.asked_for());
                    self.name_otherwise(&op, &mut proposal.effect)?;
                    let effect = &proposal.effect;
                    let side_effects = match self.admit_in::<O>(&chat, effect, Some(&proposal))? {
                        Admission::Go(side_effects) => side_effects,
                        Admission::Wait(pending) => return Ok(Completion::Pending(pending)),
                    };
                    let mut signed = self.sign::<O>(&chat, effect)?;
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

    /// Judges what changes nothing by being admitted: a read, or a start.
    pub(crate) fn admit<O: Operation>(&self, effect: &Effect) -> Result<Admission> {
        self.admit_in::<O>(&CallChat::default(), effect, None)
    }

    fn admit_in<O: Operation>(
        &self,
        chat: &CallChat,
        effect: &Effect,
        proposal: Option<&Proposal<O::Answer>>,
    ) -> Result<Admission> {
        self.note(effect);
        self.session.check_toolset(self.origin.toolset)?;
        if self.is_only_explained(effect, proposal)? {
            return match proposal {
                None => Ok(Admission::Go(Vec::new())),
                Some(_) => Err(only_explained()),
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
            // What was permitted is what was shown, also where nobody would be asked any more.
            Verdict::Allow => "the files changed".to_owned(),
            Verdict::Ask(reason) => reason,
            Verdict::Deny(reason) => return self.deny::<O, _>(effect, reason),
        };
        let planned = self.planned(effect, proposal)?;
        self.ask(reason, planned)
    }

    /// Notes what a command would do that runs for a preview; a fault where nothing happens.
    pub(crate) fn note_preview(&self, effect: &Effect) -> Result<()> {
        self.note(effect);
        match self.is_only_explained::<()>(effect, None)? {
            true => Err(only_explained()),
            false => Ok(()),
        }
    }

    /// Whether it is only asked what would decide about an effect, which is noted then.
    fn is_only_explained<A>(
        &self,
        effect: &Effect,
        proposal: Option<&Proposal<A>>,
    ) -> Result<bool> {
        let Some(notebook) = &self.notes.notebook else { return Ok(false) };
        notebook.note(self.explained(effect)?);
        if notebook.keeps_plans() {
            notebook.note_plan(self.planned(effect, proposal)?);
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

    /// Notes what an operation does.
    fn note(&self, effect: &Effect) {
        if let Some(effects) = &self.notes.effects {
            effects.note(summary(effect));
        }
        if let Some(touched) = &self.notes.touched {
            touched.note(effect);
        }
    }

    /// The line of the transcript about a call and its answer, where calls are recorded; bounded and
    /// redacted.
    pub fn line_of_call(&self, args: &Value, ok: bool, answer: &Value) -> Option<Line> {
        let session = self.session;
        let chat = session.chat().filter(|_| session.records_call(false))?;
        let tool = format!("{}.{}", self.origin.toolset, self.origin.tool);
        let made = ToolCall { tool, args, ok, answer, secret: self.secret() };
        let at = self.call.world().now();
        let turn = transcript::tool_call(at, session.actor().name(), &made);
        Some(Line { open: Arc::clone(self.open()), chat, turn: self.noted(turn) })
    }

    /// A turn of a transcript, with what has to be known to decide later who may see it.
    pub(crate) fn noted(&self, turn: NewTurn) -> NewTurn {
        self.session.noted(self.origin, self.call, turn, self.notes.touched.as_deref())
    }

    /// Members of arguments that no transcript keeps.
    fn secret(&self) -> &'static [&'static str] {
        self.open().words.members.secret
    }

    fn sign<O: Operation>(&self, chat: &CallChat, effect: &Effect) -> Result<Signed> {
        let session = self.session;
        let audit = self.audit_entry::<O>(effect);
        let chat = match session.chat() {
            Some(named) => Some(named),
            None if session.awaits_chat() => Some(session.needed_chat(self.call)?.id),
            None => chat.get(session)?.map(|chat| chat.id),
        };
        Ok(Signed { author: session.actor().author(), chat, audit, side_effects: Vec::new() })
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
