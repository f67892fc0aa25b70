//! Chats and their turns. JSON is text here, and the layers above check who may do what.

use yard_core::{ChatId, Name, Timestamp};

use crate::{AuditEntry, Result};

/// Most bytes of a chat's file name (W18).
const NAME_BYTES: usize = 200;
/// How the name of a chat's file ends.
const NAME_END: &str = ".chat";

yard_core::spelled_enum! {
    /// What may change in a chat (W16).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Mode {
        /// Plan files only.
        Plan = "plan",
        /// Whatever the policy allows.
        Build = "build",
    }
}

/// A new chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChat {
    /// Its id.
    pub id: ChatId,
    /// Its title.
    pub title: String,
    /// In which mode it begins.
    pub mode: Mode,
    /// The actor that makes it.
    pub made_by: String,
    /// The actor whose calls without a chat belong to it.
    pub default_of: Option<String>,
    /// The time.
    pub at: Timestamp,
    /// How its transcript begins.
    pub header: String,
}

/// A chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    /// Its id.
    pub id: ChatId,
    /// Its title.
    pub title: String,
    /// The name of its transcript in `/chats`, fixed once made (W18).
    pub name: Name,
    /// What may change in it.
    pub mode: Mode,
    /// The actor that made it.
    pub made_by: String,
    /// The actor whose calls without a chat belong to it.
    pub default_of: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its transcript last grew.
    pub updated_at: Timestamp,
    /// Bytes of its transcript.
    pub bytes: u64,
}

yard_core::spelled_enum! {
    /// The kind of a turn of a chat.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum TurnKind {
        /// A message.
        Message = "message",
        /// A tool was called.
        Call = "tool_call",
        /// The mode changed.
        Mode = "mode",
        /// A person was asked.
        Question = "question",
        /// A person answered.
        Answer = "answer",
        /// A person is asked whether something may happen.
        Request = "approval",
        /// A person decided.
        Decision = "decision",
    }
}

/// A new turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTurn {
    /// The time.
    pub at: Timestamp,
    /// The actor.
    pub actor: String,
    /// Its kind.
    pub kind: TurnKind,
    /// Its data as JSON; the caller has bounded and redacted it.
    pub data: String,
    /// The same as readable text: what the transcript grows by.
    pub text: String,
}

/// A turn of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number: larger than that of every turn before it.
    pub number: u64,
    /// The time.
    pub at: Timestamp,
    /// The actor.
    pub actor: String,
    /// Its kind.
    pub kind: TurnKind,
    /// Its data, as JSON.
    pub data: String,
    /// Its text in the transcript.
    pub text: String,
}

/// The chats of one workspace, in the same database as its journal.
///
/// **Crash notes.** `make_chat`, `rename_chat`, `remove_chat`, `set_mode` and `post` return only after what they wrote is
/// flushed, each with its row, its turn, its event and its audit row, all or nothing. `record` may lose its newest
/// turns in a crash. Everything else reads, and returns at most `limit` rows.
pub trait ChatStore: Send + Sync {
    /// Makes a chat under a name that no other has. If `default_of` has a chat already, that one is returned.
    fn make_chat(&self, chat: &NewChat, audit: &AuditEntry) -> Result<Chat>;

    /// Gives a chat another title and the beginning of its transcript; the name of its file stays. A misfit if
    /// there is no such chat.
    fn rename_chat(&self, id: ChatId, title: &str, header: &str, audit: &AuditEntry) -> Result<()>;

    /// Removes a chat with its turns, questions, requests and permissions; a misfit if there is no such chat, if one of
    /// its questions or requests still waits for a person, or if one of its requests is about to be executed.
    fn remove_chat(&self, id: ChatId, audit: &AuditEntry) -> Result<()>;

    /// A chat by its id.
    fn chat(&self, id: ChatId) -> Result<Option<Chat>>;

    /// The chat of an actor's calls that name no chat, if there is one yet.
    fn default_chat(&self, actor: &str) -> Result<Option<Chat>>;

    /// A chat by the name of its transcript.
    fn chat_named(&self, name: &Name) -> Result<Option<Chat>>;

    /// Chats made before `before` (or the newest), newest first.
    fn chats(&self, before: Option<ChatId>, limit: usize) -> Result<Vec<Chat>>;

    /// Sets a chat's mode; a misfit if there is no such chat.
    fn set_mode(&self, chat: ChatId, mode: Mode, turn: &NewTurn, audit: &AuditEntry) -> Result<()>;

    /// Adds a message to a chat; returns its number.
    fn post(&self, chat: ChatId, turn: &NewTurn) -> Result<u64>;

    /// Adds a turn to a chat without waiting until it is durable.
    fn record(&self, chat: ChatId, turn: &NewTurn) -> Result<()>;

    /// Turns of a chat after turn `after`, oldest first; only of one kind, if given.
    fn turns(
        &self,
        chat: ChatId,
        kind: Option<TurnKind>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Turn>>;

    /// How the transcript of a chat begins, before its turns.
    fn transcript_header(&self, chat: ChatId) -> Result<Option<String>>;

    /// The transcript of a chat: its header and the texts of its turns.
    fn transcript(&self, chat: ChatId) -> Result<Option<String>>;
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
    }
}
