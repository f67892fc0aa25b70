//! One caller's way to one workspace: plan, judge, commit; and again if the state moved in between.

mod asks;
mod judging;
mod needed;

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use yard_core::op::Operation;
use yard_core::{
    ApprovalId, Call, ChatId, Effect, Fault, FaultCode, Limits, QuestionId, Result, RunId, WsPath,
};
use yard_kernel::{Committed, Execute, Planned, Proposal, Signed, Upload};
use yard_net::Target;
use yard_store::{AuditEntry, Chat, Mode, NewTurn, StepSideEffect};

pub(crate) use self::asks::nobody_there;
pub use self::judging::FILES_TOOLSET;
use crate::approvals::Permit;
use crate::call_log::Effects;
use crate::chats::ConnectionChat;
use crate::mount::Roots;
use crate::policy::Preset;
use crate::reading::Touched;
use crate::settings::Notebook;
use crate::transcript::ToolCall;
use crate::{Actor, Asks, Mount, OpenWorkspace, Policy, Verdict, transcript};

/// Most paths that an audit row names; the step itself has them all.
const AUDITED_PATHS: usize = 8;

/// Which tool of which dialect asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The dialect.
    pub toolset: &'a str,
    /// The tool, or the command.
    pub tool: &'a str,
    /// What it asks a person for by itself.
    pub asks: Asks,
}

/// What became of an operation that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<A> {
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

/// A call that can wait for a person, because it can be made again.
#[derive(Debug)]
pub(crate) struct Asking {
    /// What the tool was sent.
    pub(crate) args: Value,
    /// It has changed something by now: calling it again would change it twice.
    has_changed: AtomicBool,
    /// The run of a command whose changes it is about by now.
    run: Mutex<Option<RunId>>,
}

