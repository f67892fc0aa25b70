//! What is kept beside the files: chats with their turns, questions to people, requests for their
//! approval, and the events that tell a door what happened. It holds plain values and one trait; JSON is text here, and who may do
//! what is decided above.

use yard_core::op::ChangeSummary;
use yard_core::{
    ApprovalId, Author, ChatId, ContentHash, FileId, Name, ProcessId, QuestionId, RunId, StepId,
    Timestamp, WsPath,
};

use crate::{
    Approval, ApprovalFilter, ApprovalStatus, AuditEntry, Grant, NewApproval, NewDecision, Request,
    Result,
};

/// Most bytes of a chat's file name (W18).
const NAME_BYTES: usize = 200;
/// How the name of a chat's file ends.
const NAME_END: &str = ".chat";
/// Most changed paths that one event names; the step itself has them all.
pub const EVENT_PATHS: usize = 50;

/// What may change in a chat (W16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Plan files only.
    Plan,
    /// Whatever the policy allows.
    Build,
}

impl Mode {
    /// Every mode with its one spelling.
    pub const WORDS: [(Mode, &'static str); 2] = [(Self::Plan, "plan"), (Self::Build, "build")];

    /// Its spelling.
    pub fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Build => "build",
        }
    }

    /// The mode of that spelling.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(mode, _)| *mode)
    }
}

/// A chat about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChat {
    /// Its id.
    pub id: ChatId,
    /// What people call it.
    pub title: String,
    /// In which mode it begins.
    pub mode: Mode,
    /// Who makes it.
    pub made_by: String,
    /// The actor whose calls without a chat belong to it.
    pub default_of: Option<String>,
    /// When.
    pub at: Timestamp,
    /// How its transcript begins.
    pub header: String,
}

/// A chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    /// Its id.
    pub id: ChatId,
    /// What people call it.
    pub title: String,
    /// The name of its transcript in `/chats`, fixed once made (W18).
    pub name: Name,
    /// What may change in it.
    pub mode: Mode,
    /// Who made it.
    pub made_by: String,
    /// The actor whose calls without a chat belong to it.
    pub default_of: Option<String>,
    /// When it came to be.
    pub created_at: Timestamp,
    /// When its transcript last grew.
    pub updated_at: Timestamp,
    /// Bytes of its transcript.
    pub bytes: u64,
}

/// What a turn of a chat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnKind {
    /// Somebody said something.
    Message,
    /// A tool was called.
    Call,
    /// The mode changed.
    Mode,
    /// A person was asked.
    Question,
    /// A person answered.
    Answer,
    /// A person is asked whether something may happen.
    Request,
    /// A person said yes or no.
    Decision,
}

impl TurnKind {
    /// Every kind with its one spelling.
    pub const WORDS: [(TurnKind, &'static str); 7] = [
        (Self::Message, "message"),
        (Self::Call, "tool_call"),
        (Self::Mode, "mode"),
        (Self::Question, "question"),
        (Self::Answer, "answer"),
        (Self::Request, "approval"),
        (Self::Decision, "decision"),
    ];

    /// Its spelling.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(kind, _)| *kind == self).map_or("message", |(_, word)| word)
    }
}

/// A turn about to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTurn {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What it is.
    pub kind: TurnKind,
    /// What it holds, as JSON; bounded and redacted by who made it.
    pub data: String,
    /// The same as readable text: what the transcript grows by.
    pub text: String,
}

/// A turn of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number: larger than that of every turn before it.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What it is.
    pub kind: TurnKind,
    /// What it holds, as JSON.
    pub data: String,
    /// What the transcript says of it.
    pub text: String,
}

/// How an answer was given (W15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Via {
    /// A choice was clicked.
    Button,
    /// It was typed.
    Text,
}

impl Via {
    /// Its spelling.
    pub fn word(self) -> &'static str {
        match self {
            Self::Button => "button",
            Self::Text => "text",
        }
    }

    /// The way of that spelling.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Button, Self::Text].into_iter().find(|via| via.word() == word)
    }
}

/// A question about to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewQuestion {
    /// Its id.
    pub id: QuestionId,
    /// The chat that it belongs to.
    pub chat: ChatId,
    /// Who asks.
    pub asked_by: String,
    /// When.
    pub at: Timestamp,
    /// What is asked, as JSON.
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
    /// Who asked.
    pub asked_by: String,
    /// When.
    pub at: Timestamp,
    /// What is asked, as JSON.
    pub form: String,
    /// The plans as they were then, where the question can approve one.
    pub plans: Vec<(WsPath, ContentHash)>,
    /// What was answered, once it was.
    pub given: Option<Given>,
    /// The answer has opened build mode; it does so once.
    pub used: bool,
}

/// What a person answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The answers by name, as JSON.
    pub answers: String,
    /// Who.
    pub by: String,
    /// How.
    pub via: Via,
    /// When.
    pub at: Timestamp,
}

/// Which questions are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionFilter {
    /// Only answered ones, or only those that wait.
    pub answered: Option<bool>,
    /// Only those that this actor asked.
    pub asked_by: Option<String>,
    /// Only those of this chat.
    pub chat: Option<ChatId>,
}

