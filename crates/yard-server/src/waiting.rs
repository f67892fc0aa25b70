//! Waits for a person's decision without holding a thread. A call that waits is resumed when its workspace
//! notifies its listeners and the decision is there; when its time is over, it keeps its answer so far (R16).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};
use yard_dialects::{Answer, Catalog, Work};
use yard_gate::{ApprovalStatus, Awaited, Pending, Session};

use crate::pool::{Overloaded, WorkKind};

/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(600);
/// How often the call is resumed without a notification: another process may have written to the store.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Waits until a call needs no person any more, and returns its answer; `None` if the time was over, or `stop`
/// done, first. `resume` gives the current answer, or `None` if the caller has lost access. If there is too much other work
/// for that, it is called again later.
pub(crate) async fn wait_until_settled<R>(
    session: &Session,
    wait_time: Duration,
    stop: impl Future<Output = ()>,
    resume: impl Fn() -> R,
) -> Option<Answer>
where
    R: Future<Output = Result<Option<Answer>, Overloaded>>,
{
    let end = Instant::now() + wait_time.min(MAX_WAIT);
    let notify = Arc::new(Notify::new());
    let waker = Arc::clone(&notify);
    let _subscription = session.subscribe(Arc::new(move || waker.notify_one()));
    let mut stop = std::pin::pin!(stop);
    loop {
        if let Ok(answer) = resume().await {
            let answer = answer?;
            if answer.pending.is_none() {
                return Some(answer);
            }
        }
        tokio::select! {
            () = notify.notified() => {}
            () = &mut stop => return None,
            () = sleep(POLL_INTERVAL) => {}
            () = sleep_until(end) => return None,
        }
    }
}

/// The kind of work of making an approved call: a command is one of the commands that run.
pub(crate) fn work_of_approved(catalog: &Catalog, toolset: &str, tool: &str) -> WorkKind {
    match catalog.get(toolset, tool).map(|tool| tool.work()) {
        Some(Work::Run) => WorkKind::Run,
        _ => WorkKind::Change,
    }
}

/// The kind of work of resuming a call. A call that was approved, and that no process has begun to make, is made then.
pub(crate) fn work_to_resume(
    catalog: &Catalog,
    toolset: &str,
    tool: &str,
    pending: &Pending,
    session: &Session,
) -> WorkKind {
    let Awaited::Approval(id) = pending.awaited else { return WorkKind::Look };
    let is_made_now = session.approvals().get(id).is_ok_and(|approval| {
        approval.status == ApprovalStatus::Approved && approval.claimed_by.is_none()
    });
    if is_made_now { work_of_approved(catalog, toolset, tool) } else { WorkKind::Change }
}
