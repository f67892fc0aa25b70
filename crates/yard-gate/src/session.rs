//! One caller's way to one workspace: plan, judge, commit; and again if the state moved in between.

use std::sync::Arc;

use serde_json::Value;
use yard_core::op::Operation;
use yard_core::{Call, ChatId, Effect, Fault, FaultCode, Limits, QuestionId, Result};
use yard_kernel::{Committed, Execute, Planned, Signed, Upload};
use yard_store::{AuditEntry, Mode, Rider};

use crate::call_log::Effects;
use crate::transcript::ToolCall;
use crate::{Actor, OpenWorkspace, Policy, Verdict, plan_mode, transcript};

/// Most paths that an audit row names; the step itself has them all.
const AUDITED_PATHS: usize = 8;

/// Which tool of which dialect asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The dialect.
    pub toolset: &'a str,
    /// The tool, or the command.
    pub tool: &'a str,
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
    /// A person's decision. No policy asks yet: approvals come with their issue, and this is the room
    /// that the types leave for them.
    Approval(String),
    /// A person's answer.
    Question(QuestionId),
}

/// One caller's way to one workspace.
#[derive(Clone)]
pub struct Session {
    open: Arc<OpenWorkspace>,
    actor: Actor,
    policy: Policy,
    chat: Option<ChatId>,
    /// Whether it may speak in that chat only.
    is_bound: bool,
    effects: Option<Arc<Effects>>,
}

impl Session {
    /// A session of `actor` under `policy`, in the actor's default chat (R14).
    pub fn new(open: Arc<OpenWorkspace>, actor: Actor, policy: Policy) -> Self {
        Self { open, actor, policy, chat: None, is_bound: false, effects: None }
    }

    /// The same session in one chat: its mode holds, and calls are recorded in its transcript.
    pub fn in_chat(&self, chat: ChatId) -> Result<Self> {
        self.check_bound(Some(chat))?;
        self.chats().get(chat)?;
        Ok(Self { chat: Some(chat), ..self.clone() })
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

    /// The chat that was named for this session's calls; else they belong to the actor's default one.
    pub fn chat(&self) -> Option<ChatId> {
        self.chat
    }

    /// What may change in this session's chat.
    pub fn mode(&self) -> Result<Mode> {
        Ok(self.current_chat()?.map_or(Mode::Build, |chat| chat.mode))
    }

    pub(crate) fn open(&self) -> &OpenWorkspace {
        &self.open
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

    /// Performs one operation together with what `rider` says, which is asked again whenever the
    /// operation is planned again.
    pub(crate) fn perform_with<O: Execute>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        op: O,
        rider: &dyn Fn() -> Result<Option<Rider>>,
    ) -> Result<Outcome<O::Answer>> {
        for _ in 0..self.limits().replans {
            call.check()?;
            match op.plan(&self.open.workspace, call)? {
                Planned::Answer { effect, answer } => {
                    self.admit::<O>(origin, call, &effect)?;
                    return Ok(Outcome::Done(answer));
                }
                Planned::Change(proposal) => {
                    self.admit::<O>(origin, call, &proposal.effect)?;
                    let mut signed = self.sign::<O>(origin, call, &proposal.effect);
                    signed.rider = rider()?;
                    if let Committed::Done(answer) =
                        self.open.workspace.commit(*proposal, signed, call)?
                    {
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

    fn admit<O: Operation>(&self, origin: Origin<'_>, call: &Call, effect: &Effect) -> Result<()> {
        if let Some(effects) = &self.effects {
            effects.note(summary(effect));
        }
        let Verdict::Deny(reason) = self.judge(effect)? else { return Ok(()) };
        let mut entry = self.audit_entry::<O>(origin, call, effect);
        entry.action = format!("deny {}", entry.action);
        self.open.workspace.record_denial(&entry)?;
        Err(Fault::new(FaultCode::Denied, reason))
    }

    /// The policy's word, and in plan mode also that mode's.
    fn judge(&self, effect: &Effect) -> Result<Verdict> {
        let verdict = self.policy.judge(effect);
        if verdict != Verdict::Allow || !effect.changes_anything() || self.mode()? == Mode::Build {
            return Ok(verdict);
        }
        Ok(plan_mode::judge(effect))
    }

    /// Looks at something: an operation that neither changes anything nor waits.
    pub(crate) fn look<O: Execute>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        op: O,
    ) -> Result<O::Answer> {
        match self.perform(origin, call, op)? {
            Outcome::Done(answer) => Ok(answer),
            Outcome::Pending(_) => Err(Fault::new(FaultCode::Denied, "looking waits for nobody")),
        }
    }

    /// A fault if this session may not write into chats and questions.
    pub(crate) fn check_desk_write(&self, call: &Call, action: &str) -> Result<()> {
        match self.policy.judge_desk_write() {
            Verdict::Allow => Ok(()),
            Verdict::Deny(reason) => self.refuse(call, action, "", &reason),
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
        self.open.workspace.record_denial(&entry)?;
        Err(Fault::new(FaultCode::Denied, reason))
    }

    /// The audit row of something that is no operation on files.
    pub(crate) fn desk_audit(&self, call: &Call, action: &str, detail: String) -> AuditEntry {
        let (at, actor) = (call.world().now(), self.actor.name());
        AuditEntry { at, actor, action: action.to_owned(), detail }
    }

    /// Whether calls of this session are recorded: in a chat that was named, by who may write in it.
    pub fn records_calls(&self) -> bool {
        self.chat.is_some() && self.policy.judge_desk_write() == Verdict::Allow
    }

    /// Keeps a call and its answer in the transcript, where calls are recorded; bounded and redacted.
    pub fn record_call(
        &self,
        origin: Origin<'_>,
        call: &Call,
        args: &Value,
        ok: bool,
        answer: &Value,
    ) {
        let Some(chat) = self.chat.filter(|_| self.records_calls()) else { return };
        let tool = format!("{}.{}", origin.toolset, origin.tool);
        let made = ToolCall { tool, args, ok, answer };
        let turn = transcript::tool_call(call.world().now(), self.actor.name(), &made);
        // The call is done and durable by itself: a line of the transcript must not undo its answer.
        let _ = self.open.desk.record(chat, &turn);
    }

    fn sign<O: Operation>(&self, origin: Origin<'_>, call: &Call, effect: &Effect) -> Signed {
        let audit = self.audit_entry::<O>(origin, call, effect);
        Signed { author: self.actor.author(), audit, rider: None }
    }

    fn audit_entry<O: Operation>(
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

/// The effect in one line: kinds and paths, never contents.
fn summary(effect: &Effect) -> String {
    let shown = effect.paths.iter().take(AUDITED_PATHS);
    let mut parts: Vec<String> =
        shown.map(|effect| format!("{} {}", effect.kind.word(), effect.path)).collect();
    let rest = effect.paths.len().saturating_sub(AUDITED_PATHS);
    if rest > 0 {
        parts.push(format!("and {rest} more"));
    }
    parts.join(", ")
}
