//! `list_sessions`: lists the terminals of this chat (X5).

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::terminals::ListedTerminal;
use crate::tool::{Calling, Context, Stop, Tool, Work};

/// Terminals that a listing shows.
const MAX_SESSIONS: usize = 50;

/// Lists the PTY sessions of this chat, the newest first: those that run, and the last ones that ended or
/// were interrupted by a restart.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ListSessions {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The sessions.
    sessions: Vec<ListedTerminal>,
}

impl Tool for ListSessions {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "list_sessions";
    const WORK: Work = Work::Look;
    const CALLING: Calling = Calling::Strict;

    fn run(_: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let mut sessions = Vec::new();
        for session in context.session().sessions_with_chats() {
            let attempt = context.attempt.in_session(session);
            let there = context.with(&attempt);
            let listed = session.terminals().list()?;
            let rows = listed.iter().map(|one| (one.opened_at, ListedTerminal::of(&there, one)));
            sessions.extend(rows);
        }
        sessions.sort_by_key(|(opened_at, _)| Reverse(*opened_at));
        let newest = sessions.into_iter().take(MAX_SESSIONS);
        Ok(Reply { sessions: newest.map(|(_, terminal)| terminal).collect() })
    }
}
