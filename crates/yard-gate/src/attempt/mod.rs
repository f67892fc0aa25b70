//! One attempt of a session to perform a call. It knows the tool, what a person permitted, and what it records about itself.
//!
//! [`Attempt::perform`] (`performing.rs`) is the only way in for an operation on files: it plans, judges (`judging.rs`), asks
//! (`asking.rs`) and commits. `dry_run.rs` does the same without performing anything, for explanations, for parts of a change
//! (`part.rs`) and for calls with other arguments (`revision.rs`). `recording.rs` makes steps of what has happened already.
//! The modules of commands, requests to the web and questions add what their calls do, in `impl Attempt` blocks of their own.

mod asking;
pub(crate) mod call_log;
mod completion;
mod dry_run;
mod effects;
mod judging;
mod part;
mod performing;
mod project_files;
mod reads;
mod recording;
mod required_reads;
mod revision;
mod transcript_turn;

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::Value;
use yard_core::{ApprovalId, Call, FaultCode, FileKind, Result, RunId, WsPath};
use yard_kernel::Execute;
use yard_net::Target;
use yard_store::{Chat, Mode};

pub(crate) use self::asking::no_person;
pub use self::completion::{Awaited, Completion, Pending};
use self::dry_run::DryRun;
pub use self::dry_run::ExplainedEffect;
pub(crate) use self::dry_run::{Plan, dry_run_only};
pub(crate) use self::effects::{Effects, summary};
pub(crate) use self::performing::Admission;
pub use self::transcript_turn::UnwrittenTurn;
use crate::approvals::{Permit, PermittedCall};
use crate::transcript::visibility::TouchedPaths;
use crate::{Asks, OpenWorkspace, Origin, Preset, Session};

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
}
