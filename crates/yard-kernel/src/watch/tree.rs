//! Which folders are watched: each for itself, so that `.git` costs nothing and no link is followed.
//!
//! Folders are found beneath the root handle. Watching one goes by its path on the host: should a link be
//! swapped in at that moment, hints about another folder come in; they are looked at beneath the root,
//! where they lead nowhere.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};
use yard_core::{Call, Fault, FaultCode, FileKind, Result, WsPath};
use yard_disk::{EntryKind, RawEntry};

use super::ear::{Ear, UNTOLD};
use crate::workspace::Workspace;

pub(super) struct Tree {
    root: PathBuf,
    watcher: RecommendedWatcher,
}

impl Tree {
    pub(super) fn new(ear: Ear) -> Result<Self> {
        let root = ear.root().to_owned();
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(ear, config).map_err(|error| {
            let message = format!(
                "changes on disk cannot be watched: {error}. On Linux `sysctl fs.inotify.max_user_instances` bounds how many programs may"
            );
            Fault::new(FaultCode::Unavailable, message)
        })?;
        Ok(Self { root, watcher })
    }

    /// Watches a folder and every folder below it, and hands on all that is in them. Each folder is
    /// listed after it is watched, so that what comes in between is heard or found. What is no folder
    /// (any more), or may not be read, is passed over.
    pub(super) fn cover(
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
                if name == UNTOLD {
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

fn is_folder(workspace: &Workspace, path: &WsPath, told: Option<EntryKind>) -> bool {
    let kind = told.or_else(|| workspace.disk.stat(path).ok().flatten().map(|stat| stat.kind));
    kind == Some(EntryKind::Known(FileKind::Folder))
}
