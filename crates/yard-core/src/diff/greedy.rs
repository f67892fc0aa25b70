//! Myers' greedy algorithm for a smallest diff. Of several smallest diffs it finds the one that the
//! JavaScript package `diff` finds: among paths of equal length it prefers the one that is further in the
//! old text, and removals come first. It takes memory by the square of the changes, and so gives up early.

use similar::DiffOp;

use crate::bounds::Steps;
use crate::line_diff::{self, Same};
use crate::{Bounds, Result};

/// Most steps that are kept: about a thousand changes.
const MAX_STEPS: usize = 1 << 20;
/// Most equal lines that all paths together may pass.
const MAX_PASSED: usize = 1 << 24;

/// A line that is removed or added, and the step before it on its path.
struct Step {
    before: Option<usize>,
    change: Change,
}

#[derive(Clone, Copy)]
enum Change {
    Removed(usize),
    Added(usize),
}

/// A path through the two texts: how many old lines it has passed, and its last step.
#[derive(Clone, Copy)]
struct Path {
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
    /// The last step of a smallest diff; `Some(None)` if the texts are equal, `None` if it gave up.
    fn run(&mut self) -> Option<Option<usize>> {
        let (old, new) = (self.old.len() as isize, self.new.len() as isize);
        // The number of a diagonal is that of old lines minus that of new lines. There is one more on each
        // side, which no path reaches.
        let at = |diagonal: isize| (diagonal + new + 1) as usize;
        let mut paths: Vec<Option<Path>> = vec![None; (old + new + 3) as usize];
        let start = self.pass_equal_lines(Path { old: 0, last: None }, 0);
        if self.is_end(start, 0) {
            return Some(None);
        }
        paths[at(0)] = Some(start);
        let (mut lowest, mut highest) = (-new, old);
        for changes in 1..=old + new {
            let mut diagonal = lowest.max(-changes);
            while diagonal <= highest.min(changes) {
                let (removing, adding) = (paths[at(diagonal - 1)].take(), paths[at(diagonal + 1)]);
                paths[at(diagonal)] = self.step(removing, adding, diagonal)?;
                if let Some(path) = paths[at(diagonal)] {
                    if self.is_end(path, diagonal) {
                        return Some(path.last);
                    }
                    if path.old == self.old.len() {
                        highest = highest.min(diagonal - 1);
                    }
                    if path.old as isize - diagonal == new {
                        lowest = lowest.max(diagonal + 1);
                    }
                }
                diagonal += 2;
            }
        }
        None
    }

    /// The better of two paths to a diagonal, continued as far as the lines are equal. The outer `None` says
    /// that there are too many steps.
    fn step(
        &mut self,
        removing: Option<Path>,
        adding: Option<Path>,
        diagonal: isize,
    ) -> Option<Option<Path>> {
        let removing = removing.filter(|path| path.old < self.old.len());
        let added = |path: Path| usize::try_from(path.old as isize - diagonal - 1).ok();
        let adding = adding.and_then(|path| Some((path, added(path)?)));
        let (old, before, change) =
            match (removing, adding.filter(|(_, line)| *line < self.new.len())) {
                (Some(path), adding) if adding.is_none_or(|(other, _)| path.old >= other.old) => {
                    (path.old + 1, path.last, Change::Removed(path.old))
                }
                (_, Some((path, line))) => (path.old, path.last, Change::Added(line)),
                _ => return Some(None),
            };
        self.stopped = self.work.step();
        if self.steps.len() == MAX_STEPS || self.passed > MAX_PASSED || self.stopped.is_err() {
            return None;
        }
        self.steps.push(Step { before, change });
        let path = Path { old, last: Some(self.steps.len() - 1) };
        Some(Some(self.pass_equal_lines(path, diagonal)))
    }

    fn pass_equal_lines(&mut self, mut path: Path, diagonal: isize) -> Path {
        let new = (path.old as isize - diagonal) as usize;
        let (old, new) = (self.old[path.old..].iter(), self.new.get(new..).unwrap_or_default());
        let equal = old.zip(new).take_while(|(old, new)| old == new).count();
        path.old += equal;
        self.passed += equal;
        path
    }

    fn is_end(&self, path: Path, diagonal: isize) -> bool {
        path.old == self.old.len() && path.old as isize - diagonal == self.new.len() as isize
    }

    /// The operations of the steps up to `last`. A line that no step removes or adds is the same on both sides.
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
        let kept = |changed: Vec<bool>| (0..changed.len()).filter(move |line| !changed[*line]);
        let same = kept(removed).zip(kept(added)).map(|(old, new)| Same { old, new, length: 1 });
        line_diff::operations(&same.collect::<Vec<_>>(), self.old.len(), self.new.len())
    }
}
