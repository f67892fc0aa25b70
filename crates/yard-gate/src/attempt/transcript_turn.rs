//! The turn of a transcript about a call. It is made when the call is over, and its door writes it once the answer is sent.

use std::sync::Arc;

use serde_json::Value;
use yard_core::ChatId;
use yard_store::NewTurn;

use super::Attempt;
use crate::transcript::ToolCall;
use crate::{OpenWorkspace, transcript};

/// A turn of a transcript that is not written yet.
pub struct UnwrittenTurn {
    open: Arc<OpenWorkspace>,
    chat: ChatId,
    turn: NewTurn,
}

impl UnwrittenTurn {
    /// Writes it.
    pub fn write(self) {
        // The call is done and durable: a transcript that cannot be written must not change its answer.
        let _ = self.open.records.record(self.chat, &self.turn);
    }
}

impl Attempt<'_> {
    /// The turn of the transcript about a call and its answer, bounded and redacted; `None` if the session does not
    /// record its calls.
    pub fn transcript_turn(&self, args: &Value, ok: bool, answer: &Value) -> Option<UnwrittenTurn> {
        let session = self.session;
        if !session.records_call(false) {
            return None;
        }
        let chat = session.recorded_chat(self.call)?;
        let tool = format!("{}.{}", self.origin.toolset, self.origin.tool);
        let made = ToolCall { tool, args, ok, answer, secret: self.secret() };
        let at = self.call.world().now();
        let turn = transcript::tool_call(at, session.actor().name(), &made);
        Some(UnwrittenTurn { open: Arc::clone(self.open()), chat, turn: self.with_about(turn) })
    }

    /// A turn of a transcript, with the paths by which it is decided later who may see it.
    pub(crate) fn with_about(&self, turn: NewTurn) -> NewTurn {
        self.session.with_about(self.origin, self.call, turn, self.notes.touched.as_deref())
    }

    /// Members of arguments whose values no transcript has.
    pub(super) fn secret(&self) -> &'static [&'static str] {
        self.open().hints.members.secret
    }
}
