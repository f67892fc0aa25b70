//! The operation that compares the files after two steps.

use super::{ChangePage, ShownChange};
use crate::{StepId, WsPath};

/// Shows what differs between the files after one step and the files after another, which may be older. A file that was
/// moved and edited in between is one change; one that was made and removed in between is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    /// The step from which it is looked.
    pub from: StepId,
    /// The other step; without one, the newest.
    pub to: Option<StepId>,
    /// Only changes from or to this path or something below it.
    pub path: Option<WsPath>,
    /// Which changes, in the order of their paths.
    pub page: ChangePage,
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The step from which it was looked.
    pub from: StepId,
    /// The other step.
    pub to: StepId,
    /// File by file, in the order of their paths.
    pub changes: Vec<ShownChange>,
    /// A diff was cut, because it alone is longer than the answer may be.
    pub truncated: bool,
    /// How many changes are left out for the rest, if more remain.
    pub next: Option<usize>,
}
