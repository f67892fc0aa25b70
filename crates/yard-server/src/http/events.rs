//! The event stream (SSE) of a workspace, from any event's number on. Events are read from the store at the
//! reader's own pace, so a slow reader never slows a writer. A reader that is too far behind gets an event that
//! says how many events it missed and where to read them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use yard_core::{ApprovalId, ChatId, QuestionId};
use yard_gate::{
    ApprovalStatus, ChangeSubscription, Event, EventRow, MAX_EVENTS, Session, StepEvent,
};

use super::cancel::CancelOnDrop;
use super::event_stream::{self, EventSource, RETRY};
use super::outcome::Outcome;
use super::problem::Problem;
use super::request::HttpRequest;
use super::stream::Body;
use crate::pool::WorkKind;

/// How many events a reader may be behind. A slower one gets one event that says so.
const MAX_BEHIND: u64 = 10_000;

/// Where to begin.
#[derive(Deserialize, JsonSchema)]
pub(super) struct EventsQuery {
    /// Events after this number; without it (and without the header Last-Event-ID), from now on.
    after: Option<u64>,
}

/// Begins a stream.
pub(super) fn open(request: &HttpRequest) -> Result<Outcome, Problem> {
    let EventsQuery { after } = request.query()?;
    let header = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
    let header = header.map(|id| id.trim().parse::<u64>()).transpose();
    let header =
        header.map_err(|_| Problem::invalid("Last-Event-ID", "expected an event's number"))?;
    let session = request.session()?;
    if let Err(fault) = session.watch(&request.call) {
        // Steps and questions still become events.
        tracing::warn!(fault = fault.message(), "what others change on disk is not watched");
    }
    let last = session.last_event()?;
    Ok(Outcome::Events(header.or(after).unwrap_or(last)))
}

/// The stream, from the event after `cursor` on.
pub(super) fn body(request: Arc<HttpRequest>, cursor: u64, stop: CancelOnDrop) -> Body {
    let notify = Arc::new(Notify::new());
    let (own, waker) = (Arc::clone(&request), Arc::clone(&notify));
    let source = WorkspaceEvents { request: own, notify: waker, cursor, open: None };
    event_stream::body(request, notify, source, stop)
}

/// The events of a workspace for one reader.
struct WorkspaceEvents {
    request: Arc<HttpRequest>,
    notify: Arc<Notify>,
    cursor: u64,
    /// `None` before the first look.
    open: Option<OpenStream>,
}

/// The caller's session and its listener, for as long as the stream is open.
struct OpenStream {
    session: Session,
    _subscription: ChangeSubscription,
}

impl OpenStream {
    fn new(request: &HttpRequest, notify: &Arc<Notify>) -> Option<Self> {
        let session = request.session().ok()?;
        let waker = Arc::clone(notify);
        // `notify_one` keeps a permit if no task waits, so that no notification is missed between two reads.
        let subscription = session.subscribe(Arc::new(move || waker.notify_one()));
        Some(Self { session, _subscription: subscription })
    }
}

impl EventSource for WorkspaceEvents {
    async fn read(&mut self) -> Option<String> {
        if self.open.is_none() {
            let (request, notify) = (Arc::clone(&self.request), Arc::clone(&self.notify));
            let (pools, workspace_key) = (&self.request.app.pools, self.request.workspace_key());
            let open = move || OpenStream::new(&request, &notify);
            self.open = Some(pools.run(&workspace_key, WorkKind::Look, open).await??);
            return Some(RETRY.to_owned());
        }
        let (text, cursor) = self.read_events().await?;
        self.cursor = cursor;
        Some(text)
    }
}

impl WorkspaceEvents {
    /// The events since the cursor, and the new cursor; `None` if the caller has lost access.
    async fn read_events(&self) -> Option<(String, u64)> {
        let session = self.open.as_ref()?.session.clone();
        let (request, cursor) = (Arc::clone(&self.request), self.cursor);
        let read_events = move || -> Result<(String, u64), Problem> {
            request.recheck_access()?;
            let last = session.last_event()?;
            if cursor > last || last - cursor > MAX_BEHIND {
                return Ok((lost_event(cursor, last), last));
            }
            if cursor == last {
                return Ok((String::new(), cursor));
            }
            let rows = session.events(&request.call, cursor, MAX_EVENTS)?;
            let after = rows.last().map_or(cursor, |row| row.number);
            Ok((rows.iter().map(|row| render_event(row, &session)).collect(), after))
        };
        let pools = &self.request.app.pools;
        pools.run(&self.request.workspace_key(), WorkKind::Look, read_events).await?.ok()
    }
}

