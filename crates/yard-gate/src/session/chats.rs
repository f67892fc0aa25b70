//! Chats: making, listing, reading, posting messages, and switching the mode.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use yard_core::{ApprovalId, Call, ChatId, Fault, FaultCode, Result};
use yard_store::{
    ApprovalFilter, ApprovalStatus, Chat, Mode, NewChat, QuestionFilter, Turn, TurnKind,
};

use super::Session;
use crate::transcript::visibility::visible_turn;
use crate::{Asks, ListPage, MAX_ROWS, Origin, transcript};

/// The longest title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// The longest message, in bytes.
pub const MESSAGE_BYTES: usize = 256 << 10;

yard_core::spelled_enum! {
    /// The author of a message, as models know it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MessageRole {
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// The operator of the model.
        System = "system",
        /// A tool.
        Tool = "tool",
    }
}

/// The chat of one connection (R14). A person's session makes it with the first change, command, approval or question of
/// the connection. A connection that only reads makes none.
pub struct ConnectionChat {
    maker: Session,
    title: String,
    made: Mutex<MadeChat>,
}

/// What is known of the chat of a connection.
#[derive(Default)]
struct MadeChat {
    /// The chat, unless it is not made yet or was deleted.
    id: Option<ChatId>,
    /// Its mode as it was last read. A chat that was deleted is made again in this mode.
    mode: Option<Mode>,
}

impl ConnectionChat {
    /// A chat with a title, which `maker` makes when it is needed.
    pub fn new(maker: Session, title: String) -> Arc<Self> {
        Arc::new(Self { maker, title, made: Mutex::default() })
    }

    /// The chat, if it is made.
    pub fn made(&self) -> Option<ChatId> {
        self.made.lock().id
    }

    /// The mode in which the chat is made when it is needed, if that is known.
    pub(super) fn mode_of_next(&self) -> Option<Mode> {
        self.made.lock().mode
    }

    /// The chat as it is now, if it is made and was not deleted.
    pub(super) fn read(&self) -> Result<Option<Chat>> {
        self.read_again(&mut self.made.lock())
    }

    fn read_again(&self, made: &mut MadeChat) -> Result<Option<Chat>> {
        let Some(id) = made.id else { return Ok(None) };
        let chat = self.maker.open().records.chat(id)?;
        match &chat {
            Some(chat) => made.mode = Some(chat.mode),
            None => made.id = None,
        }
        Ok(chat)
    }

    fn make(&self, call: &Call) -> Result<Chat> {
        // Concurrent calls of a connection make one chat: the lock is held while it is made.
        let mut made = self.made.lock();
        if let Some(chat) = self.read_again(&mut made)? {
            return Ok(chat);
        }
        let chat = self.maker.chats().make(call, &self.title, made.mode)?;
        *made = MadeChat { id: Some(chat.id), mode: Some(chat.mode) };
        Ok(chat)
    }
}

/// The chats of a workspace, as one session sees them.
pub struct Chats<'a>(&'a Session);

