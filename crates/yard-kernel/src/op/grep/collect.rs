//! Collects the matches of files, in the order of the walk, until the answer is full.

use yard_core::op::GrepMatch;

use super::search::FileMatches;
use yard_search::Flow;

pub(super) struct Collected {
    limit: usize,
    bytes_left: u64,
    matches: Vec<GrepMatch>,
    truncated: bool,
}

impl Collected {
    pub(super) fn new(limit: usize, max_bytes: u64) -> Self {
        Self { limit, bytes_left: max_bytes, matches: Vec::new(), truncated: false }
    }

    /// Adds the matches of the next file. Breaks once the answer is full and there are more matches.
    pub(super) fn add(&mut self, file: FileMatches) -> Flow {
        for matched in file.matches {
            let cost = cost(&matched);
            let fits = cost <= self.bytes_left || self.matches.is_empty();
            if self.matches.len() >= self.limit || !fits {
                self.truncated = true;
                return Flow::Break(());
            }
            self.bytes_left = self.bytes_left.saturating_sub(cost);
            self.matches.push(matched);
        }
        self.truncated = file.more;
        if self.truncated { Flow::Break(()) } else { Flow::Continue(()) }
    }

    pub(super) fn into_matches(self) -> (Vec<GrepMatch>, bool) {
        (self.matches, self.truncated)
    }
}

fn cost(matched: &GrepMatch) -> u64 {
    let around = matched.before.iter().chain(&matched.after).map(String::len).sum::<usize>();
    (matched.text.len() + around + matched.path.relative().len() + 32) as u64
}
