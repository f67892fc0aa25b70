//! Transcripts of chats: the text of each turn, and the transcripts as files (W18). The text is made when the turn is
//! recorded; reading a transcript renders nothing.

pub(crate) mod redaction;
pub(crate) mod sent_comments;
pub(crate) mod visibility;

use std::sync::Arc;

use serde_json::{Value, json};
use yard_core::{ApprovalId, Call, ChatId, FileId, Name, ReadAccess, Result, Timestamp, WsPath};
use yard_kernel::{VirtualFile, VirtualFiles};
use yard_store::{
    Approval, ApprovalRequest, Chat, Decision, Mode, NewTurn, TurnKind, Via, WorkspaceRecords,
};

use crate::question_form::{Choice, QuestionForm};
use crate::transcript::visibility::visible_turn;

/// How many chats or turns are read in one query.
const PAGE: usize = 500;

/// The path of a chat's transcript.
pub fn transcript_path(chat: &Chat) -> Option<WsPath> {
    WsPath::from_bytes(&[b"chats/", chat.name.as_bytes()].concat()).ok()
}

/// The header of a transcript.
pub(crate) fn header(id: ChatId, title: &str, actor: &str, mode: Mode, at: Timestamp) -> String {
    let title = title.replace(char::is_control, " ");
    format!("# {title}\n\nChat {id}, made {at} by {actor} in {} mode.\n", mode.word())
}

/// The turn of a message.
pub(crate) fn message(at: Timestamp, actor: String, role: &str, content: &str) -> NewTurn {
    let text = format!("\n## {role} ({actor}, {at})\n\n{content}\n");
    let data = json!({"role": role, "content": content}).to_string();
    NewTurn { at, actor, kind: TurnKind::Message, data, text }
}

/// A call of a tool, for its turn.
pub(crate) struct ToolCall<'a> {
    /// `toolset.tool`.
    pub(crate) tool: String,
    /// The arguments.
    pub(crate) args: &'a Value,
    /// Whether it succeeded.
    pub(crate) ok: bool,
    /// The answer.
    pub(crate) answer: &'a Value,
    /// Members whose values the transcript does not have.
    pub(crate) secret: &'a [&'a str],
}

/// The turn of a tool call, bounded and redacted.
pub(crate) fn tool_call(at: Timestamp, actor: String, call: &ToolCall<'_>) -> NewTurn {
    let ToolCall { tool, ok, secret, .. } = call;
    let (args, answer) =
        (redaction::redacted(call.args, secret), redaction::redacted(call.answer, secret));
    let outcome = if *ok { "answered" } else { "failed" };
    let text = format!("\n## {tool} ({actor}, {at})\n\n{args}\n\n{outcome}:\n\n{answer}\n");
    let data = json!({"tool": tool, "args": args, "ok": ok, "answer": answer}).to_string();
    NewTurn { at, actor, kind: TurnKind::Call, data, text }
}

/// The turn of a change of the mode.
pub(crate) fn mode(at: Timestamp, actor: String, mode: Mode, why: &str, notes: &Value) -> NewTurn {
    let (word, notes) = (mode.word(), redaction::redacted(notes, &[]));
    let mut text = format!("\n## {word} mode ({actor}, {at})\n\n{why}\n");
    if !notes.is_null() {
        text.push_str(&format!("{notes}\n"));
    }
    let data = json!({"mode": word, "reason": why, "notes": notes}).to_string();
    NewTurn { at, actor, kind: TurnKind::Mode, data, text }
}

/// The turn of a question.
pub(crate) fn question(at: Timestamp, actor: String, id: &str, form: &QuestionForm) -> NewTurn {
    let mut text = format!("\n## question {id} ({actor}, {at})\n\n");
    for item in form.questions() {
        let choices: Vec<String> = item.choices().iter().map(Choice::to_string).collect();
        let choices =
            if choices.is_empty() { String::new() } else { format!(" [{}]", choices.join(", ")) };
        text.push_str(&format!("{}: {}{choices}\n", item.name, item.question));
    }
    let data = json!({"question_id": id, "questions": form}).to_string();
    NewTurn { at, actor, kind: TurnKind::Question, data, text }
}