impl Chats<'_> {
    /// Makes a chat. The chat of a person begins in build mode unless `mode` says otherwise, that of an agent always in
    /// plan mode.
    pub fn make(&self, call: &Call, title: &str, mode: Option<Mode>) -> Result<Chat> {
        let session = self.0;
        session.check_record_write(call, "make chat")?;
        session.check_bound(None)?;
        let title = checked_title(title)?;
        let is_person = session.actor().is_person();
        if !is_person && mode == Some(Mode::Build) {
            return session.refuse(call, "make chat", title, &session.build_mode_refusal());
        }
        let default_mode = if is_person { Mode::Build } else { Mode::Plan };
        session.make_chat(call, title, mode.unwrap_or(default_mode), None)
    }

    /// A chat.
    pub fn get(&self, id: ChatId) -> Result<Chat> {
        let chat = self.0.open().records.chat(id)?;
        chat.ok_or_else(|| no_chat(id))
    }

    /// Chats that were made before `before`, newest first.
    pub fn list(&self, before: Option<ChatId>, limit: usize) -> Result<ListPage<Chat>> {
        if let Some(id) = before {
            self.get(id)?;
        }
        ListPage::read(limit, |count| self.0.open().records.chats(before, count))
    }

    /// Adds a message. Returns its number among the turns.
    pub fn post(&self, call: &Call, id: ChatId, role: MessageRole, content: &str) -> Result<u64> {
        let session = self.0;
        session.check_record_write(call, "post")?;
        session.check_bound(Some(id))?;
        if !session.actor().is_person() && matches!(role, MessageRole::User | MessageRole::System) {
            return session.refuse(call, "post", role.word(), AGENT_ROLES_ONLY);
        }
        if content.is_empty() || content.len() > MESSAGE_BYTES {
            let message =
                format!("a message has 1 to {MESSAGE_BYTES} bytes, this one has {}", content.len());
            return Err(Fault::new(FaultCode::BadArgument, message));
        }
        session.check_may_use(&self.get(id)?)?;
        let name = session.actor().name();
        let turn = transcript::message(call.world().now(), name, role.word(), content);
        let turn = session.with_about(CHATS, call, turn, None);
        let number = session.open().records.post(id, &turn)?;
        session.open().changes.notify();
        Ok(number)
    }

    /// Turns after number `after`, oldest first, of one kind if it is given.
    pub fn turns(
        &self,
        call: &Call,
        id: ChatId,
        kind: Option<TurnKind>,
        after: u64,
        limit: usize,
    ) -> Result<ListPage<Turn>> {
        self.get(id)?;
        let call = self.0.restricted_call(CHATS, call)?;
        let page =
            ListPage::read(limit, |count| self.0.open().records.turns(id, kind, after, count))?;
        page.try_map(|turn| Ok(visible_turn(call.reading(), turn)))
    }

    /// Changes the title of a chat, which only a person may. The name of its transcript stays.
    pub fn rename(&self, call: &Call, id: ChatId, title: &str) -> Result<Chat> {
        let session = self.0;
        session.check_record_write(call, "rename chat")?;
        let title = checked_title(title)?;
        let chat = self.get(id)?;
        if !session.actor().is_person() {
            return session.refuse(call, "rename chat", title, PEOPLE_ONLY);
        }
        if chat.title == title {
            return Ok(chat);
        }
        let audit = session.audit_entry(call, "rename chat", format!("chat {id}"));
        let Chat { made_by, mode, created_at, .. } = &chat;
        let header = transcript::header(id, title, made_by, *mode, *created_at);
        session.open().records.rename_chat(id, title, &header, &audit)?;
        session.open().changes.notify();
        self.get(id)
    }

    /// Removes a chat with its transcript, questions, approvals and grants, and ends its terminals. Only a person may.
    /// The steps of the chat stay in the history.
    pub fn remove(&self, call: &Call, id: ChatId) -> Result<()> {
        let session = self.0;
        session.check_record_write(call, "remove chat")?;
        self.get(id)?;
        if !session.actor().is_person() {
            return session.refuse(call, "remove chat", &id.to_string(), PEOPLE_ONLY);
        }
        if let Some(request) = self.requests(id, ApprovalStatus::Pending, 1)?.first() {
            let message = format!(
                "the request {request} of this chat waits for a decision: decide it before the chat is deleted"
            );
            return Err(Fault::new(FaultCode::Exists, message));
        }
        let filter = QuestionFilter { answered: Some(false), asked_by: None, chat: Some(id) };
        let waiting = session.open().records.questions(&filter, None, 1)?;
        if let Some(question) = waiting.first() {
            let message = format!(
                "the question {} of this chat waits for an answer: answer it before the chat is deleted",
                question.id
            );
            return Err(Fault::new(FaultCode::Exists, message));
        }
        // With the chat, the person takes back what they allowed and no process has begun.
        for request in self.requests(id, ApprovalStatus::Approved, MAX_ROWS)? {
            session.approvals().take_back(call, request)?;
        }
        session.open().stop_terminals_of(id);
        let audit = session.audit_entry(call, "remove chat", format!("chat {id}"));
        session.open().records.remove_chat(id, &audit)?;
        session.open().changes.notify();
        Ok(())
    }

    /// The ids of requests of a chat with a status.
    fn requests(
        &self,
        chat: ChatId,
        status: ApprovalStatus,
        limit: usize,
    ) -> Result<Vec<ApprovalId>> {
        let (status, chat) = (Some(status), Some(chat));
        let filter = ApprovalFilter { status, chat, ..ApprovalFilter::default() };
        Ok(self.0.open().records.approval_ids(&filter, None, limit)?)
    }

    /// Sets a chat's mode. Only a person opens build mode; an agent leaves plan mode with an accepted plan.
    pub fn set_mode(&self, call: &Call, id: ChatId, mode: Mode) -> Result<Chat> {
        let session = self.0;
        session.check_record_write(call, "set mode")?;
        session.check_bound(Some(id))?;
        let chat = self.get(id)?;
        session.check_may_use(&chat)?;
        if chat.mode == mode {
            return Ok(chat);
        }
        let detail = format!("{} of chat {id}", mode.word());
        if mode == Mode::Build && !session.actor().is_person() {
            return session.refuse(call, "set mode", &detail, &session.build_mode_refusal());
        }
        let audit = session.audit_entry(call, "set mode", detail);
        let turn =
            transcript::mode(audit.at, session.actor().name(), mode, "Set by hand.", &Value::Null);
        session.open().records.set_mode(id, mode, &turn, &audit)?;
        session.open().changes.notify();
        if mode == Mode::Plan {
            // Nothing could hold back what they write in place.
            session.open().stop_writers_of(id);
        }
        self.get(id)
    }
}

