//! A session: the caller with its policy, its chat, and the workspaces that it works in. A session does nothing to files
//! by itself: each call is one `Attempt` of its session.
//!
//! What the caller may not do is in `caller.rs`, which chat its calls belong to in `chat_of_calls.rs`, the workspaces in
//! `roots.rs`, and what the rules withhold from it in `reading.rs`. The other modules are what a caller reads and sets without
//! a tool: chats, events, display names, the policy, and the marks of a person on files, requests and questions.

mod caller;
mod chat_of_calls;
mod chats;
mod display_names;
pub(crate) mod events;
mod later;
pub(crate) mod policy_settings;
mod reading;
mod roots;
mod seen;

use std::sync::Arc;

use yard_core::{Call, ChatId, Fault, FaultCode, KeyId, Limits, Result};
use yard_disk::StateUsage;
use yard_kernel::{Leftover, Upload};
use yard_store::{AuditEntry, StoredCounts};

pub use self::caller::FILES_TOOLSET;
use self::caller::{Caller, Client};
use self::chat_of_calls::SessionChat;
pub(crate) use self::chats::deleted_chat;
pub use self::chats::{Chats, ConnectionChat, MESSAGE_BYTES, MessageRole};
pub(crate) use self::reading::ANY_TOOL;
use self::roots::Roots;
pub use self::roots::{Mount, NamedRoot, is_at_or_below};
use crate::{Actor, CallerPolicy, OpenWorkspace, Preset, Verdict, WorkspacePolicy};

/// One caller in one workspace.
#[derive(Clone)]
pub struct Session {
    open: Arc<OpenWorkspace>,
    caller: Caller,
    chat: SessionChat,
    /// The workspaces that its caller works in, where there are several.
    roots: Roots,
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

    /// The actor of its caller.
    pub fn actor(&self) -> Actor {
        self.caller.actor
    }

    /// The policy of the caller's door and role.
    pub(crate) fn policy(&self) -> CallerPolicy {
        self.caller.policy
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