/// Rows that go into a step's own transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepSideEffect {
    /// The step is the approval of a plan: its chat leaves plan mode, and the answer is used up.
    LeavePlan {
        /// The chat that goes on in build mode.
        chat: ChatId,
        /// The answered question. If its answer was used meanwhile, nothing of the step happens.
        question: QuestionId,
        /// What the transcript says of it.
        turn: NewTurn,
    },
    /// The step is what a person approved: from now on it is done. If it was done meanwhile, or is no
    /// longer allowed, nothing of the step happens.
    Execute {
        /// The request.
        approval: ApprovalId,
        /// When.
        at: Timestamp,
    },
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number: 1, 2, 3 and so on, steps and other events together, without gaps.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Files were changed by a step.
    Step(StepEvent),
    /// A person is asked.
    Asked {
        /// In this chat.
        chat: ChatId,
        /// This.
        question: QuestionId,
    },
    /// A person answered.
    Answered {
        /// In this chat.
        chat: ChatId,
        /// This.
        question: QuestionId,
    },
    /// A chat's mode changed.
    ModeChanged {
        /// The chat.
        chat: ChatId,
        /// What it is now.
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
        /// In this chat.
        chat: ChatId,
        /// Its turn.
        turn: u64,
    },
    /// A person is asked whether something may happen, or is asked again.
    Requested {
        /// In this chat.
        chat: ChatId,
        /// This.
        approval: ApprovalId,
    },
    /// A person said yes or no.
    Decided {
        /// In this chat.
        chat: ChatId,
        /// To this.
        approval: ApprovalId,
        /// Approved or denied.
        status: ApprovalStatus,
    },
    /// What was approved was done, or could not be.
    Concluded {
        /// In this chat.
        chat: ChatId,
        /// This.
        approval: ApprovalId,
        /// Executed or failed.
        status: ApprovalStatus,
    },
    /// A terminal was opened, or is over.
    Terminal {
        /// In this chat.
        chat: ChatId,
        /// Its run.
        run: RunId,
        /// What its chat calls it.
        name: String,
        /// What became of it.
        state: TerminalState,
    },
    /// Files changed on disk without us. Nothing was recorded yet.
    ChangedOutside {
        /// Some of them: at most [`EVENT_PATHS`].
        paths: Vec<WsPath>,
    },
}

/// What became of a terminal.
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
    /// One word for it.
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

/// A step, as an event tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEvent {
    /// The step.
    pub id: StepId,
    /// Who, as history names them.
    pub author: Author,
    /// Who, as the audit chain names them.
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

/// Chats, questions and events of one workspace, in the same place as its journal.
///
/// **Crash notes.** `make_chat`, `rename_chat`, `remove_chat`, `set_mode`, `set_display_name`, `post`, `ask`, `answer`, `request`, `decide`, `claim`,
/// `close`, `renew`, `start`, `conclude` and `set_policy` return only after what they wrote is flushed, each with its row, its
/// turn, its event and its audit row, all or nothing. `record` and `changed_outside` may lose their newest rows in a crash. Everything else reads, and
/// returns at most `limit` rows.
pub trait Desk: Send + Sync {
    /// Makes a chat under a name that no other has. Where `default_of` has one already, that is it.
    fn make_chat(&self, chat: &NewChat, audit: &AuditEntry) -> Result<Chat>;

    /// Gives a chat another title and the beginning of its transcript; the name of its file stays. A misfit if
    /// there is no such chat.
    fn rename_chat(&self, id: ChatId, title: &str, header: &str, audit: &AuditEntry) -> Result<()>;

    /// Removes a chat with its turns, questions, requests and what was allowed in it; a misfit if there is no
    /// such chat, or something of it still waits or is about to be executed.
    fn remove_chat(&self, id: ChatId, audit: &AuditEntry) -> Result<()>;

    /// A file's name for people, if one was set.
    fn display_name(&self, file: FileId) -> Result<Option<String>>;

    /// Sets a file's name for people, or takes it back.
    fn set_display_name(&self, file: FileId, name: Option<&str>, audit: &AuditEntry) -> Result<()>;

    /// A chat by its id.
    fn chat(&self, id: ChatId) -> Result<Option<Chat>>;

    /// The chat to which an actor's calls without one belong, if it was needed yet.
    fn default_chat(&self, actor: &str) -> Result<Option<Chat>>;

    /// A chat by the name of its transcript.
    fn chat_named(&self, name: &Name) -> Result<Option<Chat>>;

    /// Chats made before `before` (or the newest), newest first.
    fn chats(&self, before: Option<ChatId>, limit: usize) -> Result<Vec<Chat>>;

    /// Sets a chat's mode; a misfit if there is no such chat.
    fn set_mode(&self, chat: ChatId, mode: Mode, turn: &NewTurn, audit: &AuditEntry) -> Result<()>;

    /// Adds a message to a chat; its number.
    fn post(&self, chat: ChatId, turn: &NewTurn) -> Result<u64>;

    /// Adds a turn that nobody waits for to a chat.
    fn record(&self, chat: ChatId, turn: &NewTurn) -> Result<()>;

