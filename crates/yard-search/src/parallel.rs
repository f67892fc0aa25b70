//! Parallel work on many items, with results in the order of the items. The threads live as long as the call. Memory is
//! bounded: the producer of items waits while too many are in progress.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use parking_lot::Mutex;
use yard_core::{Call, Result};

/// Most batches in progress at a time.
const AHEAD: usize = 16;
/// [`map`] starts no threads for fewer items than this, because that takes longer than the work.
const FEW: usize = 16;
/// Most threads of [`map`]: more of them only wait for each other in the staging folder.
const MAX_THREADS: usize = 4;

/// How many threads can run at a time.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Applies `work` to every item. Returns the results in the order of the items, or the fault of the first item that
/// failed.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    call: &Call,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let work = |item: &T| call.check().and_then(|()| work(item));
    let threads = cores().min(MAX_THREADS);
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

/// One thread that produces items, several that work on them, and the calling thread, which consumes the results.
pub struct Pipeline {
    /// Threads that work.
    pub threads: usize,
    /// Items that a thread gets at a time. The first batches are smaller, so that the first results come early.
    pub batch: usize,
}

/// The items of a batch, and where their results go.
type Job<T, R> = (Vec<T>, SyncSender<Vec<R>>);

impl Pipeline {
    /// Runs until all items are done, or until `consume` breaks or fails. `produce` sends items until sending breaks;
    /// `worker` is called once a thread and makes the function that does the work there. Returns the result of
    /// `produce`.
    pub fn run<T: Send, R: Send, P: Send, W: FnMut(T) -> R>(
        &self,
        produce: impl FnOnce(&mut dyn FnMut(T) -> ControlFlow<()>) -> Result<P> + Send,
        worker: impl Fn() -> W + Sync,
        mut consume: impl FnMut(R) -> Result<ControlFlow<()>>,
    ) -> Result<P> {
        let stopped = AtomicBool::new(false);
        let (jobs, queue) = sync_channel(AHEAD);
        let (order, results) = sync_channel(AHEAD);
        // Only the threads hold the queue, so that the producer does not wait forever if all of them panic.
        let queue = Arc::new(Mutex::new(queue));
        thread::scope(|scope| {
            for _ in 0..self.threads {
                let (queue, worker, stopped) = (Arc::clone(&queue), &worker, &stopped);
                scope.spawn(move || run_worker(&queue, worker(), stopped));
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
            let mut consumed = Ok(ControlFlow::Continue(()));
            for result in done.flatten() {
                consumed = consume(result);
                if !matches!(consumed, Ok(ControlFlow::Continue(()))) {
                    break;
                }
            }
            stopped.store(true, Ordering::Relaxed);
            let produced = producer.join().unwrap_or_else(|panic| resume_unwind(panic));
            consumed.and(produced)
        })
    }
}

/// Collects items into batches and sends them to the workers.
struct Batches<T, R> {
    largest: usize,
    sent: usize,
    next: Vec<T>,
    jobs: SyncSender<Job<T, R>>,
    /// The receivers of the batches' results, in the order of the batches.
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

    /// Sends the next batch. Breaks if no more results are consumed.
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

fn run_worker<T, R>(
    queue: &Mutex<Receiver<Job<T, R>>>,
    mut work: impl FnMut(T) -> R,
    stopped: &AtomicBool,
) {
    loop {
        let next = queue.lock().recv();
        let Ok((batch, results)) = next else { return };
        let wanted = batch.into_iter().take_while(|_| !stopped.load(Ordering::Relaxed));
        // Sending fails if no more results are consumed.
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
    fn a_consumer_that_breaks_stops_the_work() {
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
