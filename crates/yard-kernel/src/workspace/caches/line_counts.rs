//! How many lines steps added and removed. A write does not count them: they are counted when a step is first listed, and
//! the newest counts stay in memory. What a step did never changes, so that a count is right for ever; one that is missing
//! only costs time. They are not in the store, so that listing steps writes nothing, and a step of any age has its count.

use parking_lot::Mutex;
use yard_core::FastMap;
use yard_core::op::LineCount;
use yard_store::Seq;

/// The counts are emptied when there are more steps than that.
const MAX_STEPS: usize = 1 << 16;

/// The counts of steps that were listed.
#[derive(Default)]
pub(crate) struct LineCounts(Mutex<FastMap<Seq, Option<LineCount>>>);

impl LineCounts {
    /// The count of a step, if it is known; `Some(None)` if it is known that the step has none.
    pub(crate) fn get(&self, step: Seq) -> Option<Option<LineCount>> {
        self.0.lock().get(&step).copied()
    }

    pub(crate) fn insert(&self, step: Seq, count: Option<LineCount>) {
        let mut counts = self.0.lock();
        if counts.len() >= MAX_STEPS {
            counts.clear();
        }
        counts.insert(step, count);
    }
}
