//! Bare repositories: folders that git takes for repositories although they are not named `.git`. Git obeys their
//! configuration and their hooks.

use yard_core::git::{self, GitFileKind};
use yard_core::{EffectKind, FileKind, Name, Result, WsPath};
use yard_store::NewChange;

use super::{EffectClassifier, names_below, small_file};

/// The largest configuration that is read.
pub(super) const MAX_CONFIG_BYTES: u64 = 1 << 20;

impl EffectClassifier<'_> {
    /// Whether a change affects what git does in a folder that looks like a repository afterwards.
    pub(super) fn decides_in_bare(
        &mut self,
        one: &yard_core::PathEffect,
        change: &NewChange,
    ) -> Result<bool> {
        if git::part(&one.path).is_some() {
            return Ok(false);
        }
        let state = change.after.as_ref().or(change.before.as_ref());
        let is_folder = state.is_some_and(|state| state.kind == FileKind::Folder);
        let mut folders = one.path.ancestors();
        folders.push(WsPath::root());
        for folder in folders {
            let inside = names_below(&one.path, Some(&folder));
            let Some(first) = inside.first().map(Name::as_bytes) else { continue };
            let part = git::part_in(&inside);
            let makes = git::REPOSITORY_NAMES.contains(&first) && one.kind != EffectKind::Remove;
            if part != GitFileKind::Executed && !makes || !self.looks_like_repository(&folder)? {
                continue;
            }
            let obeyed = part == GitFileKind::Executed
                && part.decides(one.kind, is_folder)
                && !self.is_initial(one.kind, &inside, change);
            if obeyed || makes && self.completes_repository(&folder, &inside)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a folder looks like a repository once the change is made.
    fn looks_like_repository(&mut self, folder: &WsPath) -> Result<bool> {
        if let Some(looks_like_one) = self.repositories.get(folder) {
            return Ok(*looks_like_one);
        }
        let mut has_all = true;
        for name in git::REPOSITORY_NAMES {
            has_all = has_all && self.will_exist(folder, name)?;
        }
        self.repositories.insert(folder.clone(), has_all);
        Ok(has_all)
    }

    /// Whether a folder has an entry of that name once the change is made.
    fn will_exist(&self, folder: &WsPath, name: &[u8]) -> Result<bool> {
        let Ok(path) = folder.join_bytes(name) else { return Ok(false) };
        let is_new = self.new_paths.iter().any(|place| place.is_within(&path));
        Ok(is_new || self.workspace.disk.stat(&path)?.is_some())
    }

    /// Whether this change makes a folder a repository that already has a configuration or hooks.
    fn completes_repository(&self, folder: &WsPath, inside: &[Name]) -> Result<bool> {
        let disk = &self.workspace.disk;
        let top = inside.first().and_then(|name| folder.join(name).ok());
        let existed = top.is_some_and(|path| matches!(disk.stat(&path), Ok(Some(_))));
        if existed {
            return Ok(false);
        }
        let join = |name: &[u8]| folder.join_bytes(name).ok();
        let config = join(b"config").filter(|path| matches!(disk.stat(path), Ok(Some(_))));
        let is_plain = config.is_none_or(|path| {
            let content = small_file(self.workspace, &path, MAX_CONFIG_BYTES);
            content.is_some_and(|content| git::is_initial_config(&content))
        });
        let has_more_config = [&b"commondir"[..], b"config.worktree"]
            .iter()
            .filter_map(|name| join(name))
            .any(|path| matches!(disk.stat(&path), Ok(Some(_))));
        let hooks = join(b"hooks").map(|path| disk.list(&path).unwrap_or_default());
        let is_hook = |name: &[u8]| !name.ends_with(b".sample");
        let has_hooks = hooks.into_iter().flatten().any(|entry| is_hook(&entry.name));
        Ok(!is_plain || has_more_config || has_hooks)
    }
}
