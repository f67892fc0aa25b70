//! Which lines of two texts are the same, in time that grows with the texts and not with their square. Small
//! texts are compared exactly; in large ones lines that are unique on both sides part what is compared
//! exactly, and what would take too long is called replaced as a whole. The answer is always a correct
//! way from one text to the other, and always the same for the same texts.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::bounds::Steps;
use crate::{Bounds, Result};

/// Up to so many lines on both sides together are compared exactly, whatever that takes.
const SMALL: usize = 2_048;
/// The same for a part between two lines that are unique.
const SMALL_PART: usize = 256;
/// Parts are parted again at most so often.
const MAX_DEPTH: usize = 24;

/// The lines of two texts as numbers: equal lines have equal numbers. Comparing numbers takes the same time
/// however long the lines are.
pub(crate) fn numbered<T: Hash + Eq>(
    old: &[T],
    new: &[T],
    bounds: Bounds<'_>,
) -> Result<[Vec<u32>; 2]> {
    let mut known: HashMap<&T, u32> = HashMap::with_capacity(old.len());
    let mut steps = bounds.steps();
    let mut number = |line| {
        steps.step()?;
        let next = known.len() as u32;
        Ok(*known.entry(line).or_insert(next))
    };
    let old = old.iter().map(&mut number).collect::<Result<_>>()?;
    let new = new.iter().map(&mut number).collect::<Result<_>>()?;
    Ok([old, new])
}

/// The operations that lead from `old` to `new`. `algorithm` is how small texts are compared.
pub(crate) fn compare<T: Hash + Eq>(
    old: &[T],
    new: &[T],
    algorithm: Algorithm,
    bounds: Bounds<'_>,
) -> Result<Vec<DiffOp>> {
    let [old, new] = numbered(old, new, bounds)?;
    compare_numbered(&old, &new, algorithm, bounds)
}

/// As [`compare`], of lines that have numbers.
pub(crate) fn compare_numbered(
    old: &[u32],
    new: &[u32],
    algorithm: Algorithm,
    bounds: Bounds<'_>,
) -> Result<Vec<DiffOp>> {
    bounds.check()?;
    if is_small(old.len() + new.len()) {
        return Ok(capture_diff_slices(algorithm, old, new));
    }
    Ok(operations(&found(old, new, algorithm, bounds)?, old.len(), new.len()))
}

/// Whether texts with so many lines together are compared exactly.
pub(crate) fn is_small(lines: usize) -> bool {
    lines <= SMALL
}

/// What [`compare`] finds to be the same in two texts that are not small. Lines with which both begin or end may be left
/// out of both: the rest is compared in the same way.
pub(crate) fn same_in_large<T: Hash + Eq>(
    old: &[T],
    new: &[T],
    algorithm: Algorithm,
    bounds: Bounds<'_>,
) -> Result<Vec<Same>> {
    bounds.check()?;
    let [old, new] = numbered(old, new, bounds)?;
    found(&old, &new, algorithm, bounds)
}

fn found(old: &[u32], new: &[u32], algorithm: Algorithm, bounds: Bounds<'_>) -> Result<Vec<Same>> {
    let mut search = Search { old, new, algorithm, steps: bounds.steps(), found: Vec::new() };
    search.part(Part { old: 0..old.len(), new: 0..new.len() }, 0)?;
    Ok(search.found)
}

/// A run of lines that are the same on both sides.
#[derive(Clone, Copy)]
pub(crate) struct Same {
    pub(crate) old: usize,
    pub(crate) new: usize,
    pub(crate) length: usize,
}

/// Lines of both sides that are compared with each other.
#[derive(Clone)]
struct Part {
    old: Range<usize>,
    new: Range<usize>,
}

impl Part {
    fn is_one_sided(&self) -> bool {
        self.old.is_empty() || self.new.is_empty()
    }
}

