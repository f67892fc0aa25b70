//! Measures times on a noisy machine: the contestants take turns, a time is the median of the rounds, and a ratio the
//! median of the ratios within a round.

use std::time::{Duration, Instant};

/// Two contestants' times.
pub(crate) struct Duel {
    /// Median time of one of ours.
    pub(crate) ours: Duration,
    /// Median time of one of the peer's.
    pub(crate) peer: Duration,
    /// Median of ours / peer.
    pub(crate) ratio: f64,
}

impl Duel {
    /// The medians of several.
    pub(crate) fn middle_of(duels: &[Self]) -> Self {
        Self {
            ours: median(duels.iter().map(|duel| duel.ours)),
            peer: median(duels.iter().map(|duel| duel.peer)),
            ratio: middle(duels.iter().map(|duel| duel.ratio)),
        }
    }
}

/// Lets both do `each` of their work a round, in turns; the first round is not counted.
pub(crate) fn duel(
    rounds: usize,
    each: u32,
    mut ours: impl FnMut(),
    mut peer: impl FnMut(),
) -> Duel {
    let mut times = Vec::with_capacity(rounds);
    for round in 0..=rounds {
        let pair = if round % 2 == 0 {
            let first = timed(each, &mut ours);
            (first, timed(each, &mut peer))
        } else {
            let second = timed(each, &mut peer);
            (timed(each, &mut ours), second)
        };
        if round > 0 {
            times.push(pair);
        }
    }
    Duel {
        ours: median(times.iter().map(|(ours, _)| *ours)),
        peer: median(times.iter().map(|(_, peer)| *peer)),
        ratio: middle(times.iter().map(|(a, b)| a.as_secs_f64() / b.as_secs_f64())),
    }
}

/// One contestant's times.
#[derive(Clone, Copy, Default)]
pub(crate) struct Solo {
    /// By the clock on the wall, with whatever else the machine does.
    pub(crate) wall: Duration,
    /// On a processor, of the calling thread alone.
    pub(crate) processor: Duration,
}

/// One run.
pub(crate) fn once(work: impl FnOnce()) -> Solo {
    let (start, before) = (Instant::now(), on_processor());
    work();
    Solo { wall: start.elapsed(), processor: on_processor().saturating_sub(before) }
}

/// Median of `rounds` runs, after one that is not counted.
pub(crate) fn alone(rounds: usize, mut work: impl FnMut()) -> Solo {
    work();
    solo((0..rounds).map(|_| once(&mut work)).collect())
}

/// The medians of some runs.
pub(crate) fn solo(runs: Vec<Solo>) -> Solo {
    Solo {
        wall: median(runs.iter().map(|run| run.wall)),
        processor: median(runs.iter().map(|run| run.processor)),
    }
}

/// How long this thread has been running, as the kernel counts it.
fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Time of one of `each` runs.
fn timed(each: u32, work: &mut dyn FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..each {
        work();
    }
    start.elapsed() / each
}

/// The middle one of some times.
fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The middle one of some numbers.
pub(crate) fn middle(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
