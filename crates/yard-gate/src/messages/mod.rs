//! What people write to agents: comments on lines of diffs, and the messages that they become when they are sent. Only
//! people write here; an agent receives a message, once, with an answer to one of its calls.

pub(crate) mod comments;
pub(crate) mod person_message;
