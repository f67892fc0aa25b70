//! Myers' greedy search for a smallest edit script, forwards, and of equals the one that went further in
//! the old text, by removals first: which of several smallest diffs is shown is then that of the tools of
//! JavaScript. It takes room by the square of the changes, and so gives up early.

use similar::DiffOp;

use crate::bounds::Steps;
use crate::{Bounds, Result};

/// Steps that are kept at most: about a thousand changes.
const MAX_STEPS: usize = 1 << 20;
/// Equal lines that are passed at most, each way counted.
const MAX_PASSED: usize = 1 << 24;

/// A line that goes or comes, and what was decided before it.
struct Step {
    before: Option<usize>,
    change: Change,
}

#[derive(Clone, Copy)]
enum Change {
    Removed(usize),
    Added(usize),
}

/// How far a way leads: so many old lines are behind it.
#[derive(Clone, Copy)]
struct Way {
    old: usize,
    last: Option<usize>,
}

/// The operations from `old` to `new`, whose lines have numbers; none if there are too many changes.
pub(super) fn compare(old: &[u32], new: &[u32], bounds: Bounds<'_>) -> Result<Option<Vec<DiffOp>>> {
    let work = bounds.steps();
    let mut search = Search { old, new, steps: Vec::new(), passed: 0, work, stopped: Ok(()) };
    let last = search.run();
    search.stopped.clone()?;
    Ok(last.map(|last| search.operations(last)))
}

struct Search<'a> {
    old: &'a [u32],
    new: &'a [u32],
    steps: Vec<Step>,
    passed: usize,
    work: Steps<'a>,
    /// The fault with which the search was stopped.
    stopped: Result<()>,
}

impl Search<'_> {
    /// The last step of a smallest script; none inside if nothing differs.
    fn run(&mut self) -> Option<Option<usize>> {
        let (old, new) = (self.old.len() as isize, self.new.len() as isize);
        // Diagonals are old lines less new lines; one more on each side is never reached.
        let at = |diagonal: isize| (diagonal + new + 1) as usize;
        let mut ways: Vec<Option<Way>> = vec![None; (old + new + 3) as usize];
        let start = self.along(Way { old: 0, last: None }, 0);
        if self.is_end(start, 0) {
            return Some(None);
        }
        ways[at(0)] = Some(start);
        let (mut lowest, mut highest) = (-new, old);
        for changes in 1..=old + new {
            let mut diagonal = lowest.max(-changes);
            while diagonal <= highest.min(changes) {
                let (removing, adding) = (ways[at(diagonal - 1)].take(), ways[at(diagonal + 1)]);
                ways[at(diagonal)] = self.step(removing, adding, diagonal)?;
                if let Some(way) = ways[at(diagonal)] {
                    if self.is_end(way, diagonal) {
                        return Some(way.last);
                    }
                    if way.old == self.old.len() {
                        highest = highest.min(diagonal - 1);
                    }
                    if way.old as isize - diagonal == new {
                        lowest = lowest.max(diagonal + 1);
                    }
                }
                diagonal += 2;
            }
        }
        None
    }

    /// The better of two ways to a diagonal, and as far along it as lines are equal. The outer none is
    /// that there are too many.
    fn step(
        &mut self,
        removing: Option<Way>,
        adding: Option<Way>,
        diagonal: isize,
    ) -> Option<Option<Way>> {
        let removing = removing.filter(|way| way.old < self.old.len());
        let added = |way: &Way| usize::try_from(way.old as isize - diagonal - 1).ok();
        let adding = adding
            .and_then(|way| Some((way, added(&way)?)))
            .filter(|(_, line)| *line < self.new.len());
        let (old, before, change) = match (removing, adding) {
            (Some(removing), Some((adding, _))) if removing.old >= adding.old => {
                (removing.old + 1, removing.last, Change::Removed(removing.old))
            }
            (_, Some((adding, line))) => (adding.old, adding.last, Change::Added(line)),
            (Some(removing), None) => {
                (removing.old + 1, removing.last, Change::Removed(removing.old))
            }
            (None, None) => return Some(None),
        };
        self.stopped = self.work.step();
        if self.steps.len() == MAX_STEPS || self.passed > MAX_PASSED || self.stopped.is_err() {
            return None;
        }
        self.steps.push(Step { before, change });
        let way = Way { old, last: Some(self.steps.len() - 1) };
        Some(Some(self.along(way, diagonal)))
    }

    fn along(&mut self, mut way: Way, diagonal: isize) -> Way {
        let start = way.old;
        let new = |way: &Way| (way.old as isize - diagonal) as usize;
        while way.old < self.old.len()
            && self.new.get(new(&way)).is_some_and(|line| *line == self.old[way.old])
        {
            way.old += 1;
        }
        self.passed += way.old - start;
        way
    }

    fn is_end(&self, way: Way, diagonal: isize) -> bool {
        way.old == self.old.len() && way.old as isize - diagonal == self.new.len() as isize
    }

    /// What the steps up to `last` come to, in the order of the lines; removals before additions.
    fn operations(&self, last: Option<usize>) -> Vec<DiffOp> {
        let (mut removed, mut added) = (vec![false; self.old.len()], vec![false; self.new.len()]);
        let mut next = last;
        while let Some(step) = next.map(|at| &self.steps[at]) {
            match step.change {
                Change::Removed(line) => removed[line] = true,
                Change::Added(line) => added[line] = true,
            }
            next = step.before;
        }
        let run = |marks: &[bool], from: usize, mark: bool| {
            marks[from..].iter().take_while(|is| **is == mark).count()
        };
        let (mut old_index, mut new_index, mut operations) = (0, 0, Vec::new());
        while old_index < self.old.len() || new_index < self.new.len() {
            let (old_len, new_len) = (run(&removed, old_index, true), run(&added, new_index, true));
            let operation = match (old_len, new_len) {
                (0, 0) => {
                    let len = run(&removed, old_index, false).min(run(&added, new_index, false));
                    DiffOp::Equal { old_index, new_index, len }
                }
                (0, _) => DiffOp::Insert { old_index, new_index, new_len },
                (_, 0) => DiffOp::Delete { old_index, old_len, new_index },
                _ => DiffOp::Replace { old_index, old_len, new_index, new_len },
            };
            (old_index, new_index) = (operation.old_range().end, operation.new_range().end);
            operations.push(operation);
        }
        operations
    }
}
