//! The requests of this process that have an `Idempotency-Key` and are not answered yet.

use std::collections::HashSet;

use parking_lot::Mutex;

/// The requests, by caller and key.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<HashSet<(String, String)>>);

/// Marks a request as in flight until this is dropped.
pub(super) struct InFlightMark<'a> {
    all: &'a InFlight,
    own: (String, String),
}

impl InFlight {
    /// Marks a request; `None` if one of the same caller has the same key.
    pub(super) fn mark(&self, actor: &str, key: &str) -> Option<InFlightMark<'_>> {
        let own = (actor.to_owned(), key.to_owned());
        let mut in_flight = self.0.lock();
        // Only a mark that was made may be dropped: dropping takes the lock.
        if in_flight.insert(own.clone()) { Some(InFlightMark { all: self, own }) } else { None }
    }
}

impl Drop for InFlightMark<'_> {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.own);
    }
}