/// The origin of the chats API, for rules that name tools.
const CHATS: Origin<'static> = Origin { toolset: "workspace", tool: "chats", asks: Asks::Never };

const AGENT_ROLES_ONLY: &str = "an agent's messages are those of `assistant` or `tool`: only a person speaks as \
    `user` or `system`";

const PEOPLE_ONLY: &str = "only a person renames or deletes a chat";

fn checked_title(title: &str) -> Result<&str> {
    let title = title.trim();
    match title.chars().count() {
        1..=MAX_TITLE_CHARS => Ok(title),
        count => Err(Fault::new(
            FaultCode::BadArgument,
            format!("a title has 1 to {MAX_TITLE_CHARS} characters, this one has {count}"),
        )),
    }
}

/// The fault if there is no such chat.
pub(crate) fn no_chat(id: ChatId) -> Fault {
    Fault::new(FaultCode::NotFound, format!("there is no chat {id} in this workspace"))
}

/// The fault of a call in a chat that was deleted.
pub(crate) fn deleted_chat(id: ChatId) -> Fault {
    let message =
        format!("chat {id} was deleted: name another chat, or leave the chat out, and call again");
    Fault::new(FaultCode::NotFound, message)
}

impl Session {
    /// The chats of the workspace.
    pub fn chats(&self) -> Chats<'_> {
        Chats(self)
    }

    /// The chat that this session's calls belong to; it is made if it does not exist.
    pub(crate) fn needed_chat(&self, call: &Call) -> Result<Chat> {
        if let Some(chat) = self.current_chat()? {
            return Ok(chat);
        }
        if let Some(chat) = &self.chat.of_connection {
            return chat.make(call);
        }
        let actor = self.actor().name();
        self.make_chat(call, &format!("Default of {actor}"), Mode::Build, Some(actor))
    }

    /// The refusal of an agent that opens build mode.
    fn build_mode_refusal(&self) -> String {
        let opening = self.open().hints.opening_build_mode;
        format!(
            "an agent cannot open build mode: work in plan mode, ask a person to accept the plan{opening}"
        )
    }

    fn make_chat(
        &self,
        call: &Call,
        title: &str,
        mode: Mode,
        default_of: Option<String>,
    ) -> Result<Chat> {
        let id = ChatId::new(call.world());
        let audit = self.audit_entry(call, "make chat", format!("{} chat {id}", mode.word()));
        let chat = NewChat {
            id,
            title: title.to_owned(),
            mode,
            made_by: audit.actor.clone(),
            default_of,
            at: audit.at,
            header: transcript::header(id, title, &audit.actor, mode, audit.at),
        };
        let made = self.open().records.make_chat(&chat, &audit)?;
        self.open().changes.notify();
        Ok(made)
    }
}
