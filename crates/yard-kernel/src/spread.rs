//! Many small works that know nothing of each other, done on all cores. Threads live as long as the
//! call; what they do must not change the plan.

use std::num::NonZero;
use std::thread;

use yard_core::{Call, Result};

/// Fewer than this are done sooner than a thread starts.
const FEW: usize = 16;
/// Threads beyond this wait for each other in the staging folder.
const MOST_THREADS: usize = 4;

/// Does `work` to every item; the answers in their order, or of several faults the first item's.
pub(crate) fn over_cores<T: Sync, R: Send>(
    items: &[T],
    call: &Call,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let work = |part: &[T]| {
        let done = part.iter().map(|item| {
            call.check()?;
            work(item)
        });
        done.collect::<Result<Vec<_>>>()
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    if cores == 1 || items.len() < FEW {
        return work(items);
    }
    let (mine, others) = items.split_at(items.len().div_ceil(cores));
    thread::scope(|scope| {
        let work = &work;
        let parts = others.chunks(mine.len());
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let mut all = work(mine);
        for part in others {
            let part = part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all = all.and_then(|mut all| {
                all.extend(part?);
                Ok(all)
            });
        }
        all
    })
}