    /// Turns of a chat after turn `after`, oldest first; only of one kind, if given.
    fn turns(
        &self,
        chat: ChatId,
        kind: Option<TurnKind>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Turn>>;

    /// The transcript of a chat: its header and the texts of its turns.
    fn transcript(&self, chat: ChatId) -> Result<Option<String>>;

    /// Asks a question.
    fn ask(&self, question: &NewQuestion, turn: &NewTurn, audit: &AuditEntry) -> Result<()>;

    /// Answers a question; a misfit if it is not there, or was answered before.
    fn answer(
        &self,
        question: QuestionId,
        given: &Given,
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

    /// Asks whether something may happen.
    fn request(&self, asked: &NewApproval, turn: &NewTurn, audit: &AuditEntry) -> Result<()>;

    /// Says yes or no to a request, claims its execution and keeps what is allowed for longer; a misfit if
    /// the request does not wait, or asks for something else than what was shown by now.
    fn decide(&self, made: &NewDecision<'_>, turn: &NewTurn, audit: &AuditEntry) -> Result<()>;

    /// Makes `claimant` the one process that executes an approved request, where `before` was it until
    /// now; nobody, if it is `None`. A misfit if another process is it by now, or something was started.
    fn claim(
        &self,
        id: ApprovalId,
        before: Option<ProcessId>,
        claimant: Option<ProcessId>,
    ) -> Result<()>;

    /// Closes a request that waits for a person, or for a process that can serve it: withdrawn or expired.
    /// A misfit in any other state.
    fn close(&self, id: ApprovalId, status: ApprovalStatus, audit: &AuditEntry) -> Result<()>;

    /// Asks again, because what was approved is no longer what would happen; a misfit unless the request
    /// is approved and not done.
    fn renew(
        &self,
        id: ApprovalId,
        request: &Request,
        turn: &NewTurn,
        audit: &AuditEntry,
    ) -> Result<()>;

    /// Says in other words why a request is made that waits; what it asks for stays the same. Where it does
    /// not wait any more, nothing changes.
    fn reword(&self, id: ApprovalId, reason: &str) -> Result<()>;

    /// Uses up the yes that a command starts with; a misfit unless it was allowed and not used yet.
    fn start(&self, id: ApprovalId, run: RunId) -> Result<()>;

    /// Keeps what a decided call answered. One that was done by a step stays executed, one that was denied
    /// stays denied; another that was approved gets `status`; in any other state nothing changes.
    fn conclude(
        &self,
        id: ApprovalId,
        status: ApprovalStatus,
        answer: &str,
        at: Timestamp,
    ) -> Result<()>;

    /// A request by its id.
    fn approval(&self, id: ApprovalId) -> Result<Option<Approval>>;

    /// Requests made before `before` (or the newest), newest first.
    fn approvals(
        &self,
        filter: &ApprovalFilter,
        before: Option<ApprovalId>,
        limit: usize,
    ) -> Result<Vec<Approval>>;

    /// What persons allowed for every chat, and for this one.
    fn grants(&self, chat: Option<ChatId>) -> Result<Vec<Grant>>;

    /// The policy as it was last set, as JSON.
    fn policy(&self) -> Result<Option<String>>;

    /// Sets the policy; with `saved`, also what is allowed for every chat from now on.
    fn set_policy(&self, text: &str, saved: Option<&[Grant]>, audit: &AuditEntry) -> Result<()>;

    /// Says that files changed on disk without us.
    fn changed_outside(&self, at: Timestamp, paths: &[WsPath]) -> Result<()>;

    /// Says what became of a terminal.
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

/// The file name of the `nth` chat with a title, from 1 (W18).
pub fn chat_file_name(title: &str, nth: u64) -> String {
    let shown = |character: char| if is_odd(character) { '-' } else { character };
    let title: String = title.trim().chars().map(shown).collect();
    let end = if nth > 1 { format!(" ({nth}){NAME_END}") } else { NAME_END.to_owned() };
    let room = title.floor_char_boundary(NAME_BYTES - end.len());
    format!("{}{end}", &title[..room])
}

fn is_odd(character: char) -> bool {
    character == '/' || character.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w18_a_chat_s_file_name_is_its_title_made_safe() {
        assert_eq!(chat_file_name("Fix the login", 1), "Fix the login.chat");
        assert_eq!(chat_file_name(" a/b\nc\0 ", 2), "a-b-c- (2).chat");
        let long = "ä".repeat(200);
        for nth in [1, 2, 10] {
            let name = chat_file_name(&long, nth);
            assert!(name.len() <= 200 && name.ends_with(".chat"), "{name}");
        }
        assert!(chat_file_name(&long, 10).contains(" (10).chat"));
    }

    #[test]
    fn words_read_back() {
        for (mode, word) in Mode::WORDS {
            assert_eq!((mode.word(), Mode::from_word(word)), (word, Some(mode)));
        }
        assert_eq!(Mode::from_word("Build"), None);
        assert_eq!(Via::from_word(Via::Button.word()), Some(Via::Button));
        assert_eq!(Via::from_word("voice"), None);
    }
}
