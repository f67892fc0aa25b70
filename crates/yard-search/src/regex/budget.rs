//! How much work a pattern may cost on the backtracking engine (R9).
//!
//! That engine bounds only how often it backtracks. It counts neither what a look-around scans nor rounds of a repetition
//! that match nothing, so that a pattern could still keep it busy for hours. This module computes from a parsed pattern
//! how often the engine may backtrack and how long a line may be, so that the worst patterns take some tens of seconds,
//! and those that merely backtrack too often a tenth of one. It refuses patterns that no budget can bound.

use fancy_regex::Expr;

/// The largest product of the counts of repetitions within one another.
const PRODUCT: usize = 1_000;
/// The budget if each attempt may scan the whole line.
const SCANNING: Budget = Budget { backtracks: 1_000_000, line_bytes: 32 << 10 };
/// How often to backtrack if an attempt scans only a bounded part of the line.
const LOCAL_BACKTRACKS: usize = 5_000_000;

/// What one line may cost.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) backtracks: usize,
    pub(super) line_bytes: usize,
}

impl Budget {
    /// The budget for a pattern, or why there is none.
    pub(super) fn of(expr: &Expr) -> Result<Self, &'static str> {
        let weight = Weight::of(expr);
        if weight.product > PRODUCT {
            return Err("with look-around or back-references, the counts of repetitions within \
                        one another may multiply to at most 1000");
        }
        if weight.rescans {
            return Err("a look-around or atomic group that holds `*`, `+` or `{n,}` can't be \
                        repeated itself");
        }
        if weight.unbounded {
            return Ok(SCANNING);
        }
        let backtracks = (LOCAL_BACKTRACKS / weight.product).max(SCANNING.backtracks);
        Ok(Self { backtracks, line_bytes: usize::MAX })
    }
}

/// What a part of a pattern can cost.
struct Weight {
    /// The largest product of counts.
    product: usize,
    /// It has a repetition without an upper count.
    unbounded: bool,
    /// It has a group that scans without a bound and discards its backtracking points, so that none is counted.
    scans: bool,
    /// It repeats such a group.
    rescans: bool,
}

impl Weight {
    fn of(expr: &Expr) -> Self {
        let mut weight = Self { product: 1, unbounded: false, scans: false, rescans: false };
        for child in expr.children_iter() {
            weight.add(&Self::of(child));
        }
        match expr {
            Expr::Repeat { lo, hi, .. } => weight.repeat(*lo, *hi),
            Expr::LookAround(..) | Expr::AtomicGroup(_) | Expr::Conditional { .. } => {
                weight.scans |= weight.unbounded;
            }
            Expr::Absent(_) => {
                weight.unbounded = true;
                weight.scans = true;
            }
            _ => {}
        }
        weight
    }

    fn add(&mut self, other: &Self) {
        self.product = self.product.max(other.product);
        self.unbounded |= other.unbounded;
        self.scans |= other.scans;
        self.rescans |= other.rescans;
    }

    fn repeat(&mut self, least: usize, most: usize) {
        let counted = if most == usize::MAX { least } else { most };
        self.product = self.product.saturating_mul(counted.max(1));
        self.unbounded |= most == usize::MAX;
        self.rescans |= self.scans && most > 1;
    }
}
