//! The event stream (SSE): what happens in a workspace, told from any number on. Events are read from the
//! store at the reader's own pace, so a slow one never slows a writer; one that is hopelessly behind is
//! told what it lost and where to read it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::body::Frame;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use yard_core::{ApprovalId, ChatId};
use yard_gate::{
    ApprovalStatus, BellSubscription, Event, EventRow, MOST_EVENTS, Session, StepEvent,
};

use super::answer::StopWhenDropped;
use super::ask::Ask;
use super::problem::Problem;
use super::reply::{Content, Reply};
use super::stream::{Body, pieces};
use crate::pool::Work;

/// How often a quiet stream says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often the store is looked at although no bell rang: another process may have written.
const GLANCE: Duration = Duration::from_secs(1);
/// A reader that is further behind than this is told so instead.
const BEHIND: u64 = 10_000;

/// Where to begin.
#[derive(Deserialize, JsonSchema)]
pub(super) struct From {
    /// Events after this number; without it (and without the header Last-Event-ID), from now on.
    after: Option<u64>,
}

/// Begins a stream.
pub(super) fn open(ask: &Ask) -> Result<Reply, Problem> {
    let From { after } = ask.query()?;
    let header = ask.headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let header = header.map(|id| id.trim().parse::<u64>()).transpose();
    let header =
        header.map_err(|_| Problem::invalid("Last-Event-ID", "expected an event's number"))?;
    let session = ask.session()?;
    if let Err(fault) = session.watch(&ask.call) {
        // Steps and questions are told all the same.
        tracing::warn!(fault = fault.message(), "what others change on disk is not watched");
    }
    let last = session.last_event()?;
    let cursor = header.or(after).unwrap_or(last);
    Ok(Reply { status: 200, content: Content::Events(cursor), cookies: Vec::new() })
}

/// The stream, from the event after `cursor` on.
pub(super) fn body(ask: Arc<Ask>, cursor: u64, stop: StopWhenDropped) -> Body {
    let rung = Arc::new(Notify::new());
    let open = OpenStream::new(&ask, &rung);
    let reader =
        Reader { ask, rung, cursor, quiet: Duration::ZERO, greeted: false, open, _stop: stop };
    pieces(stream::unfold(reader, |mut reader| async move {
        let text = reader.next().await?;
        Some((Ok(Frame::data(Bytes::from(text))), reader))
    }))
}

/// One reader of the stream.
struct Reader {
    ask: Arc<Ask>,
    rung: Arc<Notify>,
    cursor: u64,
    /// How long nothing was said.
    quiet: Duration,
    greeted: bool,
    open: Option<OpenStream>,
    _stop: StopWhenDropped,
}

/// The caller's session and the ear at its bell, for as long as the stream is open.
struct OpenStream {
    session: Session,
    _listening: BellSubscription,
    _counted: Counted,
}

impl OpenStream {
    fn new(ask: &Arc<Ask>, rung: &Arc<Notify>) -> Option<Self> {
        let session = ask.session().ok()?;
        let ear = Arc::clone(rung);
        // A permit is kept where nobody waits yet, so that no ring is missed between two looks.
        let listening = session.listen(Arc::new(move || ear.notify_one()));
        Some(Self { session, _listening: listening, _counted: Counted::new(ask) })
    }
}

/// Counts an open stream.
struct Counted(Arc<Ask>);

impl Counted {
    fn new(ask: &Arc<Ask>) -> Self {
        ask.app.metrics.streams.inc();
        Self(Arc::clone(ask))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.app.metrics.streams.dec();
    }
}

impl Reader {
    /// The next words; `None` ends the stream.
    async fn next(&mut self) -> Option<String> {
        if !self.greeted {
            self.greeted = true;
            return Some("retry: 2000\n\n".to_owned());
        }
        loop {
            if self.ask.app.closes() {
                return None;
            }
            let (text, cursor) = self.look().await?;
            self.cursor = cursor;
            if !text.is_empty() {
                self.quiet = Duration::ZERO;
                return Some(text);
            }
            self.wait().await;
            if self.quiet >= HEARTBEAT {
                self.quiet = Duration::ZERO;
                return Some(": still here\n\n".to_owned());
            }
        }
    }