impl Asking {
    pub(crate) fn run(&self) -> Option<RunId> {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One caller's way to one workspace.
#[derive(Clone)]
pub struct Session {
    open: Arc<OpenWorkspace>,
    actor: Actor,
    policy: Policy,
    chat: Option<ChatId>,
    /// The chat of its connection, where no other was named.
    connection_chat: Option<Arc<ConnectionChat>>,
    /// Whether it may speak in that chat only.
    is_bound: bool,
    effects: Option<Arc<Effects>>,
    asking: Option<Arc<Asking>>,
    permit: Option<Arc<Permit>>,
    /// The gate itself looks, for its own decisions: nobody is asked.
    is_inner: bool,
    /// What a person is shown of a start beside its effect: a yes is to that.
    shown: Option<Arc<str>>,
    /// The host and port that the person is shown with the start: a yes to it is one to them.
    shown_host: Option<Arc<str>>,
    /// Nothing happens: what would decide is noted here.
    notebook: Option<Arc<Notebook>>,
    /// Its caller may read paths of the host (R13).
    shows_host: bool,
    /// Only what is at or below one of these may be touched, if any are named.
    confines: Option<Arc<[WsPath]>>,
    /// The workspaces that its caller works in, where there are several.
    pub(crate) roots: Roots,
    /// Calls that only look are not recorded.
    records_changes: bool,
    /// What its call looks at and changes, where that is recorded.
    touched: Option<Arc<Touched>>,
    /// The toolsets that its caller may use, if not all of them.
    toolsets: Option<Arc<[String]>>,
    /// There is nobody to ask: what would ask is refused.
    has_no_person: bool,
    /// Its process ends with the call, and so does whatever the call leaves running.
    is_for_one_call: bool,
}

/// The chat of one call, looked up when it is first asked for and then no more.
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
    /// It goes on, with what has to become so together with it.
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
    /// A session of `actor` under `policy`, in the actor's default chat (R14).
    pub fn new(open: Arc<OpenWorkspace>, actor: Actor, policy: Policy) -> Self {
        Self {
            open,
            actor,
            policy,
            chat: None,
            connection_chat: None,
            is_bound: false,
            effects: None,
            asking: None,
            permit: None,
            is_inner: false,
            shown: None,
            shown_host: None,
            notebook: None,
            shows_host: false,
            confines: None,
            roots: Roots::default(),
            records_changes: false,
            touched: None,
            toolsets: None,
            has_no_person: false,
            is_for_one_call: false,
        }
    }

    /// The same session, of whose calls the transcript keeps only those that may change something: for who
    /// looks at a thousand files in a minute.
    #[must_use]
    pub fn recording_changes(&self) -> Self {
        Self { records_changes: true, ..self.clone() }
    }

    /// The same session, for a caller that keeps to these folders: nothing else is read or changed. It
    /// narrows what the session could do, and never widens it.
    #[must_use]
    pub fn confined_to(&self, folders: Vec<WsPath>) -> Self {
        Self { confines: Some(folders.into()), ..self.clone() }
    }

    /// The folders that the caller keeps to: the root, if it keeps to none.
    pub fn folders(&self) -> Vec<WsPath> {
        self.confines.as_ref().map_or_else(|| vec![WsPath::root()], |folders| folders.to_vec())
    }

    /// The same session, for a caller on the same machine: answers may name paths of the host, at or
    /// below the workspace's own directory (R13).
    #[must_use]
    pub fn showing_host_paths(&self) -> Self {
        Self { shows_host: true, ..self.clone() }
    }

    /// Whether answers may name paths of the host.
    pub fn shows_host_paths(&self) -> bool {
        self.shows_host
    }

    /// The same session, in which nothing changes and what would decide is noted.
    pub(crate) fn explaining(&self, notebook: Arc<Notebook>) -> Self {
        Self { notebook: Some(notebook), ..self.clone() }
    }

    /// What the caller's door and role let it do.
    pub(crate) fn policy(&self) -> Policy {
        self.policy
    }

    /// The same session for one call of a tool with these arguments, which can wait for a person.
    #[must_use]
    pub fn calling(&self, args: Value) -> Self {
        let asking = Asking { args, has_changed: AtomicBool::new(false), run: Mutex::default() };
        Self { asking: Some(Arc::new(asking)), ..self.tracking() }
    }

    /// The same session, whose next start says this to the person who is asked. A yes is to exactly that.
    #[must_use]
    pub fn showing(&self, text: &str) -> Self {
        Self { shown: Some(text.into()), ..self.clone() }
    }

    /// The same session, whose next start shows the person an address on the network: a yes to the start lets the
    /// command reach its host and port, and nothing else there. An address that cannot be read adds nothing.
    #[must_use]
    pub fn showing_address(&self, address: &str) -> Self {
        let host = Target::parse(address).ok().map(|target| target.place().into());
        Self { shown_host: host, ..self.clone() }
    }

    /// The host and port that a yes to the start covers.
    pub(crate) fn shown_host(&self) -> Option<Arc<str>> {
        self.shown_host.clone()
    }

    /// Whether a person is shown more of a start than its effect.
    pub(crate) fn shows_more(&self) -> bool {
        self.shown.is_some()
    }

    /// The same session, looking for the gate's own decisions: nobody is asked, and no yes is used up.
    pub(crate) fn inner(&self) -> Self {
        Self { is_inner: true, asking: None, permit: None, ..self.clone() }
    }

    /// The same session for looks that belong to no operation of the call: nothing notes them.
    pub(crate) fn quiet(&self) -> Self {
        Self { effects: None, notebook: None, touched: None, ..self.inner() }
    }

    /// The same caller in one chat, outside of any call.
    pub(crate) fn beside(&self, chat: ChatId) -> Self {
        let (chat, asking, permit) = (Some(chat), None, None);
        Self { chat, asking, permit, effects: None, notebook: None, ..self.clone() }
    }

    /// From now on the call is about what this run changed.
    pub(crate) fn asks_about(&self, run: RunId) {
        if let Some(asking) = &self.asking {
            *asking.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
        }
    }

    /// The run of a command that is over, and whose changes a person said yes to.
    pub(crate) fn permitted_run(&self) -> Option<RunId> {
        self.permit.as_ref().and_then(|permit| permit.run)
    }

    /// The yes that a command starts with.
    pub(crate) fn permitted_start(&self) -> Option<ApprovalId> {
        self.permit.as_ref().map(|permit| permit.id)
    }

    /// Whether this call has changed something.
    pub fn has_changed(&self) -> bool {
        self.asking.as_ref().is_some_and(|asking| asking.has_changed.load(Ordering::Relaxed))
    }

    /// Whether nothing happens here, because it is only asked what would decide.
    pub(crate) fn only_explains(&self) -> bool {
        self.notebook.is_some()
    }

    /// Whether a call of such a tool may have to wait for a person.
    pub fn may_ask(&self, call: &Call, asks: Asks) -> Result<bool> {
        let rules = self.open.rules(call)?;
        let preset = self.preset_of(&rules);
        Ok(match preset {
            Preset::Strict | Preset::Guarded => true,
            Preset::Open => asks == Asks::Always || !rules.is_empty(),
        })
    }

    /// The session of `actor` in one chat, for what a person permitted.
    pub(crate) fn permitted(
        &self,
        actor: Actor,
        policy: Policy,
        chat: ChatId,
        permit: Permit,
        root: Option<&str>,
    ) -> Self {
        let (chat, permit) = (Some(chat), Some(Arc::new(permit)));
        // Its paths mean what they meant to who asked, wherever this session comes from.
        let mount = root.map(|name| Mount::alone(name, self.host_root()));
        let roots = self.roots.mounted_as(mount);
        Self { actor, policy, chat, permit, roots, is_bound: false, effects: None, ..self.clone() }
    }

    /// The same session in one chat: its mode holds, and calls are recorded in its transcript.
    pub fn in_chat(&self, chat: ChatId) -> Result<Self> {
        self.check_bound(Some(chat))?;
        self.chats().get(chat)?;
        Ok(Self { chat: Some(chat), ..self.clone() })
    }

    /// The same session in the chat of its connection, which is made with the first thing that belongs to it.
    #[must_use]
    pub fn in_connection_chat(&self, chat: Arc<ConnectionChat>) -> Self {
        Self { chat: None, connection_chat: Some(chat), ..self.clone() }
    }

    /// The chat of its connection, made or not.
    pub(crate) fn connection_chat(&self) -> Option<&ConnectionChat> {
        self.connection_chat.as_deref()
    }

    /// Whether its calls belong to a chat that nothing was done in yet.
    pub fn awaits_chat(&self) -> bool {
        self.connection_chat.is_some() && self.chat().is_none()
    }

    /// The same session in one chat, which it cannot leave.
    pub(crate) fn bound_to(&self, chat: ChatId) -> Result<Self> {
        Ok(Self { is_bound: true, ..self.in_chat(chat)? })
    }

    /// A fault if this session would speak outside of the chat that it is bound to.
    pub(crate) fn check_bound(&self, chat: Option<ChatId>) -> Result<()> {
        match self.chat.filter(|_| self.is_bound) {
            Some(own) if chat != Some(own) => Err(Fault::new(
                FaultCode::Denied,
                format!("this key speaks in chat {own} only; leave the chat out, or name that one"),
            )),
            _ => Ok(()),
        }
    }

    /// The same session, noting what its operations do: for the log of one call.
    pub(crate) fn noting(&self, effects: Arc<Effects>) -> Self {
        Self { effects: Some(effects), ..self.clone() }
    }

    /// Who is calling.
    pub fn actor(&self) -> Actor {
        self.actor
    }

    /// The chat that was named for this session's calls, or that of its connection; else they belong to the
    /// actor's default one.
    pub fn chat(&self) -> Option<ChatId> {
        self.chat.or_else(|| self.connection_chat()?.made())
    }

    /// What may change in this session's chat.
    pub fn mode(&self) -> Result<Mode> {
        CallChat::default().mode(self)
    }

    pub(crate) fn open(&self) -> &OpenWorkspace {
        &self.open
    }

    /// Whether nobody changes anything at the moment: then a small change waits for nobody else.
    pub fn is_free(&self) -> bool {
        self.open.workspace.is_free()
    }

    /// The bounds that answers keep.
    pub fn limits(&self) -> &Limits {
        self.open.workspace.limits()
    }

    /// The workspace's real directory, for callers that send paths below it (R2).
    pub fn host_root(&self) -> &[u8] {
        self.open.workspace.host_root()
    }

    /// Begins an upload: any number of bytes come to the staging folder and change nothing, until a
    /// `Place` that names them is performed.
    pub fn upload(&self, call: &Call) -> Result<Upload> {
        self.open.workspace.upload(call)
    }

    /// Performs one operation: the only way in.
    ///
    /// Planned, judged, committed. Where the state moved between plan and commit it is planned and
    /// judged again, because what was judged would no longer be what happens.
    pub fn perform<O: Execute>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        op: O,
    ) -> Result<Outcome<O::Answer>> {
        self.perform_with(origin, call, op, &|| Ok(None))
    }

