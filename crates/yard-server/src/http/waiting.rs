//! Calls over HTTP that wait for a person: for how long (R16), and in whose name they are answered then.

use std::sync::Arc;
use std::time::Duration;

use yard_dialects::Answer;
use yard_gate::{Awaited, Pending, Session};

use super::ask::Ask;
use super::reply::Reply;
use crate::pool::Work;
use crate::waiting::settled;

/// How long a call waits for a person unless it says otherwise.
const USUAL_MS: u64 = 30_000;

/// A call whose answer may change once a person has spoken.
pub(crate) struct Waiting {
    pub(super) session: Session,
    pub(super) toolset: String,
    pub(super) tool: String,
    pub(super) pending: Pending,
    /// What the envelope asked for.
    pub(super) wait_ms: Option<u64>,
}

impl Waiting {
    fn patience(&self) -> Duration {
        let asked = match (self.wait_ms, self.pending.wait_ms) {
            (Some(envelope), Some(argument)) => envelope.max(argument),
            (one, other) => one.or(other).unwrap_or(USUAL_MS),
        };
        Duration::from_millis(asked)
    }
}

/// The answer once it is there; `None` if the time was over first.
pub(super) async fn answered(ask: &Arc<Ask>, waiting: Waiting) -> Option<Reply> {
    let waiting = Arc::new(waiting);
    let resume = || resumed(ask, &waiting);
    let stop = ask.app.closed.notified();
    let answer = settled(&waiting.session, waiting.patience(), stop, resume).await?;
    Some(Reply::written(answer.status, answer.body))
}

async fn resumed(ask: &Arc<Ask>, waiting: &Arc<Waiting>) -> Option<Answer> {
    let changes = matches!(waiting.pending.awaited, Awaited::Approval(_));
    let (ask, waiting) = (Arc::clone(ask), Arc::clone(waiting));
    let (app, whose) = (Arc::clone(&ask.app), ask.whose());
    let resume = move || {
        // A key that was revoked, or a member who was removed, gets nothing any more.
        ask.is_still_in().ok()?;
        let Waiting { session, toolset, tool, pending, .. } = &*waiting;
        Some(ask.app.catalog.resume(toolset, tool, pending, session, &ask.call))
    };
    // What was approved may be left to be done by who waits for it.
    let work = if changes { Work::Change } else { Work::Look };
    app.pools.run(&whose, work, resume).await.flatten()
}