/// One event in the format of SSE.
fn to_sse(number: u64, name: &str, data: &Value) -> String {
    format!("id: {number}\nevent: {name}\ndata: {data}\n\n")
}

/// The event for a reader that is too far behind, or ahead of a store that was restored from a backup.
fn lost_event(cursor: u64, last: u64) -> String {
    let data = json!({
        "after": cursor,
        "to": last,
        "message": "events were lost: read GET .../steps, .../questions and .../approvals, the stream goes on from here",
    });
    to_sse(last, "lost", &data)
}

fn render_event(row: &EventRow, session: &Session) -> String {
    let (name, mut data) = name_and_data(&row.what);
    // Only callers that may read the question see it; an agent may read its own.
    if let Event::Asked { question, .. } = &row.what
        && let Ok(question) = session.questions().get(*question)
    {
        data["asked_by"] = question.asked_by.clone().into();
        let items = question.form.questions().iter();
        data["questions"] = items.filter_map(|item| serde_json::to_value(item).ok()).collect();
    }
    data["at"] = row.at.to_string().into();
    to_sse(row.number, name, &data)
}

/// The name of an event and what it says.
pub(super) fn name_and_data(event: &Event) -> (&'static str, Value) {
    let of_chat = |chat: &ChatId| json!({"chat_id": chat.to_string()});
    let question = |chat: &ChatId, question: &QuestionId| json!({"chat_id": chat.to_string(), "question_id": question.to_string()});
    match event {
        Event::Step(step) => ("step", step_data(step)),
        Event::Asked { chat, question: id } => ("question.asked", question(chat, id)),
        Event::Answered { chat, question: id } => ("question.answered", question(chat, id)),
        Event::Requested { chat, approval: id } => ("approval.requested", approval(chat, id)),
        Event::Decided { chat, approval: id, status } => {
            ("approval.decided", with_status(approval(chat, id), *status))
        }
        Event::Concluded { chat, approval: id, status } => {
            ("approval.concluded", with_status(approval(chat, id), *status))
        }
        Event::ModeChanged { chat, mode } => {
            ("chat.mode", json!({"chat_id": chat.to_string(), "mode": mode.word()}))
        }
        Event::ChatMade { chat } => ("chat.created", of_chat(chat)),
        Event::ChatRenamed { chat } => ("chat.renamed", of_chat(chat)),
        Event::ChatRemoved { chat } => ("chat.deleted", of_chat(chat)),
        Event::Posted { chat, turn } => {
            ("chat.message", json!({"chat_id": chat.to_string(), "number": turn}))
        }
        Event::Terminal { chat, run, name, state } => (
            "terminal",
            json!({
                "chat_id": chat.to_string(),
                "terminal_id": run.to_string(),
                "session_id": name,
                "state": state.word(),
                "exit_code": state.exit_code(),
            }),
        ),
        Event::ChangedOutside { paths } => {
            let shown: Vec<String> = paths.iter().map(ToString::to_string).collect();
            // Without paths, more files changed than were counted.
            let data = json!({"source": "external", "paths": shown, "more": paths.is_empty()});
            ("files.changed", data)
        }
    }
}

fn approval(chat: &ChatId, id: &ApprovalId) -> Value {
    json!({"chat_id": chat.to_string(), "approval_id": id.to_string()})
}

fn with_status(mut approval: Value, status: ApprovalStatus) -> Value {
    approval["status"] = status.word().into();
    approval
}

fn step_data(step: &StepEvent) -> Value {
    let changes = step.changes.iter().map(|change| {
        json!({
            "file_id": change.file.to_string(),
            "path": change.path.to_string(),
            "summary": change.summary.word(),
        })
    });
    json!({
        "step_id": step.id.to_string(),
        "author": step.author.word(),
        "actor": step.actor,
        "verb": step.verb,
        "undoes": step.undoes.map(|undone| undone.to_string()),
        "files": step.files,
        "changes": changes.collect::<Vec<_>>(),
    })
}