/// The turn of an answer.
pub(crate) fn answer(at: Timestamp, actor: String, id: &str, answers: &Value, via: Via) -> NewTurn {
    let answers = redaction::redacted(answers, &[]);
    let text = format!("\n## answer to {id} by {} ({actor}, {at})\n\n{answers}\n", via.word());
    let data = json!({"question_id": id, "answers": answers, "via": via.word()}).to_string();
    NewTurn { at, actor, kind: TurnKind::Answer, data, text }
}

/// The turn of a request for approval.
pub(crate) fn request(
    at: Timestamp,
    actor: String,
    id: ApprovalId,
    request: &ApprovalRequest,
    secret: &[&str],
) -> NewTurn {
    let ApprovalRequest { toolset, tool, reason, .. } = request;
    let args: Value = serde_json::from_str(&request.args).unwrap_or_default();
    let args = redaction::redacted(&args, secret);
    let text = format!(
        "\n## approval {id} asked for {toolset}.{tool} ({actor}, {at})\n\n{reason}\n\n{args}\n"
    );
    let data = json!({
        "approval_id": id.to_string(),
        "tool": format!("{toolset}.{tool}"),
        "args": args,
        "reason": reason,
    });
    NewTurn { at, actor, kind: TurnKind::Request, data: data.to_string(), text }
}

/// The turn of a decision.
pub(crate) fn decision(approval: &Approval, decision: &Decision) -> NewTurn {
    let (id, at, actor) = (approval.id, decision.at, decision.by.clone());
    let word = if decision.approves { "approved" } else { "denied" };
    let (in_part, how_much) =
        (decision.parts.is_some(), if decision.parts.is_some() { " in part" } else { "" });
    let scope = decision.scope.word();
    let reason = decision.reason.as_deref().unwrap_or_default();
    let text =
        format!("\n## approval {id} {word}{how_much} ({scope}) ({actor}, {at})\n\n{reason}\n");
    let data = json!({
        "approval_id": id.to_string(),
        "decision": word,
        "in_part": in_part,
        "scope": scope,
        "reason": decision.reason,
    });
    NewTurn { at, actor, kind: TurnKind::Decision, data: data.to_string(), text }
}

/// The transcripts of all chats as files of `/chats`.
pub struct TranscriptFiles {
    records: Arc<dyn WorkspaceRecords>,
}

impl TranscriptFiles {
    /// The transcripts of the chats in these records.
    pub fn new(records: Arc<dyn WorkspaceRecords>) -> Arc<Self> {
        Arc::new(Self { records })
    }

    /// The transcript of a chat, without the turns that a caller may not read.
    fn text_for(&self, chat: ChatId, reading: &dyn ReadAccess) -> Result<Option<String>> {
        let Some(mut text) = self.records.transcript_header(chat)? else { return Ok(None) };
        let mut after = 0;
        loop {
            let page = self.records.turns(chat, None, after, PAGE)?;
            let is_last = page.len() < PAGE;
            after = page.last().map_or(after, |turn| turn.number);
            for turn in page {
                text.push_str(&visible_turn(Some(reading), turn).text);
            }
            if is_last {
                return Ok(Some(text));
            }
        }
    }
}

impl VirtualFiles for TranscriptFiles {
    fn list(&self) -> Result<Vec<VirtualFile>> {
        let mut files: Vec<VirtualFile> = Vec::new();
        let mut before = None;
        loop {
            let page = self.records.chats(before, PAGE)?;
            before = page.last().map(|chat| chat.id);
            let last = page.len() < PAGE;
            files.extend(page.into_iter().map(file));
            if last {
                return Ok(files);
            }
        }
    }

    fn newest(&self) -> Result<Option<VirtualFile>> {
        Ok(self.records.chats(None, 1)?.into_iter().map(file).next())
    }

    fn find(&self, name: &Name) -> Result<Option<VirtualFile>> {
        Ok(self.records.chat_named(name)?.map(file))
    }

    fn text(&self, name: &Name, call: &Call) -> Result<Option<Vec<u8>>> {
        let Some(chat) = self.records.chat_named(name)? else {
            return Ok(None);
        };
        let text = match call.reading() {
            None => self.records.transcript(chat.id)?,
            Some(reading) => self.text_for(chat.id, reading)?,
        };
        Ok(text.map(String::into_bytes))
    }
}

fn file(chat: Chat) -> VirtualFile {
    VirtualFile {
        id: FileId::from_bytes(*chat.id.as_bytes()),
        name: chat.name,
        size: chat.bytes,
        created_at: chat.created_at,
        updated_at: chat.updated_at,
    }
}
