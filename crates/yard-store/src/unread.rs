//! Messages of people that the agent of a chat has not received yet. They are turns of the chat.

use yard_core::ChatId;

use crate::{Result, Turn};

/// The unread messages of the chats of one workspace, in the same database as its journal.
///
/// **Crash notes.** `take_unread` and `put_back_unread` return only after what they wrote is flushed. Of several takers,
/// in any process, exactly one gets a message.
pub trait UnreadMessages: Send + Sync {
    /// Whether there are any, in any chat.
    fn has_unread(&self) -> Result<bool>;

    /// Takes the oldest unread messages of a chat, oldest first: at most `limit`, and as many as have up to `max_bytes`
    /// of data together, but at least one if there is one.
    fn take_unread(&self, chat: ChatId, limit: usize, max_bytes: usize) -> Result<Vec<Turn>>;

    /// Makes messages of a chat unread again: the answer that had them was not sent.
    fn put_back_unread(&self, chat: ChatId, numbers: &[u64]) -> Result<()>;
}