struct Search<'a> {
    old: &'a [u32],
    new: &'a [u32],
    algorithm: Algorithm,
    steps: Steps<'a>,
    /// What is the same, ascending.
    found: Vec<Same>,
}

impl Search<'_> {
    /// Finds what is the same within a part.
    fn part(&mut self, part: Part, depth: usize) -> Result<()> {
        let (part, tail) = self.trimmed(part)?;
        if !part.is_one_sided() {
            self.middle(part, depth)?;
        }
        self.found.extend(tail);
        Ok(())
    }

    /// The part without the lines with which both sides begin and end. Those at the start are found
    /// with this; those at the end are returned.
    fn trimmed(&mut self, part: Part) -> Result<(Part, Option<Same>)> {
        let Part { mut old, mut new } = part;
        let (first_old, first_new) = (old.start, new.start);
        while !old.is_empty() && !new.is_empty() && self.old[old.start] == self.new[new.start] {
            self.steps.step()?;
            (old.start, new.start) = (old.start + 1, new.start + 1);
        }
        if old.start > first_old {
            let length = old.start - first_old;
            self.found.push(Same { old: first_old, new: first_new, length });
        }
        let end = old.end;
        while !old.is_empty() && !new.is_empty() && self.old[old.end - 1] == self.new[new.end - 1] {
            self.steps.step()?;
            (old.end, new.end) = (old.end - 1, new.end - 1);
        }
        let length = end - old.end;
        let tail = (length > 0).then_some(Same { old: old.end, new: new.end, length });
        Ok((Part { old, new }, tail))
    }

    fn middle(&mut self, part: Part, depth: usize) -> Result<()> {
        if part.old.len() + part.new.len() <= SMALL_PART {
            return self.exactly(&part);
        }
        // Past this depth, and where no line is unique, the part counts as replaced.
        let anchors = if depth < MAX_DEPTH { self.anchors(&part)? } else { Vec::new() };
        let (mut old, mut new) = (part.old.start, part.new.start);
        for anchor in &anchors {
            self.part(Part { old: old..anchor.0, new: new..anchor.1 }, depth + 1)?;
            self.found.push(Same { old: anchor.0, new: anchor.1, length: 1 });
            (old, new) = (anchor.0 + 1, anchor.1 + 1);
        }
        match anchors.is_empty() {
            true => Ok(()),
            false => self.part(Part { old: old..part.old.end, new: new..part.new.end }, depth + 1),
        }
    }

    fn exactly(&mut self, part: &Part) -> Result<()> {
        let (old, new) = (&self.old[part.old.clone()], &self.new[part.new.clone()]);
        for op in capture_diff_slices(self.algorithm, old, new) {
            self.steps.step()?;
            if let DiffOp::Equal { old_index, new_index, len } = op {
                let (old, new) = (part.old.start + old_index, part.new.start + new_index);
                self.found.push(Same { old, new, length: len });
            }
        }
        Ok(())
    }

    /// The lines that are unique on both sides and in the same order on both: as many as possible.
    fn anchors(&mut self, part: &Part) -> Result<Vec<(usize, usize)>> {
        let (all_old, all_new) = (self.old, self.new);
        // Where a line is on each side; none once it was seen twice.
        let mut lines: HashMap<u32, (Seen, Seen)> = HashMap::with_capacity(part.old.len());
        for at in part.old.clone() {
            self.steps.step()?;
            lines.entry(all_old[at]).or_default().0.see(at);
        }
        for at in part.new.clone() {
            self.steps.step()?;
            if let Some((_, new)) = lines.get_mut(&all_new[at]) {
                new.see(at);
            }
        }
        let mut unique = Vec::new();
        for at in part.old.clone() {
            if let Some((Seen::Once(_), Seen::Once(new))) = lines.get(&all_old[at]) {
                unique.push((at, *new));
            }
        }
        Ok(longest_ascending(&unique))
    }
}

