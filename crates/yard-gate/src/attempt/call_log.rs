//! The log of tool calls (R17): one line per call at INFO and one per answer at DEBUG, both under the tracing target
//! `session`, and a span around the call. It gets outlines of arguments and answers, so that no content, secret or
//! token reaches it (R13). Without a subscriber it does nothing.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tracing::{Level, Span, field};

use crate::Attempt;
use crate::attempt::Effects;
use crate::transcript::redaction;

/// The tracing target of calls.
pub const LOG_TARGET: &str = "session";
/// The name of the span around a call.
pub const CALL_SPAN: &str = "call";

/// One call that is being logged.
pub struct CallLog<'a> {
    attempt: Attempt<'a>,
    span: Span,
    /// `None` without a subscriber.
    line: Option<CallLine>,
}

struct CallLine {
    effects: Arc<Effects>,
    args: String,
    began: Duration,
}

impl<'a> CallLog<'a> {
    /// Begins the log of a call with these arguments.
    pub fn begin(attempt: Attempt<'a>, args: &Value) -> Self {
        // A trace takes the span without the line, and a log may take the line without the span.
        let is_wanted = tracing::span_enabled!(target: LOG_TARGET, Level::INFO)
            || tracing::event_enabled!(target: LOG_TARGET, Level::INFO);
        if !is_wanted {
            return Self { attempt, span: Span::none(), line: None };
        }
        let effects = Arc::<Effects>::default();
        let attempt = attempt.logging_effects(Arc::clone(&effects));
        let origin = attempt.origin();
        let span = tracing::info_span!(
            target: LOG_TARGET,
            CALL_SPAN,
            otel.name = format!("{}.{}", origin.toolset, origin.tool),
            actor = field::Empty,
            chat = field::Empty,
            effect = field::Empty,
            outcome = field::Empty,
        );
        let args = redaction::outline(args, &attempt.open().hints.members);
        let line = CallLine { effects, args, began: attempt.call().world().elapsed() };
        Self { attempt, span, line: Some(line) }
    }

    /// The attempt to make the call with; its effects are logged.
    pub fn attempt(&self) -> &Attempt<'a> {
        &self.attempt
    }

    /// Runs the call inside its span.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.span.in_scope(work)
    }

    /// Writes the lines with the outcome, in one word, and the answer.
    pub fn end<'v>(self, outcome: &str, answer: impl FnOnce() -> &'v Value) {
        let Some(line) = self.line else { return };
        let (session, origin) = (self.attempt.session(), self.attempt.origin());
        let took = self.attempt.call().world().elapsed().saturating_sub(line.began);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let (actor, effect) = (session.actor().name(), line.effects.line());
        let chat = session.chat().map(|chat| chat.to_string());
        let (toolset, tool, chat, args) = (origin.toolset, origin.tool, chat.as_deref(), line.args);
        self.span.in_scope(|| {
            tracing::info!(
                target: LOG_TARGET,
                toolset, tool, chat, actor, effect, outcome, micros, args, "call"
            );
            if tracing::event_enabled!(target: LOG_TARGET, Level::DEBUG) {
                let answer = redaction::outline(answer(), &self.attempt.open().hints.members);
                tracing::debug!(target: LOG_TARGET, toolset, tool, answer, "answer");
            }
        });
        // Recorded for traces, after the lines, which have these fields already.
        self.span.record("actor", actor).record("effect", effect).record("outcome", outcome);
        if let Some(chat) = chat {
            self.span.record("chat", chat);
        }
    }
}
