//! The chat that the calls of a session belong to (R14): a named one, that of its connection, or the default chat of the
//! actor. The mode and the grants of this chat hold for the calls.

use std::sync::Arc;

use yard_core::{Call, ChatId, Fault, FaultCode, Result};
use yard_store::{Chat, Mode};

use super::{ConnectionChat, Session, deleted_chat};
use crate::policy::presets::approved_changes;
use crate::policy::workspace_policy::Allowed;
use crate::{Actor, Rule};

/// The chat that the calls of a session belong to. Without one it is the default chat of the actor (R14).
#[derive(Clone, Default)]
pub(super) struct SessionChat {
    pub(super) named: Option<ChatId>,
    /// The chat of its connection, if no other was named.
    pub(super) of_connection: Option<Arc<ConnectionChat>>,
    /// Whether the session is restricted to the named chat.
    pub(super) is_bound: bool,
}

impl Session {
    /// The same session in one chat: its mode holds, and calls are recorded in its transcript.
    pub fn in_chat(&self, chat: ChatId) -> Result<Self> {
        self.check_bound(Some(chat))?;
        self.check_may_use(&self.chats().get(chat)?)?;
        Ok(self.with_chat(chat))
    }

    /// The same session in a chat that exists.
    pub(crate) fn with_chat(&self, chat: ChatId) -> Self {
        self.with(|session| session.chat.named = Some(chat))
    }

    /// The same session in the chat of its connection, which is made when it is first needed.
    #[must_use]
    pub fn in_connection_chat(&self, chat: Arc<ConnectionChat>) -> Self {
        self.with(|session| {
            session.chat.named = None;
            session.chat.of_connection = Some(chat);
        })
    }

    /// The same session, restricted to one chat, which a person chose for the key, also if another agent made it.
    pub(crate) fn bound_to(&self, chat: ChatId) -> Result<Self> {
        self.chats().get(chat)?;
        Ok(self.with_chat(chat).with(|session| session.chat.is_bound = true))
    }

    /// A fault if this session is restricted to another chat.
    pub(crate) fn check_bound(&self, chat: Option<ChatId>) -> Result<()> {
        match self.chat.named.filter(|_| self.chat.is_bound) {
            Some(own) if chat != Some(own) => Err(Fault::new(
                FaultCode::Denied,
                format!("this key speaks in chat {own} only; leave the chat out, or name that one"),
            )),
            _ => Ok(()),
        }
    }

    /// A fault if the chat is another agent's: what a person allowed in it was allowed to that agent.
    pub(crate) fn check_may_use(&self, chat: &Chat) -> Result<()> {
        let is_chosen = self.chat.is_bound && self.chat.named == Some(chat.id);
        let maker = Actor::from_name(&chat.made_by).filter(|maker| !maker.is_person());
        let is_own = maker.is_none_or(|maker| maker == self.actor());
        if self.actor().is_person() || is_chosen || is_own {
            return Ok(());
        }
        let message = format!(
            "chat {} is another agent's: make a chat, name one that a person made, or leave the chat out",
            chat.id
        );
        Err(Fault::new(FaultCode::Denied, message))
    }

    /// The chat that was named for this session's calls, or that of its connection. Without one they belong to the default
    /// chat of the actor.
    pub fn chat(&self) -> Option<ChatId> {
        self.chat.named.or_else(|| self.chat.of_connection.as_ref()?.made())
    }

    /// Whether its calls belong to the default chat of an agent with a key, which is how people see what the agent does.
    pub(super) fn is_in_chat_of_key(&self) -> bool {
        let is_key = matches!(self.actor(), Actor::Key(_));
        is_key && self.chat.named.is_none() && self.chat.of_connection.is_none()
    }

    /// Whether the chat of its calls is made with the first change: that of a connection, or of a key (R14).
    pub(crate) fn makes_chat_with_change(&self) -> bool {
        self.chat.of_connection.is_some() || self.is_in_chat_of_key()
    }

    /// The chat whose transcript has a call that was made. That of a key is made with the first call that may change
    /// something, also if it failed; that of a connection is there only after a change.
    pub(crate) fn recorded_chat(&self, call: &Call) -> Option<ChatId> {
        match self.is_in_chat_of_key() {
            // The call was made: if its chat cannot be, only the line of the transcript is missing.
            true => self.needed_chat(call).ok().map(|chat| chat.id),
            false => self.chat(),
        }
    }

    /// Whether its calls belong to a chat of a connection that is not made yet.
    pub fn awaits_chat(&self) -> bool {
        self.chat.of_connection.is_some() && self.chat().is_none()
    }

    /// The chat that this session's calls belong to (R14), if it exists yet. A named chat that was deleted is a fault; that of
    /// a connection is made again when it is needed.
    pub fn current_chat(&self) -> Result<Option<Chat>> {
        let records = &self.open.records;
        match (self.chat.named, &self.chat.of_connection) {
            (Some(id), _) => records.chat(id)?.map(Some).ok_or_else(|| deleted_chat(id)),
            (None, Some(connection)) => connection.read(),
            (None, None) => Ok(records.default_chat(&self.actor().name())?),
        }
    }

    /// The mode of this session's chat.
    pub fn mode(&self) -> Result<Mode> {
        Ok(self.mode_in(self.current_chat()?.as_ref()))
    }

    /// The mode of a chat, or the one in which this session's chat will be made.
    pub(crate) fn mode_in(&self, chat: Option<&Chat>) -> Mode {
        let mode_of_next = || self.chat.of_connection.as_ref().and_then(|one| one.mode_of_next());
        chat.map(|chat| chat.mode).or_else(mode_of_next).unwrap_or(Mode::Build)
    }

    /// The grants of people for this session's chat.
    pub(crate) fn allowed_in_chat(&self) -> Result<Allowed> {
        let Some(chat) = self.current_chat()? else { return Ok(Allowed::default()) };
        let grants = self.open.records.grants(Some(chat.id))?;
        let mut allowed = Allowed::default();
        for grant in grants.iter().filter(|grant| grant.chat.is_some()) {
            // A grant that cannot be parsed allows nothing, which is the safe side.
            let value = serde_json::from_str(&grant.rule).unwrap_or_default();
            match approved_changes(&value) {
                Some(changes) => allowed.changes.0.extend(changes),
                None => allowed.rules.extend(Rule::parse(&value)),
            }
        }
        Ok(allowed)
    }
}
