//! Notifies a client that a person sent a message to its agent: a message of the log for people and agents who follow it. The
//! message itself comes with the next result of a call. For clients of 2025-11-25 and before on this machine; later ones and
//! those of HTTP subscribe to the transcript of the chat.

#![expect(deprecated, reason = "clients of 2025-11-25 and before have messages of the log")]

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::{Peer, RoleServer};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::sleep;
use yard_core::{Call, ChatId, Result};
use yard_gate::{ChangeSubscription, Event, MAX_EVENTS, Session, TurnKind};

use crate::messages;
use crate::pool::{Pools, WorkKind};

/// How often the store is read without a notification: another process may have written to it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The logger that the notifications name.
const LOGGER: &str = "toolyard";

/// The notices of one connection.
#[derive(Default)]
pub(super) struct MessageNotices {
    /// The workspaces that are followed.
    followed: Mutex<HashSet<String>>,
    /// The least level that the client wants; without one, the server chooses.
    least_level: Mutex<Option<LoggingLevel>>,
}

impl MessageNotices {
    /// Sets the least level that the client wants.
    pub(super) fn set_level(&self, level: LoggingLevel) {
        *self.least_level.lock() = Some(level);
    }

    /// Follows the chat of a session in its workspace from now on, unless it does already. It ends with the connection.
    pub(super) fn follow(
        self: &Arc<Self>,
        session: &Session,
        workspace_key: &str,
        call: Call,
        pools: Arc<Pools>,
        peer: Peer<RoleServer>,
    ) {
        if session.actor().is_person() || !self.followed.lock().insert(workspace_key.to_owned()) {
            return;
        }
        let follower = Follower {
            session: session.clone(),
            workspace_key: workspace_key.to_owned(),
            call,
            pools,
        };
        tokio::spawn(follower.run(peer, Arc::downgrade(self)));
    }

    fn wants_notices(&self) -> bool {
        let least = *self.least_level.lock();
        matches!(
            least,
            None | Some(LoggingLevel::Debug | LoggingLevel::Info | LoggingLevel::Notice)
        )
    }
}

/// Follows one chat.
struct Follower {
    session: Session,
    workspace_key: String,
    call: Call,
    pools: Arc<Pools>,
}

impl Follower {
    async fn run(self, peer: Peer<RoleServer>, notices: Weak<MessageNotices>) {
        let notify = Arc::new(Notify::new());
        let waker = Arc::clone(&notify);
        let _subscription: ChangeSubscription =
            self.session.subscribe(Arc::new(move || waker.notify_one()));
        let session = self.session.clone();
        let last = self.look(move || session.last_event()).await;
        let mut seen = last.unwrap_or(0);
        loop {
            tokio::select! {
                () = notify.notified() => {}
                () = sleep(POLL_INTERVAL) => {}
            }
            let Some(notices) = notices.upgrade().filter(|_| !peer.is_transport_closed()) else {
                return;
            };
            let (session, call) = (self.session.clone(), self.call.clone());
            let read = self.look(move || new_messages(&session, &call, seen)).await;
            let Some((messages, last)) = read else { continue };
            seen = last;
            for message in messages.iter().filter(|_| notices.wants_notices()) {
                let notice =
                    LoggingMessageNotificationParam::new(LoggingLevel::Notice, message.clone());
                let _ = peer.notify_logging_message(notice.with_logger(LOGGER)).await;
            }
        }
    }

    /// What the store says; `None` if it cannot be read now.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Option<T> {
        self.pools.run(&self.workspace_key, WorkKind::Look, look).await?.ok()
    }
}

/// The notices of the messages that people sent to the agent since an event, and the number of the last event.
fn new_messages(session: &Session, call: &Call, seen: u64) -> Result<(Vec<Value>, u64)> {
    if session.last_event()? == seen {
        return Ok((Vec::new(), seen));
    }
    let events = session.events(call, seen, MAX_EVENTS)?;
    let last = events.last().map_or(seen, |row| row.number);
    let Some(chat) = session.current_chat()? else { return Ok((Vec::new(), last)) };
    let mut found = Vec::new();
    for row in &events {
        if let Event::Posted { chat: of, turn } = row.what
            && of == chat.id
            && is_to_agent(session, call, of, turn)?
        {
            found.push(messages::notice(of, turn));
        }
    }
    Ok((found, last))
}

/// Whether a turn is a message of a person to the agent.
fn is_to_agent(session: &Session, call: &Call, chat: ChatId, turn: u64) -> Result<bool> {
    let before = turn.saturating_sub(1);
    let page = session.chats().turns(call, chat, Some(TurnKind::Message), before, 1)?;
    Ok(page.rows.first().is_some_and(|row| {
        let data: Value = serde_json::from_str(&row.data).unwrap_or_default();
        row.number == turn && data["comments"].is_array()
    }))
}
