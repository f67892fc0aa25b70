//! Puts the matches of many files together in the order of the walk, and knows when there are enough:
//! that is when the files up to some point are all searched and hold more than the answer may.

use std::collections::BTreeMap;

use yard_core::op::GrepMatch;

use super::search::FileMatches;

pub(super) struct Collected {
    limit: usize,
    bytes_left: u64,
    next: usize,
    waiting: BTreeMap<usize, FileMatches>,
    matches: Vec<GrepMatch>,
    truncated: bool,
}

impl Collected {
    pub(super) fn new(limit: usize, max_bytes: u64) -> Self {
        Self {
            limit,
            bytes_left: max_bytes,
            next: 0,
            waiting: BTreeMap::new(),
            matches: Vec::new(),
            truncated: false,
        }
    }

    /// Takes the matches of file `number`; whether there are enough now.
    pub(super) fn add(&mut self, number: usize, file: FileMatches) -> bool {
        self.waiting.insert(number, file);
        while let Some(file) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.append(file);
        }
        self.truncated
    }

    fn append(&mut self, file: FileMatches) {
        for found in file.matches {
            if self.truncated {
                return;
            }
            let cost = cost(&found);
            if self.matches.len() >= self.limit
                || (cost > self.bytes_left && !self.matches.is_empty())
            {
                self.truncated = true;
                return;
            }
            self.bytes_left = self.bytes_left.saturating_sub(cost);
            self.matches.push(found);
        }
        self.truncated |= file.more;
    }

    pub(super) fn into_matches(self) -> (Vec<GrepMatch>, bool) {
        (self.matches, self.truncated)
    }
}

fn cost(found: &GrepMatch) -> u64 {
    let around = found.before.iter().chain(&found.after).map(String::len).sum::<usize>();
    (found.text.len() + around + found.path.relative().len() + 32) as u64
}