    /// Performs one operation together with what `side_effect` says, which is asked again whenever the
    /// operation is planned again.
    pub(crate) fn perform_with<O: Execute>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        op: O,
        side_effect: &dyn Fn() -> Result<Option<StepSideEffect>>,
    ) -> Result<Outcome<O::Answer>> {
        // What the gate sees for its own decisions reaches no caller.
        let withheld = if self.is_inner { None } else { self.withheld(origin, call)? };
        let known = withheld.map(|withheld| call.clone().reading_as(Some(Arc::new(withheld))));
        let call = known.as_ref().unwrap_or(call);
        let needed = self.needed_reading(origin, call, &op)?;
        for _ in 0..self.limits().replans {
            call.check()?;
            self.open.workspace.check_root()?;
            let planned = op.plan(&self.open.workspace, call);
            match planned.map_err(|fault| needed.reworded(fault))? {
                Planned::Answer { mut effect, answer } => {
                    self.name_otherwise(call, &op, &mut effect)?;
                    return Ok(match self.admit::<O>(origin, call, &effect, None)? {
                        Admission::Go(_) => Outcome::Done(answer),
                        Admission::Wait(pending) => Outcome::Pending(pending),
                    });
                }
                Planned::Change(mut proposal) => {
                    let chat = CallChat::default();
                    self.weigh::<O>(&chat, origin, call, &mut proposal)?;
                    proposal.effect.paths.splice(0..0, needed.asked_for());
                    self.name_otherwise(call, &op, &mut proposal.effect)?;
                    let effect = &proposal.effect;
                    let admission =
                        self.admit_in::<O>(&chat, origin, call, effect, Some(&proposal))?;
                    let side_effects = match admission {
                        Admission::Go(side_effects) => side_effects,
                        Admission::Wait(pending) => return Ok(Outcome::Pending(pending)),
                    };
                    let mut signed = self.sign::<O>(&chat, origin, call, effect)?;
                    signed.side_effects = side_effects;
                    signed.side_effects.extend(side_effect()?);
                    if let Committed::Done(answer) =
                        self.open.workspace.commit(*proposal, signed, call)?
                    {
                        if let Some(asking) = &self.asking {
                            asking.has_changed.store(true, Ordering::Relaxed);
                        }
                        self.open.bell.ring();
                        return Ok(Outcome::Done(answer));
                    }
                }
            }
        }
        Err(Fault::new(
            FaultCode::Stale,
            "the files changed again and again while this call was planned; nothing was changed. Call again",
        ))
    }

    pub(crate) fn admit<O: Operation>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
        proposal: Option<&Proposal<O::Answer>>,
    ) -> Result<Admission> {
        self.admit_in::<O>(&CallChat::default(), origin, call, effect, proposal)
    }

    fn admit_in<O: Operation>(
        &self,
        chat: &CallChat,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
        proposal: Option<&Proposal<O::Answer>>,
    ) -> Result<Admission> {
        if let Some(effects) = &self.effects {
            effects.note(summary(effect));
        }
        if let Some(touched) = self.touched().filter(|_| !self.is_inner) {
            touched.note(effect);
        }
        if !self.is_inner {
            self.check_toolset(origin.toolset)?;
        }
        if let Some(notebook) = &self.notebook {
            notebook.note(self.explained(origin, call, effect)?);
            if let Some(plans) = &notebook.plans {
                plans.note(self.planned(origin, call, effect, proposal)?);
            }
            return match proposal {
                None => Ok(Admission::Go(Vec::new())),
                Some(_) => Err(only_explained()),
            };
        }
        if self.is_inner {
            // What the gate sees for its own decisions reaches no caller.
            return Ok(Admission::Go(Vec::new()));
        }
        if let (Some(why), Some(_)) = (self.refusal(), proposal) {
            return Err(Fault::new(FaultCode::Denied, why));
        }
        let reason = match self.judge_in(chat, origin, call, effect)? {
            Verdict::Allow
                if self.permit.is_none() || proposal.is_none() || self.lands_what_it_started() =>
            {
                return Ok(Admission::Go(Vec::new()));
            }
            // What was permitted is what was shown, also where nobody would be asked any more.
            Verdict::Allow => "the files changed".to_owned(),
            Verdict::Ask(reason) => reason,
            Verdict::Deny(reason) => {
                let mut entry = self.audit_entry::<O>(origin, call, effect);
                entry.action = format!("deny {}", entry.action);
                self.open.workspace.record_audit(&entry)?;
                return Err(Fault::new(FaultCode::Denied, reason));
            }
        };
        let planned = self.planned(origin, call, effect, proposal)?;
        self.ask(origin, call, reason, planned)
    }

    /// Looks at something: an operation that neither changes anything nor waits.
    pub(crate) fn look<O: Execute>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        op: O,
    ) -> Result<O::Answer> {
        let inner = Self { is_inner: true, ..self.clone() };
        match inner.perform(origin, call, op)? {
            Outcome::Done(answer) => Ok(answer),
            Outcome::Pending(_) => Err(Fault::new(FaultCode::Denied, "looking waits for nobody")),
        }
    }

    /// A fault if this session may not write into chats and questions.
    pub(crate) fn check_desk_write(&self, call: &Call, action: &str) -> Result<()> {
        if self.notebook.is_some() {
            return Err(only_explained());
        }
        match self.policy.judge_desk_write() {
            Verdict::Allow => Ok(()),
            Verdict::Ask(reason) | Verdict::Deny(reason) => self.refuse(call, action, "", &reason),
        }
    }

    /// Refuses something, and leaves the audit row that says so.
    pub(crate) fn refuse<T>(
        &self,
        call: &Call,
        action: &str,
        detail: &str,
        reason: &str,
    ) -> Result<T> {
        let entry = self.desk_audit(call, &format!("deny {action}"), detail.to_owned());
        self.open.workspace.record_audit(&entry)?;
        Err(Fault::new(FaultCode::Denied, reason))
    }

    /// The audit row of something that is no operation on files.
    pub(crate) fn desk_audit(&self, call: &Call, action: &str, detail: String) -> AuditEntry {
        let (at, actor) = (call.world().now(), self.actor.name());
        AuditEntry { at, actor, action: action.to_owned(), detail }
    }

    /// Whether a call of this session is recorded: in a chat that was named, by who may write in it.
    pub fn records_call(&self, only_looks: bool) -> bool {
        let is_told = !(only_looks && self.records_changes);
        let is_in_chat = self.chat.is_some() || self.connection_chat.is_some();
        is_in_chat && is_told && self.policy.judge_desk_write() == Verdict::Allow
    }

    /// The line of the transcript that tells a call and its answer, where calls are recorded; bounded and
    /// redacted.
    pub fn line_of_call(
        &self,
        origin: Origin<'_>,
        call: &Call,
        args: &Value,
        ok: bool,
        answer: &Value,
    ) -> Option<Line> {
        let chat = self.chat().filter(|_| self.records_call(false))?;
        let tool = format!("{}.{}", origin.toolset, origin.tool);
        let made = ToolCall { tool, args, ok, answer };
        let turn = transcript::tool_call(call.world().now(), self.actor.name(), &made);
        let turn = self.noted(origin, call, turn);
        Some(Line { open: Arc::clone(&self.open), chat, turn })
    }

    fn sign<O: Operation>(
        &self,
        chat: &CallChat,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
    ) -> Result<Signed> {
        let audit = self.audit_entry::<O>(origin, call, effect);
        let chat = match self.chat() {
            Some(named) => Some(named),
            None if self.awaits_chat() => Some(self.needed_chat(call)?.id),
            None => chat.get(self)?.map(|chat| chat.id),
        };
        Ok(Signed { author: self.actor.author(), chat, audit, side_effects: Vec::new() })
    }

    pub(crate) fn audit_entry<O: Operation>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
    ) -> AuditEntry {
        AuditEntry {
            at: call.world().now(),
            actor: self.actor.name(),
            action: O::VERB.to_owned(),
            detail: format!("{}.{} {}", origin.toolset, origin.tool, summary(effect)),
        }
    }
}

/// Nothing happens where it is only asked what would decide.
pub(crate) fn only_explained() -> Fault {
    Fault::new(FaultCode::Unavailable, "this call is only explained")
}

/// The effect in one line: kinds, paths and hosts, never contents.
fn summary(effect: &Effect) -> String {
    let (mut text, mut before) = (String::with_capacity(64), "");
    let mut begin = |text: &mut String| text.push_str(std::mem::replace(&mut before, ", "));
    for effect in effect.paths.iter().take(AUDITED_PATHS) {
        begin(&mut text);
        text.push_str(effect.kind.word());
        text.push(' ');
        // Writing into a text cannot fail.
        let _ = effect.path.show_to(&mut text);
    }
    let rest = effect.paths.len().saturating_sub(AUDITED_PATHS);
    if rest > 0 {
        begin(&mut text);
        text.push_str(&format!("and {rest} more"));
    }
    for dial in &effect.dials {
        begin(&mut text);
        text.push_str(&dial.in_short());
    }
    text
}
