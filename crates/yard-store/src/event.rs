//! The events of a workspace in one sequence: steps, and everything else that clients are notified of.

use yard_core::op::ChangeSummary;
use yard_core::{ApprovalId, Author, ChatId, FileId, QuestionId, RunId, StepId, Timestamp, WsPath};

use crate::{ApprovalStatus, Mode, Result};

/// Most changed paths that one event names; the step itself has them all.
pub const EVENT_PATHS: usize = 50;

/// An event with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number: 1, 2, 3 and so on, steps and other events together, without gaps.
    pub number: u64,
    /// The time.
    pub at: Timestamp,
    /// The event.
    pub what: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Files were changed by a step.
    Step(StepEvent),
    /// A person is asked.
    Asked {
        /// The chat.
        chat: ChatId,
        /// The question.
        question: QuestionId,
    },
    /// A person answered.
    Answered {
        /// The chat.
        chat: ChatId,
        /// The question.
        question: QuestionId,
    },
    /// A chat's mode changed.
    ModeChanged {
        /// The chat.
        chat: ChatId,
        /// The new mode.
        mode: Mode,
    },
    /// A chat was made.
    ChatMade {
        /// The chat.
        chat: ChatId,
    },
    /// A chat has another title.
    ChatRenamed {
        /// The chat.
        chat: ChatId,
    },
    /// A chat was removed, with its transcript.
    ChatRemoved {
        /// The chat.
        chat: ChatId,
    },
    /// A message was posted.
    Posted {
        /// The chat.
        chat: ChatId,
        /// Its turn.
        turn: u64,
    },
    /// A person is asked whether something may happen, or is asked again.
    Requested {
        /// The chat.
        chat: ChatId,
        /// The request.
        approval: ApprovalId,
    },
    /// A person decided.
    Decided {
        /// The chat.
        chat: ChatId,
        /// The request.
        approval: ApprovalId,
        /// Approved or denied.
        status: ApprovalStatus,
    },
    /// An approved request was executed, or failed.
    Concluded {
        /// The chat.
        chat: ChatId,
        /// The request.
        approval: ApprovalId,
        /// Executed or failed.
        status: ApprovalStatus,
    },
    /// A terminal was opened, or is over.
    Terminal {
        /// The chat.
        chat: ChatId,
        /// Its run.
        run: RunId,
        /// Its name in the chat.
        name: String,
        /// Its state.
        state: TerminalState,
    },
    /// Files were changed on disk by another program. No step records that yet.
    ChangedOutside {
        /// Some of them: at most [`EVENT_PATHS`].
        paths: Vec<WsPath>,
    },
}

/// The state of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalState {
    /// Its program runs.
    Running,
    /// Its program ended with this code: 128 and the signal's number if a signal ended it.
    Ended(i32),
    /// The server ended while its program ran.
    Interrupted,
}

impl TerminalState {
    /// Its name in answers and events.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended(_) => "ended",
            Self::Interrupted => "interrupted",
        }
    }

    /// What its program ended with.
    pub fn exit_code(self) -> Option<i32> {
        match self {
            Self::Ended(code) => Some(code),
            Self::Running | Self::Interrupted => None,
        }
    }
}

/// A step in an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEvent {
    /// The step.
    pub id: StepId,
    /// The author, as history names it.
    pub author: Author,
    /// The actor, as the audit chain names it.
    pub actor: String,
    /// The operation.
    pub verb: String,
    /// The step that it undid.
    pub undoes: Option<StepId>,
    /// How many files it changed.
    pub files: u64,
    /// The first of them: at most [`EVENT_PATHS`].
    pub changes: Vec<ChangedFile>,
}

/// One file that a step changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The file.
    pub file: FileId,
    /// Its path after the step; of a removed one, before.
    pub path: WsPath,
    /// What happened to it.
    pub summary: ChangeSummary,
}

/// The events of one workspace, in the same database as its journal. Most are written by the methods of the other
/// traits, in the transaction of the change that they report.
///
/// **Crash notes.** `changed_outside` and `terminal_is` may lose their newest rows in a crash. Everything else reads,
/// and returns at most `limit` rows.
pub trait EventLog: Send + Sync {
    /// Adds the event that files were changed on disk by another program.
    fn changed_outside(&self, at: Timestamp, paths: &[WsPath]) -> Result<()>;

    /// Adds the event of a terminal's new state.
    fn terminal_is(
        &self,
        at: Timestamp,
        chat: ChatId,
        run: RunId,
        name: &str,
        state: TerminalState,
    ) -> Result<()>;

    /// Events after number `after`, oldest first.
    fn events(&self, after: u64, limit: usize) -> Result<Vec<EventRow>>;

    /// The number of the newest event; 0 before the first.
    fn last_event(&self) -> Result<u64>;
}
