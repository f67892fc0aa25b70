//! Work on many items by several threads, whose results come in the order of the items. The threads live
//! as long as the call. Memory is bounded: what produces items waits when too many are under way.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use yard_core::{Call, Result};

/// Batches that may be under way at a time.
const AHEAD: usize = 16;
/// [`map`] does fewer items than this without a thread: to start one takes longer.
const FEW: usize = 16;
/// Threads of [`map`]: more than this wait for each other in the staging folder.
const MOST_THREADS: usize = 4;

/// How many threads can run at a time.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does `work` to every item; the results in their order, or of several faults the first item's.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    call: &Call,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let work = |item: &T| call.check().and_then(|()| work(item));
    let threads = cores().min(MOST_THREADS);
    if threads == 1 || items.len() < FEW {
        return items.iter().map(work).collect();
    }
    let mut results = Vec::with_capacity(items.len());
    Pipeline { threads, batch: 8 }.run(
        |send| {
            let _ = items.iter().try_for_each(send);
            Ok(())
        },
        || work,
        |result| {
            results.push(result?);
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(results)
}

/// One thread that produces items, several that work on them, and the caller, who takes the results.
pub struct Pipeline {
    /// Threads that work.
    pub threads: usize,
    /// Items that a thread gets at a time. The first batches are smaller, so that a caller who wants only
    /// a few results gets them early.
    pub batch: usize,
}

/// The items of a batch, and where their results go.
type Job<T, R> = (Vec<T>, SyncSender<Vec<R>>);

impl Pipeline {
    /// Runs until all items are done, or until `take` has enough or fails. `produce` hands out items until
    /// it is told to stop; `worker` is called once by each thread for what does the work there. The answer
    /// is that of `produce`.
    pub fn run<T: Send, R: Send, P: Send, W: FnMut(T) -> R>(
        &self,
        produce: impl FnOnce(&mut dyn FnMut(T) -> ControlFlow<()>) -> Result<P> + Send,
        worker: impl Fn() -> W + Sync,
        mut take: impl FnMut(R) -> Result<ControlFlow<()>>,
    ) -> Result<P> {
        let stopped = AtomicBool::new(false);
        let (jobs, queue) = sync_channel(AHEAD);
        let (order, results) = sync_channel(AHEAD);
        // Only the threads hold the queue: should all of them panic, nothing waits for them.
        let queue = Arc::new(Mutex::new(queue));
        thread::scope(|scope| {
            for _ in 0..self.threads {
                let (queue, worker, stopped) = (Arc::clone(&queue), &worker, &stopped);
                scope.spawn(move || work_off(&queue, worker(), stopped));
            }
            drop(queue);
            let mut batches =
                Batches { largest: self.batch, sent: 0, next: Vec::new(), jobs, order };
            let producer = scope.spawn(move || {
                let produced = produce(&mut |item| batches.add(item))?;
                let _ = batches.send();
                Ok(produced)
            });
            let done = results.into_iter().map_while(|batch: Receiver<Vec<R>>| batch.recv().ok());
            let mut taken = Ok(ControlFlow::Continue(()));
            for result in done.flatten() {
                taken = take(result);
                if !matches!(taken, Ok(ControlFlow::Continue(()))) {
                    break;
                }
            }
            stopped.store(true, Ordering::Relaxed);
            let produced = producer.join().unwrap_or_else(|panic| resume_unwind(panic));
            taken.and(produced)
        })
    }
}

/// Puts items together to batches and hands them out.
struct Batches<T, R> {
    largest: usize,
    sent: usize,
    next: Vec<T>,
    jobs: SyncSender<Job<T, R>>,
    /// Where the results of the batches come from, in the order of the batches.
    order: SyncSender<Receiver<Vec<R>>>,
}

impl<T, R> Batches<T, R> {
    fn add(&mut self, item: T) -> ControlFlow<()> {
        self.next.push(item);
        if self.next.len() < self.largest.min(self.sent + 1) {
            return ControlFlow::Continue(());
        }
        self.send()
    }

    /// Hands out the next batch; breaks if no more results are taken.
    fn send(&mut self) -> ControlFlow<()> {
        let batch = std::mem::take(&mut self.next);
        self.sent += 1;
        let (results, done) = sync_channel(1);
        match self.order.send(done).is_ok() && self.jobs.send((batch, results)).is_ok() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

fn work_off<T, R>(
    queue: &Mutex<Receiver<Job<T, R>>>,
    mut work: impl FnMut(T) -> R,
    stopped: &AtomicBool,
) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((batch, results)) = next else { return };
        let wanted = batch.into_iter().take_while(|_| !stopped.load(Ordering::Relaxed));
        // The results are not taken any more if the caller has enough.
        let _ = results.send(wanted.map(&mut work).collect());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use yard_core::{Fault, FaultCode};

    use super::*;

    fn numbers(
        most: usize,
    ) -> impl FnOnce(&mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<usize> {
        move |send| {
            let mut sent = 0;
            for number in 0..most {
                sent += 1;
                if send(number).is_break() {
                    break;
                }
            }
            Ok(sent)
        }
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for (threads, batch, most) in [(1, 1, 0), (1, 64, 1), (3, 1, 100), (4, 7, 5_000)] {
            let mut seen = Vec::new();
            let produced = Pipeline { threads, batch }.run(
                numbers(most),
                || |number| number * 2,
                |double| {
                    seen.push(double);
                    Ok(ControlFlow::Continue(()))
                },
            );
            assert_eq!(produced, Ok(most));
            assert!(
                seen.iter().copied().eq((0..most).map(|number| number * 2)),
                "{threads} {batch}"
            );
        }
    }

    #[test]
    fn a_caller_that_has_enough_stops_the_work() {
        let worked = AtomicUsize::new(0);
        let mut left = 10;
        let produced = Pipeline { threads: 2, batch: 8 }.run(
            numbers(1_000_000),
            || |_| worked.fetch_add(1, Ordering::Relaxed),
            |_| {
                left -= 1;
                Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        );
        assert!(produced.unwrap() < 10_000);
        assert!(worked.into_inner() < 10_000);
    }

    #[test]
    fn the_first_fault_in_the_order_of_the_items_is_the_answer() {
        let fault = |number: usize| Fault::new(FaultCode::Io, number.to_string());
        let answer = Pipeline { threads: 3, batch: 4 }.run(
            numbers(1_000),
            || |number| if number < 100 { Ok(()) } else { Err(fault(number)) },
            |done| done.map(ControlFlow::Continue),
        );
        assert_eq!(answer.map_err(|fault| fault.message().to_owned()), Err("100".to_owned()));
        let failed = Pipeline { threads: 1, batch: 1 }.run(
            |_: &mut dyn FnMut(usize) -> ControlFlow<()>| Err::<(), _>(fault(7)),
            || |number| number,
            |_| Ok(ControlFlow::Continue(())),
        );
        assert_eq!(failed.map_err(|fault| fault.message().to_owned()), Err("7".to_owned()));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_in_every_thread_does_not_leave_the_others_waiting() {
        let _ = Pipeline { threads: 2, batch: 1 }.run(
            numbers(100_000),
            || |number: usize| assert!(number < 3),
            |()| Ok(ControlFlow::Continue(())),
        );
    }
}
