//! Who is calling: the actor and what its policy lets it do, its chat, and the workspaces that it works in. A session
//! does nothing to files by itself: whatever a call does is one `Attempt` of its session.

mod chats;
mod roots;
mod withheld;

use std::sync::Arc;

use yard_core::{
    Call, ChatId, Effect, EffectKind, Fault, FaultCode, Limits, PathEffect, Result, WsPath,
};
use yard_kernel::{Leftover, Upload, store_fault};
use yard_store::{AuditEntry, Chat, Mode};

pub use self::chats::{Chats, ConnectionChat, MESSAGE_BYTES, MessageRole};
use self::roots::Roots;
pub use self::roots::{Mount, NamedRoot, is_at_or_below};
use crate::policy::remembered;
use crate::rules::Allowed;
use crate::{Actor, OpenWorkspace, Policy, Preset, Rule, Rules, Verdict};

/// The toolset that reading and changing files counts as where no tool is called.
pub const FILES_TOOLSET: &str = "workspace";
/// What audit rows name instead of a toolset where no tool is called.
const DOORS: [&str; 2] = ["http", "mcp"];

/// One caller's way to one workspace.
#[derive(Clone)]
pub struct Session {
    open: Arc<OpenWorkspace>,
    caller: Caller,
    chat: SessionChat,
    /// The workspaces that its caller works in, where there are several.
    roots: Roots,
}

/// Who calls, and what every call of theirs keeps to.
#[derive(Clone)]
struct Caller {
    actor: Actor,
    policy: Policy,
    /// The toolsets that they may use, if not all of them.
    toolsets: Option<Arc<[String]>>,
    /// The only folders whose contents may be touched, if any are named.
    folders: Option<Arc<[WsPath]>>,
    client: Client,
}

/// What is special about the program through which the calls come.
#[derive(Clone, Copy, Default)]
struct Client {
    /// It may read paths of the host (R13).
    shows_host_paths: bool,
    /// Its calls that only look are not recorded.
    records_only_changes: bool,
    /// It cannot reach a person: what would ask is refused.
    has_no_person: bool,
    /// Its process ends with the call, and so does whatever the call leaves running.
    is_for_one_call: bool,
}

/// The chat that the calls of a session belong to. Without one it is the default chat of the actor (R14).
#[derive(Clone, Default)]
struct SessionChat {
    named: Option<ChatId>,
    /// The chat of its connection, where no other was named.
    of_connection: Option<Arc<ConnectionChat>>,
    /// The session may speak in the named chat only.
    is_bound: bool,
}

impl Session {
    /// A session of `actor` under `policy`, in the actor's default chat (R14).
    pub fn new(open: Arc<OpenWorkspace>, actor: Actor, policy: Policy) -> Self {
        let client = Client::default();
        let caller = Caller { actor, policy, toolsets: None, folders: None, client };
        Self { open, caller, chat: SessionChat::default(), roots: Roots::default() }
    }

