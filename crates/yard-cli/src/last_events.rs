//! The newest events of workspaces that are not open. A stream of events asks for those of all workspaces of a person once
//! a second, and keeps none of them open: a journal is read only after its files changed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::{Result, WorkspaceId, World};
use yard_gate::LastEvent;
use yard_store::SqliteStore;

use crate::location::JournalStamp;

/// How old a change has to be before an equal stamp means that nothing changed since. The clock of a file system is
/// coarse, so that two writes at the same time may leave the same stamp.
const SETTLED_MILLIS: i64 = 1_000;

/// The newest events as they were last read.
pub(crate) struct LastEvents {
    world: Arc<dyn World>,
    known: Mutex<HashMap<WorkspaceId, KnownEvent>>,
}

/// The newest event of one workspace, and the stamp that its journal had before it was read.
#[derive(Clone, Copy)]
struct KnownEvent {
    stamp: JournalStamp,
    event: LastEvent,
    /// Whether an equal stamp means that the journal is the same.
    is_settled: bool,
}

impl LastEvents {
    pub(crate) fn new(world: Arc<dyn World>) -> Self {
        Self { world, known: Mutex::default() }
    }

    /// The newest event of the workspace whose history is in a folder. A workspace without a history has none.
    pub(crate) fn of(&self, id: WorkspaceId, state_dir: &Path) -> Result<LastEvent> {
        let Some(stamp) = JournalStamp::of(state_dir) else { return Ok(LastEvent::default()) };
        let known = self.known.lock().get(&id).copied();
        if let Some(known) = known.filter(|known| known.is_settled && known.stamp == stamp) {
            return Ok(known.event);
        }
        let is_settled =
            stamp.changed_at.as_millis() + SETTLED_MILLIS < self.world.now().as_millis();
        let event = LastEvent::read(&SqliteStore::open(state_dir)?)?;
        self.known.lock().insert(id, KnownEvent { stamp, event, is_settled });
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use yard_core::Timestamp;
    use yard_store::EventLog as _;

    use super::*;
    use crate::system_world::SystemWorld;

    #[test]
    fn the_newest_event_is_that_of_the_journal_as_it_is_now() {
        let folder = tempfile::tempdir().unwrap();
        let events = LastEvents::new(Arc::new(SystemWorld::new()));
        let id = WorkspaceId::from_bytes([1; 16]);
        let newest = || events.of(id, folder.path()).unwrap();
        assert_eq!(newest(), LastEvent::default());
        let store = SqliteStore::open(folder.path()).unwrap();
        for number in 1..=20 {
            let at = Timestamp::from_millis(i64::try_from(number).unwrap());
            store.changed_outside(at, &[]).unwrap();
            assert_eq!(newest(), LastEvent { number, at: Some(at) });
        }
        drop(store);
        assert_eq!(newest().number, 20, "also after the journal was closed");
    }
}
