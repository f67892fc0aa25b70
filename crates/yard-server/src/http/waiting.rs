//! Calls over HTTP that wait for a person: for how long (R16), and in whose name they are answered then.

use std::sync::Arc;
use std::time::Duration;

use yard_core::{ApprovalId, Call};
use yard_dialects::Answer;
use yard_gate::{ApprovalStatus, Awaited, Pending, Session, Waiter};

use super::ask::Ask;
use super::reply::Reply;
use crate::pool::WorkKind;
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

/// The answer once it is there; `None` if the time was over first. If the client goes away meanwhile, its
/// request is withdrawn.
pub(super) async fn answered(ask: &Arc<Ask>, waiting: Waiting) -> Option<Reply> {
    let waiting = Arc::new(waiting);
    let mut gone = WithdrawnIfDropped::new(ask, &waiting);
    let resume = || resumed(ask, &waiting);
    let stop = ask.app.shutdown.notified();
    let answer = settled(&waiting.session, waiting.patience(), stop, resume).await;
    gone.stays();
    let answer = answer?;
    Some(Reply::written(answer.status, answer.body))
}

/// Withdraws the request of a call when it is dropped: hyper drops the answer of a client that is gone.
struct WithdrawnIfDropped {
    ask: Arc<Ask>,
    waiting: Arc<Waiting>,
    waiter: Option<(ApprovalId, Waiter)>,
}

impl WithdrawnIfDropped {
    fn new(ask: &Arc<Ask>, waiting: &Arc<Waiting>) -> Self {
        let waiter = match waiting.pending.awaited {
            Awaited::Approval(id) => Some((id, waiting.session.approvals().wait_for(id))),
            Awaited::Question(_) => None,
        };
        Self { ask: Arc::clone(ask), waiting: Arc::clone(waiting), waiter }
    }

    /// The call is over, and its client was there.
    fn stays(&mut self) {
        self.waiter = None;
    }
}

impl Drop for WithdrawnIfDropped {
    fn drop(&mut self) {
        let Some((id, waiter)) = self.waiter.take() else { return };
        // A server that stops drops every answer, and no client has gone away.
        if self.ask.app.is_shutting_down() || !waiter.is_last() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (ask, waiting) = (Arc::clone(&self.ask), Arc::clone(&self.waiting));
        let (pools, whose) = (Arc::clone(&ask.app.pools), ask.whose());
        // The cancel flag of the call itself is set by now.
        let call = Call::new(ask.call.shared_world());
        runtime.spawn(async move {
            let withdraw =
                move || waiting.session.approvals().close(&call, id, ApprovalStatus::Withdrawn);
            if let Some(Err(fault)) = pools.run(&whose, WorkKind::Change, withdraw).await {
                tracing::warn!("the request of a client that is gone still waits: {fault}");
            }
        });
    }
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
    let work = if changes { WorkKind::Change } else { WorkKind::Look };
    app.pools.run(&whose, work, resume).await.flatten()
}
