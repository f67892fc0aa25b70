//! The index of a workspace, which one search at a time brings up to date.

use std::time::Duration;

use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use yard_core::{Call, Result, WsPath};

use crate::index::Index;

/// How often a search that waits for another one's refresh checks its own deadline.
const WAIT: Duration = Duration::from_millis(20);

/// The index of a workspace.
#[derive(Default)]
pub struct CodeIndex {
    index: RwLock<Index>,
    refreshes: Mutex<Refreshes>,
    ended: Condvar,
}

/// The state of refreshes: one search at a time brings the index up to date.
#[derive(Default)]
struct Refreshes {
    is_running: bool,
    /// How many refreshes began so far.
    begun: u64,
    /// The number and the folder of the last complete refresh.
    last: Option<(u64, WsPath)>,
}

/// The right to refresh the index. Dropping it ends the refresh.
pub(crate) struct RefreshGuard<'a> {
    pub(crate) code: &'a CodeIndex,
    number: u64,
    /// The folder, once all of it is refreshed.
    pub(crate) refreshed: Option<WsPath>,
}

impl CodeIndex {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read()
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write()
    }

    /// Begins a refresh of a folder, after those of other searches. `None` if another search began and finished a refresh
    /// of the folder meanwhile. A refresh that had begun before may have missed changes.
    pub(crate) fn begin_refresh(
        &self,
        folder: &WsPath,
        call: &Call,
    ) -> Result<Option<RefreshGuard<'_>>> {
        let mut refreshes = self.refreshes.lock();
        let before = refreshes.begun;
        loop {
            let last = refreshes.last.as_ref();
            if last.is_some_and(|(number, last)| *number > before && folder.is_within(last)) {
                return Ok(None);
            }
            if !refreshes.is_running {
                refreshes.is_running = true;
                refreshes.begun += 1;
                let number = refreshes.begun;
                return Ok(Some(RefreshGuard { code: self, number, refreshed: None }));
            }
            self.ended.wait_for(&mut refreshes, WAIT);
            call.check()?;
        }
    }
}

impl Drop for RefreshGuard<'_> {
    fn drop(&mut self) {
        let mut refreshes = self.code.refreshes.lock();
        refreshes.is_running = false;
        if let Some(folder) = self.refreshed.take() {
            refreshes.last = Some((self.number, folder));
        }
        drop(refreshes);
        self.code.ended.notify_all();
    }
}
