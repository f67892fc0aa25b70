//! Questions to people, with their answers. JSON is text here, and the layers above check who may answer.

use yard_core::{ChatId, ContentHash, QuestionId, Timestamp, WsPath};

use crate::{AuditEntry, NewTurn, Result};

yard_core::spelled_enum! {
    /// How an answer was given (W15).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Via {
        /// A choice was clicked.
        Button = "button",
        /// It was typed.
        Text = "text",
    }
}

/// A new question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewQuestion {
    /// Its id.
    pub id: QuestionId,
    /// The chat that it belongs to.
    pub chat: ChatId,
    /// The actor that asks.
    pub asked_by: String,
    /// The time.
    pub at: Timestamp,
    /// The form, as JSON.
    pub form: String,
    /// The plans as they were then, where the question can approve one (W16).
    pub plans: Vec<(WsPath, ContentHash)>,
}

/// A question, answered or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// The chat that it belongs to.
    pub chat: ChatId,
    /// The actor that asked.
    pub asked_by: String,
    /// The time.
    pub at: Timestamp,
    /// The form, as JSON.
    pub form: String,
    /// The plans as they were then, where the question can approve one.
    pub plans: Vec<(WsPath, ContentHash)>,
    /// The answer, once there is one.
    pub given: Option<QuestionAnswer>,
    /// The answer has opened build mode; it does so once.
    pub used: bool,
}

/// The answer of a person to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionAnswer {
    /// The answers by name, as JSON.
    pub answers: String,
    /// The person.
    pub by: String,
    /// How the answer was given.
    pub via: Via,
    /// When it was given.
    pub at: Timestamp,
}

/// Selects questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionFilter {
    /// Only answered ones, or only those that wait.
    pub answered: Option<bool>,
    /// Only those that this actor asked.
    pub asked_by: Option<String>,
    /// Only those of this chat.
    pub chat: Option<ChatId>,
}

/// The questions of one workspace, in the same database as its journal.
///
/// **Crash notes.** `ask` and `answer` return only after what they wrote is flushed: the row, its turn, its event and
/// its audit row, all or nothing. Everything else reads, and returns at most `limit` rows.
pub trait QuestionStore: Send + Sync {
    /// Asks a question.
    fn ask(&self, question: &NewQuestion, turn: &NewTurn, audit: &AuditEntry) -> Result<()>;

    /// Answers a question; a misfit if it is not there, or was answered before.
    fn answer(
        &self,
        question: QuestionId,
        given: &QuestionAnswer,
        turn: &NewTurn,
        audit: &AuditEntry,
    ) -> Result<()>;

    /// A question by its id.
    fn question(&self, id: QuestionId) -> Result<Option<Question>>;

    /// Questions asked before `before` (or the newest), newest first.
    fn questions(
        &self,
        filter: &QuestionFilter,
        before: Option<QuestionId>,
        limit: usize,
    ) -> Result<Vec<Question>>;

    /// The questions without an answer with the times at which they were asked, oldest first, at most `limit`.
    fn pending_questions(&self, limit: usize) -> Result<Vec<(QuestionId, Timestamp)>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        assert_eq!(Via::from_word(Via::Button.word()), Some(Via::Button));
        assert_eq!(Via::from_word("voice"), None);
    }
}
