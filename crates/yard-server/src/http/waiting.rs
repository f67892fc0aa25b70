//! Tool calls over HTTP that wait for a person: how long they wait (R16), and how they are resumed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use yard_core::{ApprovalId, Call};
use yard_dialects::Answer;
use yard_gate::{ApprovalStatus, Awaited, Pending, Session, Waiter};

use super::app::App;
use super::reply::Reply;
use super::request::HttpRequest;
use crate::messages;
use crate::pool::{Overloaded, WorkKind};
use crate::waiting::{wait_until_settled, work_to_resume};

/// How long a call waits for a person by default.
const DEFAULT_WAIT_MS: u64 = 30_000;

/// A call whose answer may change once a person has decided.
pub(crate) struct PendingCall {
    pub(super) session: Session,
    pub(super) toolset: String,
    pub(super) tool: String,
    pub(super) pending: Pending,
    /// The wait time that the envelope asks for.
    pub(super) wait_ms: Option<u64>,
    /// For a request for approval. It exists from the moment in which the call has asked: its client may disconnect
    /// before anything waits.
    pub(super) withdraw: Option<WithdrawOnDrop>,
}

impl PendingCall {
    fn wait_time(&self) -> Duration {
        let millis = match (self.wait_ms, self.pending.wait_ms) {
            (Some(envelope), Some(argument)) => envelope.max(argument),
            (one, other) => one.or(other).unwrap_or(DEFAULT_WAIT_MS),
        };
        Duration::from_millis(millis)
    }
}

/// Waits until the person has decided, and returns the answer, or `reply` if the time was over first. If a client without
/// an `Idempotency-Key` disconnects meanwhile, its request for approval is withdrawn.
pub(super) async fn wait_for_answer(
    request: &Arc<HttpRequest>,
    mut waiting: PendingCall,
    status: u16,
    body: Bytes,
) -> Reply {
    // It is dropped with this future, and not with a call that is being resumed in the pool.
    let mut withdraw = waiting.withdraw.take();
    let waiting = Arc::new(waiting);
    let resume = || resume_call(request, &waiting);
    let stop = request.app.shutdown.wait();
    let answer = wait_until_settled(&waiting.session, waiting.wait_time(), stop, resume).await;
    if let Some(withdraw) = &mut withdraw {
        withdraw.disarm();
    }
    match answer {
        Some(answer) => Reply::of_tool(answer.status, answer.body),
        None => {
            let body = pending_body(request, &waiting, body).await;
            Reply::serialized(status, body)
        }
    }
}

/// The answer to a call that still waits, with the messages to its agent.
async fn pending_body(
    request: &Arc<HttpRequest>,
    waiting: &Arc<PendingCall>,
    body: Bytes,
) -> Bytes {
    let (own_request, waiting, before) = (Arc::clone(request), Arc::clone(waiting), body.clone());
    let add = move || {
        let parsed: Value = serde_json::from_slice(&before).ok()?;
        let body = messages::delivered(parsed.into(), &waiting.session, &own_request.call);
        Some(body.into_bytes())
    };
    let pools = &request.app.pools;
    let added = pools.run(&request.workspace_key(), WorkKind::Look, add).await;
    added.flatten().unwrap_or(body)
}

/// Withdraws a request for approval when it is dropped: hyper drops the future of a client that disconnected, and a
/// handler's reply to it. The request of a call with an `Idempotency-Key` stays: its client comes back for the outcome.
pub(crate) struct WithdrawOnDrop {
    app: Arc<App>,
    workspace_key: String,
    session: Session,
    waiter: Option<(ApprovalId, Waiter)>,
    client_comes_back: bool,
}

impl WithdrawOnDrop {
    /// For a call that waits; `None` for one that waits for no approval.
    pub(super) fn new(request: &HttpRequest, session: &Session, pending: &Pending) -> Option<Self> {
        let Awaited::Approval(id) = pending.awaited else { return None };
        let (app, workspace_key) = (Arc::clone(&request.app), request.workspace_key());
        let waiter = Some((id, session.approvals().wait_for(id)));
        let (session, client_comes_back) = (session.clone(), request.can_be_retried());
        Some(Self { app, workspace_key, session, waiter, client_comes_back })
    }

    /// Drops this without a withdrawal: the call is over, and its client is still connected.
    fn disarm(&mut self) {
        self.waiter = None;
    }
}

impl Drop for WithdrawOnDrop {
    fn drop(&mut self) {
        let Some((id, waiter)) = self.waiter.take() else { return };
        if self.client_comes_back {
            return;
        }
        // A server that shuts down drops every future, although no client disconnected.
        if self.app.shutdown.has_begun() || !waiter.leave() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (pools, workspace_key) = (Arc::clone(&self.app.pools), self.workspace_key.clone());
        let session = self.session.clone();
        // The cancel flag of the original call is set by now.
        let call = Call::new(Arc::clone(self.app.admin.world()));
        runtime.spawn(async move {
            let withdraw = move || session.approvals().close(&call, id, ApprovalStatus::Withdrawn);
            if let Some(Err(fault)) = pools.run(&workspace_key, WorkKind::Change, withdraw).await {
                tracing::warn!("the request of a client that is gone still waits: {fault}");
            }
        });
    }
}

async fn resume_call(
    request: &Arc<HttpRequest>,
    waiting: &Arc<PendingCall>,
) -> Result<Option<Answer>, Overloaded> {
    let (pools, workspace_key) = (&request.app.pools, request.workspace_key());
    let (app, own) = (Arc::clone(&request.app), Arc::clone(waiting));
    let look = move || {
        let PendingCall { session, toolset, tool, pending, .. } = &*own;
        work_to_resume(&app.catalog, toolset, tool, pending, session)
    };
    let work = pools.try_run(&workspace_key, WorkKind::Look, look).await?;
    let work = work.unwrap_or(WorkKind::Change);
    let (own_request, waiting) = (Arc::clone(request), Arc::clone(waiting));
    let resume = move || {
        // A revoked key, or a removed member, gets no answer any more.
        own_request.recheck_access().ok()?;
        let PendingCall { session, toolset, tool, pending, .. } = &*waiting;
        let call = &own_request.call;
        let answer = own_request.app.catalog.resume(toolset, tool, pending, session, call);
        Some(match answer.pending {
            Some(_) => answer,
            None => Answer { body: messages::delivered(answer.body, session, call), ..answer },
        })
    };
    pools.try_run(&workspace_key, work, resume).await.map(Option::flatten)
}
