//! Waits for a person's decision without holding a thread. A call that waits is resumed when its workspace
//! notifies its listeners and the decision is there; when its time is over, it keeps its answer so far (R16).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};
use yard_dialects::Answer;
use yard_gate::Session;

use crate::pool::Overloaded;

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
