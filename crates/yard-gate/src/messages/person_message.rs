//! Messages that people send to the agent of a chat: how comments become one, and how the agent receives it, once. A
//! message is a turn of the chat.

use serde_json::{Value, json};
use yard_core::{Call, ChatId, Fault, FaultCode, Result, Timestamp};
use yard_store::{NewTurn, Turn};

use crate::session::ANY_TOOL;
use crate::transcript::sent_comments::{COMMENTS, SentComment, text_of, to_value};
use crate::transcript::visibility::visible_turn;
use crate::{Session, transcript};

/// The longest message of comments, in bytes.
const SENT_BYTES: usize = 64 << 10;
/// How many messages one answer has.
const MAX_MESSAGES: usize = 20;
/// About how many bytes of data the messages of one answer have, if there are several. The data of a message has its text
/// twice.
const TAKEN_BYTES: usize = 3 * SENT_BYTES;
/// The role of a person, as models know it.
const ROLE: &str = "user";

/// A message of a person, as an agent receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonMessage {
    /// The number of its turn.
    pub number: u64,
    /// When it was sent.
    pub at: Timestamp,
    /// The person.
    pub by: String,
    /// The text.
    pub content: String,
}

/// Messages that were taken for one answer.
#[derive(Debug)]
pub struct TakenMessages {
    /// Their chat.
    pub chat: ChatId,
    /// The messages, oldest first.
    pub messages: Vec<PersonMessage>,
    numbers: Vec<u64>,
}

impl Session {
    /// Takes the messages of people that the agent in this session's chat has not received yet, for the answer to one
    /// of its calls. Each is taken once, whichever process takes it.
    pub fn take_messages(&self, call: &Call) -> Result<Option<TakenMessages>> {
        let records = &self.open().records;
        if !records.has_unread()? {
            return Ok(None);
        }
        let Some(chat) = self.current_chat()? else { return Ok(None) };
        let call = self.restricted_call(ANY_TOOL, call)?;
        let turns = records.take_unread(chat.id, MAX_MESSAGES, TAKEN_BYTES)?;
        let numbers: Vec<u64> = turns.iter().map(|turn| turn.number).collect();
        let prefix = self.mount().map(|mount| format!("{}/", mount.name)).unwrap_or_default();
        let message = |turn: Turn| received(visible_turn(call.reading(), turn), &prefix);
        let messages: Vec<PersonMessage> = turns.into_iter().filter_map(message).collect();
        Ok((!messages.is_empty()).then_some(TakenMessages { chat: chat.id, messages, numbers }))
    }

    /// Makes messages unread again, because the answer that had them was not sent.
    pub fn put_back_messages(&self, taken: &TakenMessages) -> Result<()> {
        Ok(self.open().records.put_back_unread(taken.chat, &taken.numbers)?)
    }
}

/// The turn of a message that is made of comments.
pub(crate) fn of_comments(at: Timestamp, actor: String, sent: &[SentComment]) -> Result<NewTurn> {
    let comments: Vec<Value> = sent.iter().map(to_value).collect();
    let content = text_of(&comments, "/");
    if content.len() > SENT_BYTES {
        return Err(Fault::new(
            FaultCode::BadArgument,
            format!(
                "these comments would be a message of {} bytes, and an agent gets at most {SENT_BYTES} in one: \
                 send fewer of them at once",
                content.len()
            ),
        ));
    }
    let turn = transcript::message(at, actor, ROLE, &content);
    let data = json!({"role": ROLE, "content": content, COMMENTS: comments}).to_string();
    Ok(NewTurn { data, ..turn })
}

/// A message as its agent gets it. Nothing for one whose text was purged.
fn received(turn: Turn, prefix: &str) -> Option<PersonMessage> {
    let data: Value = serde_json::from_str(&turn.data).unwrap_or_default();
    let content = match data[COMMENTS].as_array() {
        Some(comments) => text_of(comments, prefix),
        None => data["content"].as_str()?.to_owned(),
    };
    Some(PersonMessage { number: turn.number, at: turn.at, by: turn.actor, content })
}

#[cfg(test)]
mod tests {
    use yard_store::TurnKind;

    use super::*;

    #[test]
    fn a_purged_message_is_not_received() {
        let turn = |data: &str| Turn {
            number: 1,
            at: Timestamp::from_millis(0),
            actor: "person:local".to_owned(),
            kind: TurnKind::Message,
            data: data.to_owned(),
            text: String::new(),
        };
        assert_eq!(received(turn(r#"{"purged":true}"#), ""), None);
        let message = received(turn(r#"{"role":"user","content":"Stop."}"#), "").unwrap();
        assert_eq!(message.content, "Stop.");
    }
}