/// How often a line was seen.
#[derive(Clone, Copy, Default)]
enum Seen {
    #[default]
    Never,
    Once(usize),
    Often,
}

impl Seen {
    fn see(&mut self, at: usize) {
        *self = match self {
            Self::Never => Self::Once(at),
            _ => Self::Often,
        };
    }
}

/// Of pairs whose first numbers ascend, as many as possible whose second numbers ascend, too. (Patience
/// sorting: the last card of each pile, and for each card the one before it.)
fn longest_ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut piles: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, (_, new)) in pairs.iter().enumerate() {
        let pile = piles.partition_point(|top| pairs[*top].1 < *new);
        before.push(pile.checked_sub(1).map(|left| piles[left]));
        match piles.get_mut(pile) {
            Some(top) => *top = index,
            None => piles.push(index),
        }
    }
    let mut longest = Vec::with_capacity(piles.len());
    let mut next = piles.last().copied();
    while let Some(index) = next {
        longest.push(pairs[index]);
        next = before[index];
    }
    longest.reverse();
    longest
}

/// What is the same, and what stands between, as operations.
pub(crate) fn operations(found: &[Same], old_end: usize, new_end: usize) -> Vec<DiffOp> {
    let mut operations: Vec<DiffOp> = Vec::new();
    let (mut old, mut new) = (0, 0);
    let end = Same { old: old_end, new: new_end, length: 0 };
    for same in found.iter().chain([&end]) {
        let (old_index, old_len) = (old, same.old - old);
        let (new_index, new_len) = (new, same.new - new);
        match (old_len, new_len) {
            (0, 0) => {}
            (_, 0) => operations.push(DiffOp::Delete { old_index, old_len, new_index }),
            (0, _) => operations.push(DiffOp::Insert { old_index, new_index, new_len }),
            _ => operations.push(DiffOp::Replace { old_index, old_len, new_index, new_len }),
        }
        match operations.last_mut() {
            Some(DiffOp::Equal { len, .. }) if old_len + new_len == 0 => *len += same.length,
            _ if same.length > 0 => operations.push(DiffOp::Equal {
                old_index: same.old,
                new_index: same.new,
                len: same.length,
            }),
            _ => {}
        }
        (old, new) = (same.old + same.length, same.new + same.length);
    }
    operations
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;
    use crate::{Fault, FaultCode};

    /// What the operations make of `old`.
    fn applied(old: &[u32], new: &[u32], operations: &[DiffOp]) -> Vec<u32> {
        let (mut text, mut at) = (Vec::new(), (0, 0));
        for operation in operations {
            let (from, to) = (operation.old_range(), operation.new_range());
            assert_eq!((from.start, to.start), at, "{operations:?}");
            if let DiffOp::Equal { .. } = operation {
                assert_eq!(old[from.clone()], new[to.clone()]);
            }
            text.extend_from_slice(&new[to.clone()]);
            at = (from.end, to.end);
        }
        assert_eq!(at, (old.len(), new.len()));
        text
    }

    fn large(old: &[u32], new: &[u32]) -> Vec<DiffOp> {
        let bounds = Bounds::NONE;
        let algorithm = Algorithm::Myers;
        let mut search = Search { old, new, algorithm, steps: bounds.steps(), found: Vec::new() };
        search.part(Part { old: 0..old.len(), new: 0..new.len() }, 0).unwrap();
        operations(&search.found, old.len(), new.len())
    }

    fn changed(operations: &[DiffOp]) -> usize {
        let equal = |operation: &&DiffOp| !matches!(operation, DiffOp::Equal { .. });
        let lines = |operation: &DiffOp| operation.old_range().len() + operation.new_range().len();
        operations.iter().filter(equal).map(lines).sum()
    }

    #[test]
    fn a_few_changes_in_a_large_text_are_found() {
        let old: Vec<u32> = (0..50_000).collect();
        let mut new = old.clone();
        new[7] = 1_000_000;
        new.remove(30_000);
        new.insert(40_000, 2_000_000);
        let operations = compare(&old, &new, Algorithm::Myers, Bounds::NONE).unwrap();
        assert_eq!(applied(&old, &new, &operations), new);
        assert_eq!(changed(&operations), 4);
    }

    /// Texts that make other ways of comparing slow: the number of lines decides, nothing else.
    fn hard(kind: usize, size: u32) -> (Vec<u32>, Vec<u32>) {
        let mixed = |number: u32| number.wrapping_mul(2_654_435_761) >> 16;
        let lines = 0..size;
        match kind {
            // Nothing is the same.
            0 => (lines.clone().collect(), lines.map(|line| line + size).collect()),
            // Everything is there, and in the other order.
            1 => (lines.clone().collect(), lines.rev().collect()),
            // All lines are equal, and one side has more of them.
            2 => (vec![1; size as usize], vec![1; size as usize / 2]),
            // Two kinds of lines in an order that repeats nowhere.
            3 => {
                let bits = |line: u32| mixed(line) & 1;
                (
                    lines.clone().map(bits).collect(),
                    lines.map(|line| bits(line + 1_234_567)).collect(),
                )
            }
            // Everything is there, shuffled.
            _ => {
                let mut shuffled: Vec<u32> = lines.clone().collect();
                shuffled.sort_by_key(|line| mixed(*line));
                (lines.collect(), shuffled)
            }
        }
    }

    #[test]
    fn the_work_grows_with_the_texts_and_not_with_their_square() {
        for kind in 0..5 {
            let looks = |size: u32| {
                let (old, new) = hard(kind, size);
                let looks = AtomicUsize::new(0);
                let check = || {
                    looks.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                };
                let bounds = Bounds::new(usize::MAX, &check);
                let operations = compare(&old, &new, Algorithm::Myers, bounds).unwrap();
                assert_eq!(applied(&old, &new, &operations), new);
                looks.into_inner()
            };
            // Each line is looked at a few times at each depth; its square would be a million looks.
            for size in [10_000, 40_000] {
                let most = 3 * MAX_DEPTH * 2 * size as usize / 4_096;
                assert!((1..=most).contains(&looks(size)), "{kind} {size}: {}", looks(size));
            }
        }
    }

    #[test]
    fn a_comparison_can_be_stopped() {
        let (old, new) = hard(1, 40_000);
        let check = || Err(Fault::new(FaultCode::Timeout, "stopped"));
        let bounds = Bounds::new(usize::MAX, &check);
        let stopped = compare(&old, &new, Algorithm::Myers, bounds);
        assert_eq!(stopped.unwrap_err().code(), FaultCode::Timeout);
    }

    proptest! {
        #[test]
        fn the_operations_lead_from_one_text_to_the_other(
            old in proptest::collection::vec(0u32..400, 0..600),
            new in proptest::collection::vec(0u32..400, 0..600),
        ) {
            prop_assert_eq!(applied(&old, &new, &large(&old, &new)), new);
        }

        #[test]
        fn most_pairs_that_ascend_are_found(new in proptest::collection::vec(0usize..40, 0..9)) {
            let pairs: Vec<(usize, usize)> = new.into_iter().enumerate().collect();
            let ascends = |some: &[(usize, usize)]| some.windows(2).all(|two| two[0].1 < two[1].1);
            let subsets = (0u32..1 << pairs.len()).map(|bits| -> Vec<(usize, usize)> {
                let chosen = |(index, _): &(usize, &(usize, usize))| bits >> index & 1 == 1;
                pairs.iter().enumerate().filter(chosen).map(|(_, pair)| *pair).collect()
            });
            let most = subsets.filter(|some| ascends(some)).map(|some| some.len()).max();
            let found = longest_ascending(&pairs);
            prop_assert!(ascends(&found));
            prop_assert_eq!(Some(found.len()), most);
        }
    }
}
