//! Waits for people, without holding a thread: a call that asked somebody is answered again when the bell
//! of its workspace rings and the answer is there, or as it stands when its time is over (R16).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use yard_dialects::Answer;
use yard_gate::{Awaited, Pending, Session};

use super::ask::Ask;
use super::reply::Reply;
use crate::pool::Work;

/// Longest that anybody waits.
const LONGEST_MS: u64 = 600_000;
/// How long a call waits for a person unless it says otherwise.
const USUAL_MS: u64 = 30_000;
/// How often the store is looked at although no bell rang: another process may have written.
const GLANCE: Duration = Duration::from_secs(1);

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
        Duration::from_millis(asked.min(LONGEST_MS))
    }
}

/// The answer once it is there; `None` if the time was over first.
pub(super) async fn answered(ask: &Arc<Ask>, waiting: Waiting) -> Option<Reply> {
    let patience = waiting.patience();
    if patience.is_zero() {
        return None;
    }
    let end = Instant::now() + patience;
    let rung = Arc::new(Notify::new());
    let ear = Arc::clone(&rung);
    let _listening = waiting.session.listen(Arc::new(move || ear.notify_one()));
    let waiting = Arc::new(waiting);
    loop {
        let answer = resumed(ask, &waiting).await?;
        if answer.pending.is_none() {
            return Some(Reply::written(answer.status, answer.body));
        }
        tokio::select! {
            () = rung.notified() => {}
            () = ask.app.closed.notified() => return None,
            () = tokio::time::sleep(GLANCE) => {}
            () = sleep_until(end) => return None,
        }
    }
}

async fn resumed(ask: &Arc<Ask>, waiting: &Arc<Waiting>) -> Option<Answer> {
    let changes = matches!(waiting.pending.awaited, Awaited::Approval(_));
    let (ask, waiting) = (Arc::clone(ask), Arc::clone(waiting));
    let app = Arc::clone(&ask.app);
    let resume = move || {
        // A key that was revoked, or a member who was removed, gets nothing any more.
        ask.is_still_in().ok()?;
        let Waiting { session, toolset, tool, pending, .. } = &*waiting;
        Some(ask.app.catalog.resume(toolset, tool, pending, session, &ask.call))
    };
    // What was approved may be left to be done by who waits for it.
    let work = if changes { Work::Change } else { Work::Look };
    app.pools.run(work, resume).await.flatten()
}
