//! The log of tool calls (R17): one line a call at INFO and one an answer at DEBUG, both under the tracing
//! target `session`, and a span around the call. Contents, secrets and tokens never reach it (R13): it
//! sees outlines.
//!
//! It decides nothing, and where nobody listens it costs nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tracing::{Level, Span, field};
use yard_core::{Call, ChatId};

use crate::{Actor, Origin, Session, redaction};

/// The target of everything that is logged about calls.
pub const LOG_TARGET: &str = "session";
/// The name of the span around a call.
pub const CALL_SPAN: &str = "call";
/// Most effects of one call that its line names.
const NAMED: usize = 8;

/// What the gate saw one call do, in the words of its audit rows.
#[derive(Debug, Default)]
pub(crate) struct Effects(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    named: Vec<String>,
    more: usize,
}

impl Effects {
    /// Adds one, unless it is the last one planned again.
    pub(crate) fn note(&self, effect: String) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.named.last() == Some(&effect) {
            return;
        }
        if seen.named.len() < NAMED {
            seen.named.push(effect);
        } else {
            seen.more += 1;
        }
    }

    fn told(&self) -> String {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = seen.named.join("; ");
        if seen.more > 0 {
            text.push_str(&format!("; and {} more", seen.more));
        }
        text
    }
}

/// One call that is being logged.
pub struct CallLog<'a> {
    session: Session,
    call: &'a Call,
    origin: Origin<'a>,
    span: Span,
    /// What the line needs; `None` where nobody listens.
    line: Option<Line>,
}

struct Line {
    effects: Arc<Effects>,
    args: String,
    began: Duration,
}

impl<'a> CallLog<'a> {
    /// Begins the log of a call that `session` makes.
    pub fn begin(session: &Session, origin: Origin<'a>, call: &'a Call, args: &Value) -> Self {
        // A trace takes the span without the line, and a log may take the line without the span.
        let is_heard = tracing::span_enabled!(target: LOG_TARGET, Level::INFO)
            || tracing::event_enabled!(target: LOG_TARGET, Level::INFO);
        if !is_heard {
            return Self { session: session.clone(), call, origin, span: Span::none(), line: None };
        }
        let effects = Arc::<Effects>::default();
        let session = session.noting(Arc::clone(&effects));
        let span = tracing::info_span!(
            target: LOG_TARGET,
            CALL_SPAN,
            otel.name = format!("{}.{}", origin.toolset, origin.tool),
            actor = field::Empty,
            chat = field::Empty,
            effect = field::Empty,
            outcome = field::Empty,
        );
        let line = Line { effects, args: redaction::outline(args), began: call.world().elapsed() };
        Self { session, call, origin, span, line: Some(line) }
    }

    /// The session to make the call with: what it does is noted.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Does the work of the call, inside its span.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.span.in_scope(work)
    }

    /// Writes the lines: how it ended, in one word, and what it answered.
    pub fn end<'v>(self, outcome: &str, answer: impl FnOnce() -> &'v Value) {
        let Some(line) = self.line else { return };
        let took = self.call.world().elapsed().saturating_sub(line.began);
        let is_answer_heard = tracing::event_enabled!(target: LOG_TARGET, Level::DEBUG);
        let ended = Ended {
            actor: self.session.actor(),
            chat: self.session.chat(),
            toolset: self.origin.toolset.to_owned(),
            tool: self.origin.tool.to_owned(),
            outcome: outcome.to_owned(),
            answer: is_answer_heard.then(|| redaction::outline(answer())),
            took,
            line,
        };
        ended.write(&self.span);
    }
}

/// A call that has ended, with all that is said of it.
struct Ended {
    actor: Actor,
    chat: Option<ChatId>,
    toolset: String,
    tool: String,
    outcome: String,
    /// An outline of it, where somebody listens.
    answer: Option<String>,
    took: Duration,
    line: Line,
}

impl Ended {
    fn write(self, span: &Span) {
        let Self { actor, chat, toolset, tool, outcome, answer, took, line } = self;
        let (actor, effect) = (actor.name(), line.effects.told());
        let chat = chat.map(|chat| chat.to_string());
        let chat = chat.as_deref();
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let args = line.args;
        span.in_scope(|| {
            tracing::info!(
                target: LOG_TARGET,
                toolset, tool, chat, actor, effect, outcome, micros, args, "call"
            );
            if let Some(answer) = answer {
                tracing::debug!(target: LOG_TARGET, toolset, tool, answer, "answer");
            }
        });
        // After the lines, which have them already: these are for traces.
        span.record("actor", actor).record("effect", effect).record("outcome", outcome);
        if let Some(chat) = chat {
            span.record("chat", chat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_named_once_and_bounded() {
        let effects = Effects::default();
        assert_eq!(effects.told(), "");
        effects.note("read /a".to_owned());
        effects.note("read /a".to_owned());
        effects.note("write /a".to_owned());
        assert_eq!(effects.told(), "read /a; write /a");
        for number in 0..20 {
            effects.note(format!("read /{number}"));
        }
        assert!(effects.told().ends_with("read /5; and 14 more"), "{}", effects.told());
    }
}
