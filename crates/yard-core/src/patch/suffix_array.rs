//! A suffix array of the lines of a file: the places sorted by the lines that follow them. A run of lines is found in
//! time that does not grow with how often its lines occur. Lines are numbers here; equal lines have equal numbers.

use crate::Result;
use crate::bounds::Steps;

/// All places of a file, sorted by the lines from there on.
pub(super) struct SuffixArray {
    /// The places.
    order: Vec<u32>,
    /// The rank of each place: places with the same next `depth` lines have the same rank, and ranks are in order.
    ranks: Vec<u32>,
    /// How many lines from each place on are sorted.
    depth: usize,
}

impl SuffixArray {
    /// `order` are all places by their line; `lines` has the line of each place.
    pub(super) fn new(order: &[u32], lines: &[u32]) -> Self {
        Self { order: order.to_vec(), ranks: lines.to_vec(), depth: 1 }
    }

    /// Sorts by at least so many lines.
    pub(super) fn deepen(&mut self, depth: usize, steps: &mut Steps<'_>) -> Result<()> {
        while self.depth < depth.min(self.order.len()) {
            self.double(steps)?;
        }
        Ok(())
    }

    /// Sorts by twice as many lines: by the second half, and then stably by the first.
    fn double(&mut self, steps: &mut Steps<'_>) -> Result<()> {
        let (size, depth) = (self.order.len(), self.depth);
        let shortest = (size - depth..size).map(|place| place as u32);
        let others = self.order.iter().filter(|place| **place as usize >= depth);
        let by_second = shortest.chain(others.map(|place| place - depth as u32));
        // Where the places of each rank begin: they are together in the order of the first half.
        let mut next: Vec<u32> = Vec::new();
        for (at, place) in self.order.iter().enumerate() {
            steps.step()?;
            let rank = self.ranks[*place as usize] as usize;
            if next.len() <= rank {
                next.resize(rank + 1, at as u32);
            }
        }
        let mut order = vec![0; size];
        for place in by_second {
            steps.step()?;
            let slot = &mut next[self.ranks[place as usize] as usize];
            order[*slot as usize] = place;
            *slot += 1;
        }
        let mut ranks = vec![0; size];
        let halves = |place: u32| {
            let place = place as usize;
            (self.ranks[place], self.ranks.get(place + depth))
        };
        for two in order.windows(2) {
            steps.step()?;
            let differs = u32::from(halves(two[0]) != halves(two[1]));
            ranks[two[1] as usize] = ranks[two[0] as usize] + differs;
        }
        *self = Self { order, ranks, depth: 2 * depth };
        Ok(())
    }

    /// The places where `wanted` begins, in no order. It is no longer than what is sorted.
    pub(super) fn places(&self, lines: &[u32], wanted: &[u32]) -> &[u32] {
        let beginning = |place: &u32| {
            let rest = &lines[*place as usize..];
            &rest[..rest.len().min(wanted.len())]
        };
        let first = self.order.partition_point(|place| beginning(place) < wanted);
        let rest = &self.order[first..];
        &rest[..rest.partition_point(|place| beginning(place) == wanted)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Bounds;

    proptest! {
        #[test]
        fn runs_are_found_where_they_stand(
            lines in proptest::collection::vec(0u32..3, 0..60),
            wanted in proptest::collection::vec(0u32..3, 1..12),
        ) {
            let mut order: Vec<u32> = (0..lines.len() as u32).collect();
            order.sort_by_key(|place| lines[*place as usize]);
            // Numbers are given without gaps.
            let mut known: Vec<u32> = lines.clone();
            known.sort_unstable();
            known.dedup();
            let dense: Vec<u32> = lines
                .iter()
                .map(|line| known.iter().position(|one| one == line).unwrap() as u32)
                .collect();
            let dense_wanted: Option<Vec<u32>> = wanted
                .iter()
                .map(|line| known.iter().position(|one| one == line).map(|at| at as u32))
                .collect();
            let mut runs = SuffixArray::new(&order, &dense);
            runs.deepen(wanted.len(), &mut Bounds::NONE.steps()).unwrap();
            let mut found = match dense_wanted {
                Some(wanted) => runs.places(&dense, &wanted).to_vec(),
                None => Vec::new(),
            };
            found.sort_unstable();
            let twin: Vec<u32> = (0..lines.len())
                .filter(|at| lines[*at..].starts_with(&wanted))
                .map(|at| at as u32)
                .collect();
            prop_assert_eq!(found, twin);
        }
    }
}
