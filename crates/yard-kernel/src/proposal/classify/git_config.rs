//! Files that the configuration of a repository refers to: hooks, included files, programs. Git itself evaluates the
//! configuration, in a read-only box. Most configurations refer to no files, which is found out without git.

use std::ffi::OsString;
use std::sync::Arc;

use yard_core::{Call, FileKind, Result, Signature, WsPath, below_root, git};
use yard_disk::{ResolvedPath, is_settled};

use super::bare_repository::MAX_CONFIG_BYTES;
use super::{EffectClassifier, small_file};
use crate::workspace::Workspace;
use crate::workspace::caches::git_config_cache::{ConfigSignatures, ConfigTargets};

impl EffectClassifier<'_> {
    /// Whether the configuration of a repository that contains a path refers to the path.
    pub(super) fn is_config_target(&mut self, path: &WsPath) -> Result<bool> {
        let mut folders = path.ancestors();
        folders.push(WsPath::root());
        folders.dedup();
        for folder in folders {
            let targets = match self.config_targets.get(&folder) {
                Some(targets) => targets.clone(),
                None => {
                    let targets = self.workspace.config_targets(&folder, self.call)?;
                    self.config_targets.insert(folder.clone(), targets.clone());
                    targets
                }
            };
            let includes_path = |targets: &Arc<ConfigTargets>| {
                targets.is_unknown
                    || targets.paths.iter().any(|target| {
                        // Replacing a folder above a target replaces the target, too.
                        path.is_within(target) || target.is_within(path) && self.is_replaced(path)
                    })
            };
            if targets.as_ref().is_some_and(includes_path) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the entry at a path is replaced, removed or moved, with everything below it.
    fn is_replaced(&self, path: &WsPath) -> bool {
        let changes = self.leaving.get(path).into_iter().chain(self.arriving.get(path));
        changes.copied().any(|change| {
            let is_link = change.after.as_ref().is_some_and(|after| after.kind == FileKind::Link);
            is_link || change.from != change.to && change.before.is_some()
        })
    }
}

impl Workspace {
    /// What the configuration of the repository in a folder refers to; `None` if there is no repository, or its configuration
    /// refers to no files.
    fn config_targets(&self, folder: &WsPath, call: &Call) -> Result<Option<Arc<ConfigTargets>>> {
        let Ok(repository) = folder.join_bytes(git::FOLDER) else { return Ok(None) };
        let Some(stat) = self.disk.stat(&repository)? else { return Ok(None) };
        let is_plain = stat.is(FileKind::Folder)
            && self.points_nowhere(&repository, b"config")
            && self.points_nowhere(&repository, b"config.worktree");
        if is_plain {
            return Ok(None);
        }
        if let Some((seen, targets)) = self.caches.git_configs.get(&repository)
            && seen.iter().all(|(path, signature)| self.signature(path) == *signature)
        {
            return Ok(Some(targets));
        }
        let (mut files, targets) = self.read_config_with_git(folder, &repository, call);
        files.extend(self.files_of_git(folder, &repository));
        let seen: ConfigSignatures =
            files.into_iter().map(|file| (file.clone(), self.signature(&file))).collect();
        let targets = Arc::new(targets);
        // A file that changed a moment ago may have changed after git read it.
        let mut found = seen.iter().filter_map(|(_, signature)| signature.as_ref());
        if !targets.is_unknown && found.all(|signature| is_settled(signature, call)) {
            self.caches.git_configs.insert(repository, seen, Arc::clone(&targets));
        }
        Ok(Some(targets))
    }

    /// The files of git on which a configuration depends, whether they exist or not. The branch in `HEAD` decides which
    /// files are included.
    fn files_of_git(&self, folder: &WsPath, repository: &WsPath) -> Vec<WsPath> {
        let mut files = vec![repository.clone()];
        let git_folder = match small_file(self, repository, MAX_CONFIG_BYTES) {
            // In a linked working tree this is a file that names the folder.
            Some(link) => git::linked_folder(&link).and_then(|path| self.inside(folder, path)),
            None => Some(repository.clone()),
        };
        let names: [&[u8]; 3] = [b"config", b"config.worktree", b"HEAD"];
        if let Some(git_folder) = git_folder {
            files.extend(names.iter().filter_map(|name| git_folder.join_bytes(name).ok()));
        }
        files
    }

    fn points_nowhere(&self, repository: &WsPath, name: &[u8]) -> bool {
        let Ok(path) = repository.join_bytes(name) else { return false };
        match self.disk.stat(&path) {
            Ok(None) => true,
            Ok(Some(stat)) if stat.is(FileKind::File) => {
                let content = small_file(self, &path, MAX_CONFIG_BYTES);
                content.is_some_and(|content| git::points_nowhere(&content))
            }
            _ => false,
        }
    }

    /// The signature of the file that a path leads to. A folder has none, because it changes with every entry.
    fn signature(&self, path: &WsPath) -> Option<Signature> {
        let (_, stat) = self.disk.locate(path, true).ok()?.present()?;
        (!stat.is(FileKind::Folder)).then_some(stat.signature)
    }

    /// Lets git list its configuration. Returns also the files that it consists of, and those that it would include if they
    /// existed.
    fn read_config_with_git(
        &self,
        folder: &WsPath,
        repository: &WsPath,
        call: &Call,
    ) -> (Vec<WsPath>, ConfigTargets) {
        let unknown = || (Vec::new(), ConfigTargets { paths: Vec::new(), is_unknown: true });
        let Some(text) = self.configuration(folder, call) else { return unknown() };
        let mut files = Vec::new();
        let mut targets = ConfigTargets::default();
        let mut fields = text.split(|byte| *byte == 0);
        while let (Some(origin), Some(entry)) = (fields.next(), fields.next()) {
            let file = origin.strip_prefix(b"file:").and_then(|path| self.inside(folder, path));
            let above = file.as_ref().and_then(WsPath::parent).unwrap_or_else(WsPath::root);
            if let Some(file) = file.filter(|file| !files.contains(file)) {
                // A file outside of git's own folder is an included one.
                if !file.is_within(repository) {
                    self.add_target(&mut targets, file.clone());
                }
                files.push(file);
            }
            let (key, value) = split_at_line(entry);
            let Ok(key) = std::str::from_utf8(key) else { continue };
            for (place, base) in git::places_in(key, value) {
                let from = if base == git::ConfigPathBase::File { &above } else { folder };
                let Some(path) = self.inside(from, place) else { continue };
                if base == git::ConfigPathBase::File && !files.contains(&path) {
                    files.push(path.clone());
                }
                let is_file =
                    || matches!(self.disk.stat(&path), Ok(Some(stat)) if stat.is(FileKind::File));
                if base != git::ConfigPathBase::WorktreeIfExists || is_file() {
                    self.add_target(&mut targets, path);
                }
            }
        }
        (files, targets)
    }

    /// Adds a path, and the path that it leads to.
    fn add_target(&self, targets: &mut ConfigTargets, path: WsPath) {
        if path.is_root() {
            return;
        }
        if let Ok(ResolvedPath::Present { path: real, .. } | ResolvedPath::Missing { path: real }) =
            self.disk.locate(&path, true)
            && real != path
        {
            targets.paths.push(real);
        }
        targets.paths.push(path);
    }

    /// A path in a configuration as a path of the workspace, if it is inside of the workspace.
    fn inside(&self, base: &WsPath, path: &[u8]) -> Option<WsPath> {
        if !path.starts_with(b"/") {
            return resolved(base, path);
        }
        let shown_at = self.commands.boxed.as_ref().and_then(|boxed| boxed.shown_at.as_ref());
        let shown_at = shown_at.map(|path| path.as_os_str().as_encoded_bytes());
        let mut roots = [Some(self.host_root()), shown_at].into_iter().flatten();
        resolved(&WsPath::root(), roots.find_map(|root| below_root(root, path))?)
    }

    /// The output of `git config --list` in a folder; `None` if git cannot run.
    fn configuration(&self, folder: &WsPath, call: &Call) -> Option<Vec<u8>> {
        let arguments =
            ["--git-dir", ".git", "config", "--list", "--includes", "--show-origin", "--null"];
        self.git_output(folder, arguments.map(OsString::from), call)
    }
}

/// A path below another, with `..` resolved; `None` if it leaves the workspace.
fn resolved(base: &WsPath, path: &[u8]) -> Option<WsPath> {
    let mut at = base.clone();
    for part in path.split(|byte| *byte == b'/') {
        at = match part {
            b"" | b"." => at,
            b".." => at.parent()?,
            name => at.join_bytes(name).ok()?,
        };
    }
    Some(at)
}

fn split_at_line(entry: &[u8]) -> (&[u8], &[u8]) {
    let at = entry.iter().position(|byte| *byte == b'\n');
    at.map_or((entry, &[][..]), |at| (&entry[..at], &entry[at + 1..]))
}