    async fn wait(&mut self) {
        let app = Arc::clone(&self.ask.app);
        tokio::select! {
            () = self.rung.notified() => {}
            () = app.closed.notified() => {}
            () = tokio::time::sleep(GLANCE) => self.quiet += GLANCE,
        }
    }

    /// What came since, and up to which number; `None` if the caller may not look any more.
    async fn look(&self) -> Option<(String, u64)> {
        let session = self.open.as_ref()?.session.clone();
        let (ask, cursor) = (Arc::clone(&self.ask), self.cursor);
        let look = move || -> Result<(String, u64), Problem> {
            ask.is_still_in()?;
            let last = session.last_event()?;
            if cursor > last || last - cursor > BEHIND {
                return Ok((lost(cursor, last), last));
            }
            if cursor == last {
                return Ok((String::new(), cursor));
            }
            let rows = session.events(cursor, MOST_EVENTS)?;
            let after = rows.last().map_or(cursor, |row| row.number);
            Ok((rows.iter().map(|row| told(row, &session)).collect(), after))
        };
        self.ask.app.pools.run(&self.ask.whose(), Work::Look, look).await?.ok()
    }
}

/// One event on the wire.
fn on_wire(number: u64, name: &str, data: &Value) -> String {
    format!("id: {number}\nevent: {name}\ndata: {data}\n\n")
}

/// The reader is behind by more than is told one by one, or ahead of a history that was put back.
fn lost(cursor: u64, last: u64) -> String {
    let data = json!({
        "after": cursor,
        "to": last,
        "message": "events were lost: read GET .../steps, .../questions and .../approvals, the stream goes on from here",
    });
    on_wire(last, "lost", &data)
}

fn told(row: &EventRow, session: &Session) -> String {
    let (name, mut data) = described(&row.what);
    // What is asked is shown to whoever may read the question; an agent reads its own.
    if let Event::Asked { question, .. } = &row.what
        && let Ok(asked) = session.questions().get(*question)
    {
        data["asked_by"] = asked.asked_by.clone().into();
        let items = asked.form.items().iter();
        data["questions"] = items.filter_map(|item| serde_json::to_value(item).ok()).collect();
    }
    data["at"] = row.at.to_string().into();
    on_wire(row.number, name, &data)
}

fn described(event: &Event) -> (&'static str, Value) {
    let question = |chat: &ChatId, question: &yard_core::QuestionId| json!({"chat_id": chat.to_string(), "question_id": question.to_string()});
    match event {
        Event::Step(step) => ("step", step_data(step)),
        Event::Asked { chat, question: id } => ("question.asked", question(chat, id)),
        Event::Answered { chat, question: id } => ("question.answered", question(chat, id)),
        Event::Requested { chat, approval } => (
            "approval.requested",
            json!({"chat_id": chat.to_string(), "approval_id": approval.to_string()}),
        ),
        Event::Decided { chat, approval, status } => {
            ("approval.decided", approval_data(chat, approval, *status))
        }
        Event::Concluded { chat, approval, status } => {
            ("approval.concluded", approval_data(chat, approval, *status))
        }
        Event::ModeChanged { chat, mode } => {
            ("chat.mode", json!({"chat_id": chat.to_string(), "mode": mode.word()}))
        }
        Event::ChatMade { chat } => ("chat.created", json!({"chat_id": chat.to_string()})),
        Event::ChatRenamed { chat } => ("chat.renamed", json!({"chat_id": chat.to_string()})),
        Event::ChatRemoved { chat } => ("chat.deleted", json!({"chat_id": chat.to_string()})),
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
            // Without paths, more changed than was counted.
            (
                "files.changed",
                json!({"source": "external", "paths": shown, "more": paths.is_empty()}),
            )
        }
    }
}

fn approval_data(chat: &ChatId, approval: &ApprovalId, status: ApprovalStatus) -> Value {
    json!({
        "chat_id": chat.to_string(),
        "approval_id": approval.to_string(),
        "status": status.word(),
    })
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
