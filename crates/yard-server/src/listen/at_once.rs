//! Polls a connection again at once where it woke itself and is the only one that is busy. It does that when a
//! body comes after its head: one half of it hears the body, for which the other half waits.
//! The runtime would put it at the end of its queue and wake a second thread to help, for work that is over
//! before that thread is there. Where there are others, that is what shall happen: the second thread hears
//! them.
//!
//! A call that asks for nothing is not heard: see [`hearing`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

use super::attentive::Turn;
use crate::hearing;

/// How often a future is polled in a row at most.
const IN_A_ROW: usize = 4;

/// Who had the last turn. A hint: it decides nothing but the order of work.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<AtomicUsize>);

/// A future that is polled again at once where it woke itself.
pub(super) struct AtOnce<F> {
    future: Pin<Box<F>>,
    bell: Arc<Bell>,
    waker: Waker,
    turns: Turns,
    turn: Turn,
}

/// What the future wakes: itself while it is polled, its task otherwise.
struct Bell {
    state: AtomicU8,
    task: AtomicWaker,
}

/// Nobody is polling, and nobody has called since.
const RESTING: u8 = 0;
/// Somebody is polling.
const POLLING: u8 = 1;
/// Somebody has called since the last poll began.
const CALLED: u8 = 2;

impl<F: Future> AtOnce<F> {
    /// A future that takes turns with others, and tells `turn` when one of its own begins.
    pub(super) fn new(future: F, turns: Turns, turn: Turn) -> Self {
        let bell = Arc::new(Bell { state: AtomicU8::new(RESTING), task: AtomicWaker::new() });
        let waker = Waker::from(Arc::clone(&bell));
        Self { future: Box::pin(future), waker, bell, turns, turn }
    }
}

impl<F> AtOnce<F> {
    /// Takes a turn; whether the last one was its own.
    fn takes_turn_alone(&self) -> bool {
        let own = Arc::as_ptr(&self.bell).addr();
        self.turns.0.swap(own, Ordering::Relaxed) == own
    }
}

impl<F: Future> Future for AtOnce<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let is_alone = self.takes_turn_alone();
        let in_a_row = if is_alone { IN_A_ROW } else { 1 };
        let Self { future, bell, waker, turn, .. } = &mut *self;
        bell.task.register(context.waker());
        for _ in 0..in_a_row {
            // Whoever called before this has done what it called for: that is seen from here on.
            bell.state.swap(POLLING, Ordering::AcqRel);
            turn.begin(is_alone);
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(output);
            }
            if bell.rests() {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Bell {
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
        if hearing::is_unheard() {
            return;
        }
        if self.state.swap(CALLED, Ordering::AcqRel) == RESTING {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;
    use crate::hearing::unheard;

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
        let mut future = AtOnce::new(waking_itself(IN_A_ROW), Turns::default(), Turn::default());
        let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert_eq!(poll(), Poll::Pending);
        assert_eq!(count.0.load(Ordering::Relaxed), 1, "nobody knows yet whether it is alone");
        assert_eq!(poll(), Poll::Ready(IN_A_ROW + 1));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn others_have_their_turn_after_a_while() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut future =
            AtOnce::new(waking_itself(2 * IN_A_ROW), Turns::default(), Turn::default());
        let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        for woken in [1, 2] {
            assert_eq!(poll(), Poll::Pending);
            assert_eq!(count.0.load(Ordering::Relaxed), woken);
        }
        assert_eq!(poll(), Poll::Ready(2 * IN_A_ROW + 1));
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
        let mut future = AtOnce::new(asking, Turns::default(), Turn::default());
        let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert_eq!(poll(), Poll::Pending);
        sender.send(1).unwrap();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(poll(), Poll::Pending);
        sender.send(2).unwrap();
        assert_eq!(poll(), Poll::Ready((Some(1), Some(2))));
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_call_that_need_not_be_heard_is_not_and_others_meanwhile_are() {
        let (turns, count) = (Turns::default(), Arc::new(Count::default()));
        let waker = Waker::from(Arc::clone(&count));
        let polls = AtomicUsize::new(0);
        let mut future = AtOnce::new(
            std::future::poll_fn(|context| {
                let own = context.waker().clone();
                assert_eq!(unheard(|| 5), (5, false));
                assert_eq!(unheard(|| own.wake_by_ref()), ((), true));
                if polls.fetch_add(1, Ordering::Relaxed) == 1 {
                    // Another thread's is heard also while this one's are not.
                    let other = || std::thread::spawn(move || own.wake()).join().unwrap();
                    assert_eq!(unheard(other), ((), false));
                }
                Poll::<()>::Pending
            }),
            turns,
            Turn::default(),
        );
        let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert_eq!(poll(), Poll::Pending);
        assert_eq!((polls.load(Ordering::Relaxed), count.0.load(Ordering::Relaxed)), (1, 0));
        assert_eq!(poll(), Poll::Pending);
        assert_eq!((polls.load(Ordering::Relaxed), count.0.load(Ordering::Relaxed)), (3, 0));
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
        let turns = Turns::default();
        runtime.block_on(async {
            tokio::spawn(AtOnce::new(echo, turns.clone(), Turn::default()));
            let asked = tokio::spawn(AtOnce::new(ask, turns.clone(), Turn::default()));
            tokio::time::timeout(Duration::from_secs(60), asked).await.unwrap().unwrap();
        });
    }

    #[test]
    fn where_there_are_others_the_runtime_decides() {
        let (turns, count) = (Turns::default(), Arc::new(Count::default()));
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let mut one = AtOnce::new(waking_itself(2), turns.clone(), Turn::default());
        let mut other = AtOnce::new(waking_itself(9), turns, Turn::default());
        for woken in [1, 3] {
            assert_eq!(Pin::new(&mut one).poll(&mut context), Poll::Pending);
            assert_eq!(count.0.load(Ordering::Relaxed), woken);
            assert_eq!(Pin::new(&mut other).poll(&mut context), Poll::Pending);
        }
        assert_eq!(Pin::new(&mut other).poll(&mut context), Poll::Pending);
        assert_eq!(Pin::new(&mut one).poll(&mut context), Poll::Ready(3));
    }
}
