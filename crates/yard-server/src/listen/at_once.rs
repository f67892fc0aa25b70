//! Polls a connection again at once where it woke itself and no other one waits for its turn. It does that
//! with nearly every request: one half of it asks for the body, which the other half has already. The
//! runtime would put it at the end of its queue and wake a second thread to help, for work that is over
//! before that thread is there. Where many wait, the queue is better: all of them do the same half of
//! their work one after the other.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// How often a future is polled in a row at most.
const IN_A_ROW: usize = 4;

/// How many futures wait for their turn. A hint: it decides nothing but the order of work.
#[derive(Clone, Default)]
pub(super) struct Queue(Arc<AtomicUsize>);

/// A future that is polled again at once where it woke itself.
pub(super) struct AtOnce<F> {
    future: Pin<Box<F>>,
    bell: Arc<Bell>,
    waker: Waker,
}

/// What the future wakes: itself while it is polled, its task otherwise.
struct Bell {
    state: AtomicU8,
    task: AtomicWaker,
    queue: Queue,
}

/// Nobody is polling, and nobody has called since.
const RESTING: u8 = 0;
/// Somebody is polling.
const POLLING: u8 = 1;
/// Somebody is polling, and has been called since that began.
const CALLED: u8 = 2;
/// The task waits for its turn.
const QUEUED: u8 = 3;
/// There is nothing left to poll.
const OVER: u8 = 4;

impl<F: Future> AtOnce<F> {
    pub(super) fn new(future: F, queue: Queue) -> Self {
        let (state, task) = (AtomicU8::new(RESTING), AtomicWaker::new());
        let bell = Arc::new(Bell { state, task, queue });
        Self { future: Box::pin(future), waker: Waker::from(Arc::clone(&bell)), bell }
    }
}

impl<F: Future> Future for AtOnce<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, bell, waker } = &mut *self;
        bell.task.register(context.waker());
        for _ in 0..IN_A_ROW {
            bell.turn(POLLING);
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(output);
            }
            if bell.rests() {
                return Poll::Pending;
            }
            if bell.queue.0.load(Ordering::Relaxed) > 0 {
                break;
            }
        }
        bell.turn(QUEUED);
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<F> Drop for AtOnce<F> {
    fn drop(&mut self) {
        self.bell.turn(OVER);
    }
}

impl Bell {
    /// Takes another state and keeps count of who waits. Whoever called before this has done what it called
    /// for, and that is seen from here on.
    fn turn(&self, next: u8) {
        let before = self.state.swap(next, Ordering::AcqRel);
        self.counted(before, next);
    }

    fn counted(&self, before: u8, next: u8) {
        if next == QUEUED {
            self.queue.0.fetch_add(1, Ordering::Relaxed);
        }
        if before == QUEUED {
            self.queue.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Rests, unless somebody has called.
    fn rests(&self) -> bool {
        let rest =
            self.state.compare_exchange(POLLING, RESTING, Ordering::AcqRel, Ordering::Acquire);
        rest.is_ok()
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Written also where it stays the same: who polls next has to see what was done before this.
        let called = |state| match state {
            RESTING => Some(QUEUED),
            POLLING => Some(CALLED),
            same => Some(same),
        };
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, called);
        if before == Ok(RESTING) {
            self.counted(RESTING, QUEUED);
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;

    /// How often it was woken.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Wakes itself so many times; how often it was polled.
    fn waking_itself(times: usize) -> impl Future<Output = usize> {
        let mut polled = 0;
        std::future::poll_fn(move |context| {
            polled += 1;
            if polled > times {
                return Poll::Ready(polled);
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[test]
    fn a_future_that_wakes_itself_is_polled_at_once() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut future = AtOnce::new(waking_itself(IN_A_ROW - 1), Queue::default());
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert_eq!(polled, Poll::Ready(IN_A_ROW));
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn others_have_their_turn_after_a_while() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut future = AtOnce::new(waking_itself(IN_A_ROW), Queue::default());
        let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert_eq!(poll(), Poll::Pending);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(poll(), Poll::Ready(IN_A_ROW + 1));
    }

    #[test]
    fn who_is_woken_while_nobody_polls_wakes_the_task_once() {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let asking = async move {
            let first = receiver.recv().await;
            (first, receiver.recv().await)
        };
        let mut future = AtOnce::new(asking, Queue::default());
        let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert_eq!(poll(), Poll::Pending);
        sender.send(1).unwrap();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(poll(), Poll::Pending);
        sender.send(2).unwrap();
        assert_eq!(poll(), Poll::Ready((Some(1), Some(2))));
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    /// Two halves that wake each other from two threads: a call that were lost would hang it.
    #[test]
    fn no_call_is_lost() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap();
        let (to, mut from) = tokio::sync::mpsc::channel(1);
        let (back, mut answers) = tokio::sync::mpsc::channel(1);
        let echo = async move {
            while let Some(number) = from.recv().await {
                back.send(number).await.unwrap();
            }
        };
        let ask = async move {
            for number in 0..200_000u32 {
                to.send(number).await.unwrap();
                assert_eq!(answers.recv().await, Some(number));
            }
        };
        let queue = Queue::default();
        runtime.block_on(async {
            tokio::spawn(AtOnce::new(echo, queue.clone()));
            let asked = tokio::spawn(AtOnce::new(ask, queue.clone()));
            tokio::time::timeout(Duration::from_secs(60), asked).await.unwrap().unwrap();
        });
        drop(runtime);
        assert_eq!(queue.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_woke_itself_waits_for_others_who_wait() {
        let (queue, count) = (Queue::default(), Arc::new(Count::default()));
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut other = AtOnce::new(async move { receiver.recv().await }, queue.clone());
        assert_eq!(Pin::new(&mut other).poll(&mut context), Poll::Pending);
        sender.send(()).unwrap();

        let mut future = AtOnce::new(waking_itself(1), queue.clone());
        assert_eq!(Pin::new(&mut future).poll(&mut context), Poll::Pending);
        assert_eq!(queue.0.load(Ordering::Relaxed), 2);
        assert_eq!(Pin::new(&mut other).poll(&mut context), Poll::Ready(Some(())));
        assert_eq!(Pin::new(&mut future).poll(&mut context), Poll::Ready(2));
        assert_eq!(queue.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_goes_away_waits_no_longer() {
        let (queue, count) = (Queue::default(), Arc::new(Count::default()));
        let waker = Waker::from(count);
        let mut future = AtOnce::new(waking_itself(IN_A_ROW), queue.clone());
        assert_eq!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)), Poll::Pending);
        let late = future.waker.clone();
        assert_eq!(queue.0.load(Ordering::Relaxed), 1);
        drop(future);
        late.wake();
        assert_eq!(queue.0.load(Ordering::Relaxed), 0);
    }
}