    /// The same session with something changed about it.
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut session = self.clone();
        change(&mut session);
        session
    }

    /// The same session, of whose calls the transcript keeps only those that may change something: for a client that
    /// reads a thousand files in a minute.
    #[must_use]
    pub fn recording_changes(&self) -> Self {
        self.with(|session| session.caller.client.records_only_changes = true)
    }

    /// The same session, for a caller that keeps to these folders: nothing else is read or changed. It
    /// narrows what the session could do, and never widens it.
    #[must_use]
    pub fn confined_to(&self, folders: Vec<WsPath>) -> Self {
        self.with(|session| session.caller.folders = Some(folders.into()))
    }

    /// The folders that the caller keeps to: the root, if it keeps to none.
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

    /// The same session, whose caller may use these toolsets and no other. What reads or changes files
    /// without any toolset counts as [`FILES_TOOLSET`].
    #[must_use]
    pub fn speaking(&self, toolsets: &[String]) -> Self {
        self.with(|session| session.caller.toolsets = Some(toolsets.into()))
    }

    /// The same session where nobody can be asked: whatever would ask is refused at once.
    #[must_use]
    pub fn without_person(&self) -> Self {
        self.with(|session| session.caller.client.has_no_person = true)
    }

    /// Whether there is nobody to ask.
    pub(crate) fn has_no_person(&self) -> bool {
        self.caller.client.has_no_person
    }

    /// The same session in a process that ends with the call: terminals end with it.
    #[must_use]
    pub fn for_one_call(&self) -> Self {
        self.with(|session| session.caller.client.is_for_one_call = true)
    }

    /// Whether what a call leaves running ends with the call.
    pub fn is_for_one_call(&self) -> bool {
        self.caller.client.is_for_one_call
    }

    /// The same session in one chat: its mode holds, and calls are recorded in its transcript.
    pub fn in_chat(&self, chat: ChatId) -> Result<Self> {
        self.check_bound(Some(chat))?;
        self.check_shares(&self.chats().get(chat)?)?;
        Ok(self.beside(chat))
    }

    /// The same session in a chat of which it is known that there is one.
    pub(crate) fn beside(&self, chat: ChatId) -> Self {
        self.with(|session| session.chat.named = Some(chat))
    }

    /// The same session in the chat of its connection, which is made with the first thing that belongs to it.
    #[must_use]
    pub fn in_connection_chat(&self, chat: Arc<ConnectionChat>) -> Self {
        self.with(|session| {
            session.chat.named = None;
            session.chat.of_connection = Some(chat);
        })
    }

    /// The same session in one chat, which it cannot leave.
    pub(crate) fn bound_to(&self, chat: ChatId) -> Result<Self> {
        Ok(self.in_chat(chat)?.with(|session| session.chat.is_bound = true))
    }

    /// The session of another actor in one chat of this workspace, whose paths mean what they meant to that actor.
    pub(crate) fn on_behalf_of(
        &self,
        actor: Actor,
        policy: Policy,
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

    /// A session of another actor in one chat of this workspace, with nothing that is special about this one.
    pub(crate) fn of_another(&self, actor: Actor, policy: Policy, chat: ChatId) -> Self {
        Self::new(Arc::clone(&self.open), actor, policy).beside(chat)
    }

    /// A fault if this session would speak outside of the chat that it is bound to.
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
    pub(crate) fn check_shares(&self, chat: &Chat) -> Result<()> {
        let maker = Actor::from_name(&chat.made_by).filter(|maker| !maker.is_person());
        if self.actor().is_person() || maker.is_none_or(|maker| maker == self.actor()) {
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
        let meant = if DOORS.contains(&toolset) { FILES_TOOLSET } else { toolset };
        if own.iter().any(|own| own == meant) {
            return Ok(());
        }
        let message = format!(
            "this caller may use the toolset {} and no other: call a tool of it. {meant} is not among them",
            own.join(", ")
        );
        Err(Fault::new(FaultCode::Denied, message))
    }

    /// Who is calling.
    pub fn actor(&self) -> Actor {
        self.caller.actor
    }

    /// What the caller's door and role let it do.
    pub(crate) fn policy(&self) -> Policy {
        self.caller.policy
    }

    /// The chat that was named for this session's calls, or that of its connection; else they belong to the
    /// actor's default one.
    pub fn chat(&self) -> Option<ChatId> {
        self.chat.named.or_else(|| self.chat.of_connection.as_ref()?.made())
    }

    /// Whether its calls belong to a chat that nothing was done in yet.
    pub fn awaits_chat(&self) -> bool {
        self.chat.of_connection.is_some() && self.chat().is_none()
    }

    /// The chat that this session's calls belong to (R14), if it was needed yet.
    pub fn current_chat(&self) -> Result<Option<Chat>> {
        let desk = &self.open.desk;
        let chat = match self.chat() {
            Some(id) => desk.chat(id),
            None if self.chat.of_connection.is_some() => return Ok(None),
            None => desk.default_chat(&self.actor().name()),
        };
        chat.map_err(store_fault)
    }

    /// What may change in this session's chat.
    pub fn mode(&self) -> Result<Mode> {
        Ok(self.current_chat()?.map_or(Mode::Build, |chat| chat.mode))
    }

    pub(crate) fn open(&self) -> &Arc<OpenWorkspace> {
        &self.open
    }

    /// Whether both are sessions in the same open workspace.
    pub(crate) fn shares_workspace(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.open, &other.open)
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

    /// What crashes left behind that could not be put right, for a person to look at.
    pub fn leftovers(&self) -> Result<Vec<Leftover>> {
        self.open.workspace.leftovers()
    }

    /// The preset that the workspace's policy names, or else the one of this caller's door.
    pub(crate) fn preset_of(&self, rules: &Rules) -> Preset {
        rules.preset.unwrap_or_else(|| self.policy().preset())
    }

    /// What persons allowed in this session's chat.
    pub(crate) fn allowed_in_chat(&self) -> Result<Allowed> {
        let Some(chat) = self.current_chat()? else { return Ok(Allowed::default()) };
        let grants = self.open.desk.grants(Some(chat.id)).map_err(store_fault)?;
        let mut allowed = Allowed::default();
        for grant in grants.iter().filter(|grant| grant.chat.is_some()) {
            // A grant that cannot be read allows nothing: that is the safe side.
            let value = serde_json::from_str(&grant.rule).unwrap_or_default();
            match remembered(&value) {
                Some(before) => allowed.before.0.extend(before),
                None => allowed.rules.extend(Rule::parse(&value)),
            }
        }
        Ok(allowed)
    }

    /// Denies what lies outside of the folders that the caller keeps to.
    pub(crate) fn judge_folders(&self, effect: &Effect) -> Verdict {
        let Some(folders) = &self.caller.folders else { return Verdict::Allow };
        let is_inside = |one: &PathEffect| {
            // A command sees all of the workspace, wherever it starts.
            let least = if one.kind == EffectKind::Run { &WsPath::root() } else { &one.path };
            folders.iter().any(|folder| least.is_within(folder))
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

    /// A fault if this session may not write into chats and questions.
    pub(crate) fn check_desk_write(&self, call: &Call, action: &str) -> Result<()> {
        match self.policy().judge_desk_write() {
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
        let (at, actor) = (call.world().now(), self.actor().name());
        AuditEntry { at, actor, action: action.to_owned(), detail }
    }

    /// Whether a call of this session is recorded: in a chat that was named, by a caller that may write in it.
    pub fn records_call(&self, only_looks: bool) -> bool {
        let is_kept = !(only_looks && self.caller.client.records_only_changes);
        let is_in_chat = self.chat.named.is_some() || self.chat.of_connection.is_some();
        is_in_chat && is_kept && self.policy().judge_desk_write() == Verdict::Allow
    }
}
