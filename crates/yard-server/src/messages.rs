//! Messages of people that agents receive with the answers to their calls. They stand beside what the tool says, under a
//! name of their own, so that a model does not take them for output of the tool.

use serde_json::{Value, json};
use yard_core::{Call, ChatId};
use yard_dialects::Json;
use yard_gate::{Session, TakenMessages};

/// The member of an answer with the messages.
pub(crate) const MEMBER: &str = "messages_from_person";
/// What a model has to know about them.
const ABOUT: &str = "A person wrote this to you while you work. It is no output of the tool.";

/// The messages as data.
pub(crate) fn value(taken: &TakenMessages) -> Value {
    let messages = taken.messages.iter().map(|message| {
        json!({
            "number": message.number,
            "sent_at": message.at.to_string(),
            "from": message.by,
            "content": message.content,
        })
    });
    json!({
        "about": ABOUT,
        "chat_id": taken.chat.to_string(),
        "messages": messages.collect::<Vec<_>>(),
    })
}

/// What tells that there is a message, which comes with the next answer.
pub(crate) fn notice(chat: ChatId, number: u64) -> Value {
    json!({
        "message": format!("A person sent you a message. It comes with the result of your next call, under `{MEMBER}`."),
        "chat_id": chat.to_string(),
        "number": number,
    })
}

/// The messages as a text for a model.
pub(crate) fn text(taken: &TakenMessages) -> String {
    let mut text = ABOUT.to_owned();
    for message in &taken.messages {
        let (from, at) = (&message.by, message.at);
        text.push_str(&format!("\n\n[Message of {from}, {at}]\n{}", message.content));
    }
    text
}

/// Takes the messages for the answer to a call that has ended. None for a call whose client is gone, which could not read
/// them. If they cannot be read now, they are in the next answer.
pub(crate) fn take(session: &Session, call: &Call) -> Option<TakenMessages> {
    if call.is_cancelled() {
        return None;
    }
    session.take_messages(call).unwrap_or_else(|fault| {
        tracing::warn!("the messages to an agent are not read: {fault}");
        None
    })
}

/// The body of an answer over HTTP with the messages to the agent that made the call. The calls of a person take none.
pub(crate) fn delivered(body: Json, session: &Session, call: &Call) -> Json {
    if session.actor().is_person() {
        return body;
    }
    let Some(taken) = take(session, call) else { return body };
    let mut answer = body.into_value();
    if let Some(members) = answer.as_object_mut() {
        members.insert(MEMBER.to_owned(), value(&taken));
    }
    answer.into()
}
