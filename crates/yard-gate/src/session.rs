//! A session: the caller with its policy, its chat, and the workspaces that it works in. A session does nothing to files
//! by itself: each call is one `Attempt` of its session.

mod chats;
mod reading;
mod roots;

use std::sync::Arc;

use yard_core::{
    Call, ChatId, Effect, EffectKind, Fault, FaultCode, KeyId, Limits, PathEffect, Result, WsPath,
};
use yard_disk::StateUsage;
use yard_kernel::{Leftover, Upload};
use yard_store::{AuditEntry, Chat, Mode, StoredCounts};

pub(crate) use self::chats::deleted_chat;
pub use self::chats::{Chats, ConnectionChat, MESSAGE_BYTES, MessageRole};
pub(crate) use self::reading::ANY_TOOL;
use self::roots::Roots;
pub use self::roots::{Mount, NamedRoot, is_at_or_below};
use crate::presets::approved_changes;
use crate::workspace_policy::Allowed;
use crate::{Actor, CallerPolicy, OpenWorkspace, Preset, Rule, Verdict, WorkspacePolicy};

/// The toolset of reads and changes of files without a tool.
pub const FILES_TOOLSET: &str = "workspace";
/// The doors, which audit rows name instead of a toolset where no tool is called.
const DOORS: [&str; 2] = ["http", "mcp"];

/// One caller in one workspace.
#[derive(Clone)]
pub struct Session {
    open: Arc<OpenWorkspace>,
    caller: Caller,
    chat: SessionChat,
    /// The workspaces that its caller works in, where there are several.
    roots: Roots,
}

/// The caller and the limits of all its calls.
#[derive(Clone)]
struct Caller {
    actor: Actor,
    policy: CallerPolicy,
    /// The toolsets that it may use, if not all of them.
    toolsets: Option<Arc<[String]>>,
    /// The only folders that it may read and change, if it is confined to some.
    folders: Option<Arc<[WsPath]>>,
    client: Client,
}

/// The properties of the client through which the calls come.
#[derive(Clone, Copy, Default)]
struct Client {
    /// Answers may name paths of the host (R13).
    shows_host_paths: bool,
    /// Its calls that only read are not recorded.
    records_only_changes: bool,
    /// No person can be asked: a call that would ask is refused.
    has_no_person: bool,
    /// Its process ends with the call, and so do the terminals that the call opens.
    is_for_one_call: bool,
}

/// The chat that the calls of a session belong to. Without one it is the default chat of the actor (R14).
#[derive(Clone, Default)]
struct SessionChat {
    named: Option<ChatId>,
    /// The chat of its connection, if no other was named.
    of_connection: Option<Arc<ConnectionChat>>,
    /// Whether the session is restricted to the named chat.
    is_bound: bool,
}

impl Session {
    /// A session of `actor` under `policy`, in the actor's default chat (R14).
    pub fn new(open: Arc<OpenWorkspace>, actor: Actor, policy: CallerPolicy) -> Self {
        let client = Client::default();
        let caller = Caller { actor, policy, toolsets: None, folders: None, client };
        Self { open, caller, chat: SessionChat::default(), roots: Roots::default() }
    }

