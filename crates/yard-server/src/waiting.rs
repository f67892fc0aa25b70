//! Waits for people, without holding a thread: a call that asked somebody is answered again when the bell
//! of its workspace rings and the answer is there, or as it stands when its time is over (R16).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};
use yard_dialects::Answer;
use yard_gate::Session;

/// Longest that anybody waits.
const LONGEST: Duration = Duration::from_secs(600);
/// How often the store is looked at although no bell rang: another process may have written.
const GLANCE: Duration = Duration::from_secs(1);

/// The answer once it is there; `None` if the time was over, or `stop` done, first. `resume` answers as it
/// stands, and `None` if nobody is to be answered any more.
pub(crate) async fn settled<R>(
    session: &Session,
    patience: Duration,
    stop: impl Future<Output = ()>,
    resume: impl Fn() -> R,
) -> Option<Answer>
where
    R: Future<Output = Option<Answer>>,
{
    if patience.is_zero() {
        return None;
    }
    let end = Instant::now() + patience.min(LONGEST);
    let rung = Arc::new(Notify::new());
    let ear = Arc::clone(&rung);
    let _listening = session.listen(Arc::new(move || ear.notify_one()));
    let mut stop = std::pin::pin!(stop);
    loop {
        let answer = resume().await?;
        if answer.pending.is_none() {
            return Some(answer);
        }
        tokio::select! {
            () = rung.notified() => {}
            () = &mut stop => return None,
            () = sleep(GLANCE) => {}
            () = sleep_until(end) => return None,
        }
    }
}
