//! Chats over HTTP: an agent's runs, their modes and their transcripts (W18).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yard_core::ChatId;
use yard_gate::{Chat, MessageRole, Mode, Turn};

use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::word::Word;

/// A new chat.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewChat {
    /// What people call it, up to 200 characters.
    title: String,
    /// `build` unless said otherwise; an agent's is always `plan`.
    mode: Option<Word<Mode>>,
}

/// What is to be different about a chat.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ChangedChat {
    /// Only a person opens `build`.
    mode: Option<Word<Mode>>,
    /// What people call it from now on, up to 200 characters. Only a person sets it; the path of its transcript
    /// stays.
    title: Option<String>,
}

/// A new message.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewMessage {
    /// Who speaks.
    role: Word<MessageRole>,
    /// The words, up to 256 KiB.
    content: String,
}

/// A chat.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChatRow {
    id: String,
    title: String,
    /// Where its transcript can be read, like any file.
    path: String,
    /// `plan` or `build`.
    mode: &'static str,
    /// Who made it, as `person:ID` or `key:ID`.
    made_by: String,
    created_at: String,
    updated_at: String,
    /// Bytes of its transcript.
    size: u64,
}

impl From<&Chat> for ChatRow {
    fn from(chat: &Chat) -> Self {
        Self {
            id: chat.id.to_string(),
            title: chat.title.clone(),
            path: format!("/chats/{}", chat.name),
            mode: chat.mode.word(),
            made_by: chat.made_by.clone(),
            created_at: chat.created_at.to_string(),
            updated_at: chat.updated_at.to_string(),
            size: chat.bytes,
        }
    }
}

/// A chat, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneChat {
    chat: ChatRow,
}

/// Chats, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChatList {
    chats: Vec<ChatRow>,
    /// Older ones remain: send this as `cursor`.
    next: Option<String>,
}

/// One turn of a chat.
#[derive(Serialize, JsonSchema)]
pub(super) struct Message {
    /// Its number: turns are read in this order.
    number: u64,
    at: String,
    /// Who, as `person:ID` or `key:ID`.
    actor: String,
    /// `message`, `tool_call`, `mode`, `question`, `answer`, `approval` or `decision`.
    kind: &'static str,
    /// What it holds, by its kind: a message has `role` and `content`.
    data: Value,
}

impl From<&Turn> for Message {
    fn from(turn: &Turn) -> Self {
        Self {
            number: turn.number,
            at: turn.at.to_string(),
            actor: turn.actor.clone(),
            kind: turn.kind.word(),
            data: serde_json::from_str(&turn.data).unwrap_or(Value::Null),
        }
    }
}

/// A chat with its turns, oldest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct Transcript {
    chat: ChatRow,
    messages: Vec<Message>,
    /// Newer ones remain: send this as `cursor`.
    next: Option<String>,
}

/// A message that was posted.
#[derive(Serialize, JsonSchema)]
pub(super) struct Posted {
    message: PostedMessage,
}

impl Posted {
    pub(super) fn new(chat: ChatId, number: u64) -> Self {
        Self { message: PostedMessage { chat_id: chat.to_string(), number } }
    }
}

/// Where it stands.
#[derive(Serialize, JsonSchema)]
pub(super) struct PostedMessage {
    chat_id: String,
    number: u64,
}

/// A chat's id as a member of a query or a body.
pub(super) fn id(text: &str) -> Result<ChatId, Problem> {
    text.parse().map_err(|_| Problem::invalid("chat_id", "expected a chat's id"))
}

/// The chat that the path names.
fn chat_of(request: &HttpRequest) -> Result<ChatId, Problem> {
    request.id("chat_id", "chat")
}

pub(super) fn create(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewChat { title, mode } = request.json()?;
    let mode = mode.map(|Word(mode)| mode);
    let chat = request.session()?.chats().make(&request.call, &title, mode)?;
    Reply::created(&OneChat { chat: ChatRow::from(&chat) })
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let session = request.session()?;
    let page = session.chats().list(paging.cursor()?, paging.limit()?)?;
    let next = page.rows.last().filter(|_| page.truncated).map(|chat| chat.id.to_string());
    Reply::ok(&ChatList { chats: page.rows.iter().map(ChatRow::from).collect(), next })
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let (session, id) = (request.session()?, chat_of(request)?);
    let chat = session.chats().get(id)?;
    let after = paging.cursor::<u64>()?.unwrap_or(0);
    let page = session.chats().turns(&request.call, id, None, after, paging.limit()?)?;
    let next = page.rows.last().filter(|_| page.truncated).map(|turn| turn.number.to_string());
    let messages = page.rows.iter().map(Message::from).collect();
    Reply::ok(&Transcript { chat: ChatRow::from(&chat), messages, next })
}

pub(super) fn change(request: &HttpRequest) -> Result<Reply, Problem> {
    let ChangedChat { mode, title } = request.json()?;
    if mode.is_none() && title.is_none() {
        return Err(Problem::invalid("mode", "missing; expected `mode`, `title` or both"));
    }
    let (session, id) = (request.session()?, chat_of(request)?);
    if let Some(title) = title {
        session.chats().rename(&request.call, id, &title)?;
    }
    if let Some(Word(mode)) = mode {
        session.chats().set_mode(&request.call, id, mode)?;
    }
    Reply::ok(&OneChat { chat: ChatRow::from(&session.chats().get(id)?) })
}

pub(super) fn remove(request: &HttpRequest) -> Result<Reply, Problem> {
    request.session()?.chats().remove(&request.call, chat_of(request)?)?;
    Ok(Reply::empty())
}

pub(super) fn post(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewMessage { role: Word(role), content } = request.json()?;
    let id = chat_of(request)?;
    let number = request.session()?.chats().post(&request.call, id, role, &content)?;
    Reply::created(&Posted::new(id, number))
}