    /// A copy of the session with a change.
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut session = self.clone();
        change(&mut session);
        session
    }

    /// The same session, whose transcript has only calls that may change something: for a client that reads a thousand
    /// files in a minute.
    #[must_use]
    pub fn recording_changes(&self) -> Self {
        self.with(|session| session.caller.client.records_only_changes = true)
    }

    /// The same session, confined to these folders: it can read and change nothing else. This narrows its rights and
    /// never widens them.
    #[must_use]
    pub fn confined_to(&self, folders: Vec<WsPath>) -> Self {
        self.with(|session| session.caller.folders = Some(folders.into()))
    }

    /// The folders that the caller is confined to; the root, if it is confined to none.
    pub fn folders(&self) -> Vec<WsPath> {
        let folders = self.caller.folders.as_ref();
        folders.map_or_else(|| vec![WsPath::root()], |folders| folders.to_vec())
    }

    /// The same session, for a caller on the same machine: answers may name paths of the host, at or
    /// below the workspace's own directory (R13).
    #[must_use]
    pub fn showing_host_paths(&self) -> Self {
        self.with(|session| session.caller.client.shows_host_paths = true)
    }

    /// Whether answers may name paths of the host.
    pub fn shows_host_paths(&self) -> bool {
        self.caller.client.shows_host_paths
    }

    /// The same session, whose caller may use these toolsets and no other. Reads and changes of files without a tool count
    /// as [`FILES_TOOLSET`].
    #[must_use]
    pub fn with_toolsets(&self, toolsets: &[String]) -> Self {
        self.with(|session| session.caller.toolsets = Some(toolsets.into()))
    }

    /// The same session without a person to ask: a call that would ask is refused at once.
    #[must_use]
    pub fn without_person(&self) -> Self {
        self.with(|session| session.caller.client.has_no_person = true)
    }

    /// Whether there is no person to ask.
    pub(crate) fn has_no_person(&self) -> bool {
        self.caller.client.has_no_person
    }

    /// The same session in a process that ends with the call, as its terminals do.
    #[must_use]
    pub fn for_one_call(&self) -> Self {
        self.with(|session| session.caller.client.is_for_one_call = true)
    }

    /// Whether terminals end with the call that opened them.
    pub fn is_for_one_call(&self) -> bool {
        self.caller.client.is_for_one_call
    }

    /// The same session in one chat: its mode holds, and calls are recorded in its transcript.
    pub fn in_chat(&self, chat: ChatId) -> Result<Self> {
        self.check_bound(Some(chat))?;
        self.check_may_use(&self.chats().get(chat)?)?;
        Ok(self.with_chat(chat))
    }

    /// The same session in a chat that exists.
    pub(crate) fn with_chat(&self, chat: ChatId) -> Self {
        self.with(|session| session.chat.named = Some(chat))
    }

    /// The same session in the chat of its connection, which is made when it is first needed.
    #[must_use]
    pub fn in_connection_chat(&self, chat: Arc<ConnectionChat>) -> Self {
        self.with(|session| {
            session.chat.named = None;
            session.chat.of_connection = Some(chat);
        })
    }

    /// The same session, restricted to one chat, which a person chose for the key, also if another agent made it.
    pub(crate) fn bound_to(&self, chat: ChatId) -> Result<Self> {
        self.chats().get(chat)?;
        Ok(self.with_chat(chat).with(|session| session.chat.is_bound = true))
    }

    /// The session of another actor in a chat of this workspace, with paths as that actor had them.
    pub(crate) fn on_behalf_of(
        &self,
        actor: Actor,
        policy: CallerPolicy,
        chat: ChatId,
        root: Option<&str>,
    ) -> Self {
        let mount = root.map(|name| Mount::alone(name, self.host_root()));
        self.with(|session| {
            (session.caller.actor, session.caller.policy) = (actor, policy);
            (session.chat.named, session.chat.is_bound) = (Some(chat), false);
            session.roots = session.roots.mounted_as(mount);
        })
    }

    /// A new session of another actor in a chat of this workspace, without the client properties of this one.
    pub(crate) fn new_session_of(&self, actor: Actor, policy: CallerPolicy, chat: ChatId) -> Self {
        Self::new(Arc::clone(&self.open), actor, policy).with_chat(chat)
    }

    /// A session of an agent of this workspace, to explain what would happen with a call that it makes: the one that made
    /// the chat, or any other. Nothing may be done with it.
    pub fn agent_to_explain(&self, chat: Option<ChatId>) -> Result<Self> {
        let chat = chat.map(|id| self.chats().get(id)).transpose()?;
        let maker = chat.as_ref().and_then(|chat| Actor::from_name(&chat.made_by));
        let any_agent = match self.actor() {
            Actor::LocalPerson | Actor::LocalAgent => Actor::LocalAgent,
            // No key has this id, because ids have a time in them.
            Actor::Person(_) | Actor::Key(_) => Actor::Key(KeyId::from_bytes([0; 16])),
        };
        let actor = maker.filter(|maker| !maker.is_person()).unwrap_or(any_agent);
        let session = Self::new(Arc::clone(&self.open), actor, CallerPolicy::Guarded);
        Ok(match chat {
            Some(chat) => session.with_chat(chat.id),
            None => session,
        })
    }

    /// A fault if this session is restricted to another chat.
    pub(crate) fn check_bound(&self, chat: Option<ChatId>) -> Result<()> {
        match self.chat.named.filter(|_| self.chat.is_bound) {
            Some(own) if chat != Some(own) => Err(Fault::new(
                FaultCode::Denied,
                format!("this key speaks in chat {own} only; leave the chat out, or name that one"),
            )),
            _ => Ok(()),
        }
    }

    /// A fault if the chat is another agent's: what a person allowed in it was allowed to that agent.
    pub(crate) fn check_may_use(&self, chat: &Chat) -> Result<()> {
        let is_chosen = self.chat.is_bound && self.chat.named == Some(chat.id);
        let maker = Actor::from_name(&chat.made_by).filter(|maker| !maker.is_person());
        let is_own = maker.is_none_or(|maker| maker == self.actor());
        if self.actor().is_person() || is_chosen || is_own {
            return Ok(());
        }
        let message = format!(
            "chat {} is another agent's: make a chat, name one that a person made, or leave the chat out",
            chat.id
        );
        Err(Fault::new(FaultCode::Denied, message))
    }

    /// A fault if the caller may not use a toolset.
    pub fn check_toolset(&self, toolset: &str) -> Result<()> {
        let Some(own) = &self.caller.toolsets else { return Ok(()) };
        let toolset = if DOORS.contains(&toolset) { FILES_TOOLSET } else { toolset };
        if own.iter().any(|own| own == toolset) {
            return Ok(());
        }
        let message = format!(
            "this caller may use the toolset {} and no other: call a tool of it. {toolset} is not among them",
            own.join(", ")
        );
        Err(Fault::new(FaultCode::Denied, message))
    }

    /// The actor of its caller.
    pub fn actor(&self) -> Actor {
        self.caller.actor
    }

    /// The policy of the caller's door and role.
    pub(crate) fn policy(&self) -> CallerPolicy {
        self.caller.policy
    }

    /// The chat that was named for this session's calls, or that of its connection. Without one they belong to the default
    /// chat of the actor.
    pub fn chat(&self) -> Option<ChatId> {
        self.chat.named.or_else(|| self.chat.of_connection.as_ref()?.made())
    }

    /// Whether its calls belong to the default chat of an agent with a key, which is how people see what the agent does.
    fn is_in_chat_of_key(&self) -> bool {
        let is_key = matches!(self.actor(), Actor::Key(_));
        is_key && self.chat.named.is_none() && self.chat.of_connection.is_none()
    }

    /// Whether the chat of its calls is made with the first change: that of a connection, or of a key (R14).
    pub(crate) fn makes_chat_with_change(&self) -> bool {
        self.chat.of_connection.is_some() || self.is_in_chat_of_key()
    }

    /// The chat whose transcript has a call that was made. That of a key is made with the first call that may change
    /// something, also if it failed; that of a connection is there only after a change.
    pub(crate) fn recorded_chat(&self, call: &Call) -> Option<ChatId> {
        match self.is_in_chat_of_key() {
            // The call was made: if its chat cannot be, only the line of the transcript is missing.
            true => self.needed_chat(call).ok().map(|chat| chat.id),
            false => self.chat(),
        }
    }

    /// Whether its calls belong to a chat of a connection that is not made yet.
    pub fn awaits_chat(&self) -> bool {
        self.chat.of_connection.is_some() && self.chat().is_none()
    }

    /// The chat that this session's calls belong to (R14), if it exists yet. A named chat that was deleted is a fault; that of
    /// a connection is made again when it is needed.
    pub fn current_chat(&self) -> Result<Option<Chat>> {
        let records = &self.open.records;
        match (self.chat.named, &self.chat.of_connection) {
            (Some(id), _) => records.chat(id)?.map(Some).ok_or_else(|| deleted_chat(id)),
            (None, Some(connection)) => connection.read(),
            (None, None) => Ok(records.default_chat(&self.actor().name())?),
        }
    }

    /// The mode of this session's chat.
    pub fn mode(&self) -> Result<Mode> {
        Ok(self.mode_in(self.current_chat()?.as_ref()))
    }

    /// The mode of a chat, or the one in which this session's chat will be made.
    pub(crate) fn mode_in(&self, chat: Option<&Chat>) -> Mode {
        let mode_of_next = || self.chat.of_connection.as_ref().and_then(|one| one.mode_of_next());
        chat.map(|chat| chat.mode).or_else(mode_of_next).unwrap_or(Mode::Build)
    }

    pub(crate) fn open(&self) -> &Arc<OpenWorkspace> {
        &self.open
    }

    /// Whether both are sessions in the same open workspace.
    pub(crate) fn shares_workspace(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.open, &other.open)
    }

    /// The limits of answers.
    pub fn limits(&self) -> &Limits {
        self.open.workspace.limits()
    }

    /// The real directory of the workspace on the host, for callers that send paths below it (R2).
    pub fn host_root(&self) -> &[u8] {
        self.open.workspace.host_root()
    }

    /// Begins an upload to the staging folder. It changes nothing until a `Place` operation that names it is performed.
    pub fn upload(&self, call: &Call) -> Result<Upload> {
        self.open.workspace.upload(call)
    }

    /// How much of the disk the history takes, and how much there is in it.
    pub fn storage(&self) -> Result<(StateUsage, StoredCounts)> {
        self.open.workspace.storage()
    }

    /// Files that crashes left behind and that recovery could not put right, for a person to look at.
    pub fn leftovers(&self) -> Result<Vec<Leftover>> {
        self.open.workspace.leftovers()
    }

    /// The preset that the workspace's policy names, or else the one of this caller's door.
    pub(crate) fn preset_of(&self, policy: &WorkspacePolicy) -> Preset {
        policy.preset.unwrap_or_else(|| self.policy().preset())
    }

    /// The grants of people for this session's chat.
    pub(crate) fn allowed_in_chat(&self) -> Result<Allowed> {
        let Some(chat) = self.current_chat()? else { return Ok(Allowed::default()) };
        let grants = self.open.records.grants(Some(chat.id))?;
        let mut allowed = Allowed::default();
        for grant in grants.iter().filter(|grant| grant.chat.is_some()) {
            // A grant that cannot be parsed allows nothing, which is the safe side.
            let value = serde_json::from_str(&grant.rule).unwrap_or_default();
            match approved_changes(&value) {
                Some(changes) => allowed.changes.0.extend(changes),
                None => allowed.rules.extend(Rule::parse(&value)),
            }
        }
        Ok(allowed)
    }

    /// Denies effects outside of the folders that the caller is confined to.
    pub(crate) fn judge_folders(&self, effect: &Effect) -> Verdict {
        let Some(folders) = &self.caller.folders else { return Verdict::Allow };
        let is_inside = |one: &PathEffect| {
            // A command sees the whole workspace, wherever it starts.
            let reached = if one.kind == EffectKind::Run { &WsPath::root() } else { &one.path };
            folders.iter().any(|folder| reached.is_within(folder))
        };
        match effect.paths.iter().find(|one| !is_inside(one)) {
            None => Verdict::Allow,
            Some(outside) => {
                let folders: Vec<String> = folders.iter().map(ToString::to_string).collect();
                Verdict::Deny(format!(
                    "{} is outside of what the client offers: {}. Name a path at or below one of these",
                    outside.path,
                    folders.join(", ")
                ))
            }
        }
    }

    /// A fault if this session may not write chats and questions.
    pub(crate) fn check_record_write(&self, call: &Call, action: &str) -> Result<()> {
        match self.policy().judge_record_write() {
            Verdict::Allow => Ok(()),
            Verdict::Ask(reason) | Verdict::Deny(reason) => self.refuse(call, action, "", &reason),
        }
    }

    /// Refuses an action and writes the audit row about it.
    pub(crate) fn refuse<T>(
        &self,
        call: &Call,
        action: &str,
        detail: &str,
        reason: &str,
    ) -> Result<T> {
        let entry = self.audit_entry(call, &format!("deny {action}"), detail.to_owned());
        self.open.workspace.record_audit(&entry)?;
        Err(Fault::new(FaultCode::Denied, reason))
    }

    /// The audit row of an action that is no operation on files.
    pub(crate) fn audit_entry(&self, call: &Call, action: &str, detail: String) -> AuditEntry {
        let (at, actor) = (call.world().now(), self.actor().name());
        AuditEntry { at, actor, action: action.to_owned(), detail }
    }

    /// Whether a call of this session is recorded in the transcript of its chat.
    pub fn records_call(&self, only_reads: bool) -> bool {
        let only_changes = self.caller.client.records_only_changes || self.is_in_chat_of_key();
        let is_wanted = !(only_reads && only_changes);
        let is_in_chat = self.chat.named.is_some() || self.makes_chat_with_change();
        is_in_chat && is_wanted && self.policy().judge_record_write() == Verdict::Allow
    }
}
