//! Measuring on a noisy machine: the contestants take turns, and what counts is the median of the
//! rounds, for the ratio the median of the ratios within a round.

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

/// Median time of one run of `work`, after one that is not counted.
pub(crate) fn alone(rounds: usize, each: u32, mut work: impl FnMut()) -> Duration {
    work();
    median((0..rounds).map(|_| timed(each, &mut work)))
}

/// Time of one of `each` runs.
pub(crate) fn timed(each: u32, work: &mut dyn FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..each {
        work();
    }
    start.elapsed() / each
}

/// The middle one of some times.
pub(crate) fn median(times: impl Iterator<Item = Duration>) -> Duration {
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
