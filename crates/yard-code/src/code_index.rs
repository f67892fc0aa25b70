//! The index of a workspace, and whose turn it is to bring it up to date: one search at a time.

use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::Duration;

use yard_core::{Call, Result, WsPath};

use crate::index::Index;

/// How long a search that waits for another one's look sleeps between two looks at its own deadline.
const WAIT: Duration = Duration::from_millis(20);

/// The index of a workspace.
#[derive(Default)]
pub struct CodeIndex {
    index: RwLock<Index>,
    turns: Mutex<Turns>,
    over: Condvar,
}

/// Who brings the index up to date: one search at a time.
#[derive(Default)]
struct Turns {
    taken: bool,
    /// Looks that began so far.
    begun: u64,
    /// The number and the folder of the last look that came to its end.
    last: Option<(u64, WsPath)>,
}

/// The right to bring the index up to date, given back when it is dropped.
pub(crate) struct Turn<'a> {
    pub(crate) code: &'a CodeIndex,
    number: u64,
    /// The folder, once all of it was looked at.
    pub(crate) looked: Option<WsPath>,
}

impl CodeIndex {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn; `None` if another search, while this one waited, began and finished a look at all
    /// of the folder. One that had begun before may have passed what changed since.
    pub(crate) fn turn(&self, folder: &WsPath, call: &Call) -> Result<Option<Turn<'_>>> {
        let mut turns = self.turns();
        let before = turns.begun;
        loop {
            let looked = turns.last.as_ref();
            if looked.is_some_and(|(number, looked)| *number > before && folder.is_within(looked)) {
                return Ok(None);
            }
            if !turns.taken {
                turns.taken = true;
                turns.begun += 1;
                return Ok(Some(Turn { code: self, number: turns.begun, looked: None }));
            }
            let woken = self.over.wait_timeout(turns, WAIT);
            turns = woken.unwrap_or_else(PoisonError::into_inner).0;
            call.check()?;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = self.code.turns();
        turns.taken = false;
        if let Some(folder) = self.looked.take() {
            turns.last = Some((self.number, folder));
        }
        drop(turns);
        self.code.over.notify_all();
    }
}
