//! The watched folders. Each is watched on its own, so that `.git` costs nothing and no link is followed.
//!
//! Folders are listed beneath the root handle, but watched by their host paths. If a link is swapped in at that moment, there
//! are hints about a folder outside; their paths are checked beneath the root, where nothing has changed.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};
use yard_core::{Call, Fault, FaultCode, FileKind, Result, WsPath};
use yard_disk::{EntryKind, RawEntry};

use super::events::{EventQueue, IGNORED_FOLDER};
use crate::workspace::Workspace;

pub(super) struct WatchedTree {
    root: PathBuf,
    watcher: RecommendedWatcher,
}

impl WatchedTree {
    pub(super) fn new(events: EventQueue) -> Result<Self> {
        let root = events.root().to_owned();
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(events, config).map_err(|error| {
            let message = format!(
                "changes on disk cannot be watched: {error}. On Linux `sysctl fs.inotify.max_user_instances` bounds how many programs may"
            );
            Fault::new(FaultCode::Unavailable, message)
        })?;
        Ok(Self { root, watcher })
    }

    /// Watches a folder and every folder below it, and calls `found` with all their entries. A folder is listed after it is
    /// watched, so that no new entry is missed. Entries that are no folders (any more) or may not be read are skipped.
    pub(super) fn add_all(
        &mut self,
        workspace: &Workspace,
        folder: &WsPath,
        call: &Call,
        found: &mut dyn FnMut(WsPath),
    ) -> Result<()> {
        if !is_folder(workspace, folder, None) {
            return Ok(());
        }
        let mut ahead = vec![folder.clone()];
        while let Some(folder) = ahead.pop() {
            call.check()?;
            self.add(&folder)?;
            for RawEntry { name, kind } in workspace.disk.list(&folder).unwrap_or_default() {
                let Ok(path) = folder.join_bytes(&name) else { continue };
                if name == IGNORED_FOLDER {
                    continue;
                }
                if is_folder(workspace, &path, kind) {
                    ahead.push(path.clone());
                }
                found(path);
            }
        }
        Ok(())
    }

    fn add(&mut self, folder: &WsPath) -> Result<()> {
        let host = self.root.join(std::ffi::OsStr::from_bytes(folder.relative()));
        match self.watcher.watch(&host, RecursiveMode::NonRecursive) {
            Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) => {
                let message = format!(
                    "{folder} cannot be watched: the system watches no more folders. Raise `sysctl fs.inotify.max_user_watches`, or keep fewer folders in the workspace"
                );
                Err(Fault::new(FaultCode::Unavailable, message))
            }
            _ => Ok(()),
        }
    }
}

fn is_folder(workspace: &Workspace, path: &WsPath, listed: Option<EntryKind>) -> bool {
    let kind = listed.or_else(|| workspace.disk.stat(path).ok().flatten().map(|stat| stat.kind));
    kind == Some(EntryKind::Known(FileKind::Folder))
}
