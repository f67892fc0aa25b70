//! What the configuration of a repository points to: hooks, files that it includes, programs. Only git can
//! say what its configuration comes to, so git is asked, in a box that can write nothing. Most
//! configurations point nowhere, which is seen without asking.

use std::ffi::OsString;
use std::sync::Arc;

use yard_core::{Call, FileKind, Result, Signature, WsPath, git};
use yard_disk::ResolvedPath;

use super::repository::LARGEST_CONFIG;
use super::{Scales, small_file};
use crate::pointers::{Pointed, Seen};
use crate::workspace::Workspace;

impl Scales<'_> {
    /// Whether the configuration of a repository around a path points to it.
    pub(super) fn is_pointed_to(&mut self, path: &WsPath) -> Result<bool> {
        let mut folders = path.ancestors();
        folders.push(WsPath::root());
        folders.dedup();
        for folder in folders {
            let found = match self.pointers.get(&folder) {
                Some(found) => found.clone(),
                None => {
                    let found = self.workspace.pointed_from(&folder, self.call)?;
                    self.pointers.insert(folder.clone(), found.clone());
                    found
                }
            };
            let is_meant = |pointed: &Arc<Pointed>| {
                pointed.is_unknown
                    || pointed.places.iter().any(|place| {
                        // What holds such a place exchanges it, too.
                        path.is_within(place) || place.is_within(path) && self.exchanges(path)
                    })
            };
            if found.as_ref().is_some_and(is_meant) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether something comes, goes or moves at a path, and takes along what is below it.
    fn exchanges(&self, path: &WsPath) -> bool {
        let changes = self.leaving.get(path).into_iter().chain(self.arriving.get(path));
        changes.copied().any(|change| {
            let is_link = change.after.as_ref().is_some_and(|after| after.kind == FileKind::Link);
            is_link || change.from != change.to && change.before.is_some()
        })
    }
}

impl Workspace {
    /// What the repository in a folder points to; `None` if there is none, or it points nowhere.
    fn pointed_from(&self, folder: &WsPath, call: &Call) -> Result<Option<Arc<Pointed>>> {
        let Ok(repository) = folder.join_bytes(git::FOLDER) else { return Ok(None) };
        let Some(stat) = self.disk.stat(&repository)? else { return Ok(None) };
        let config = match repository.join_bytes(b"config") {
            Ok(config) if stat.is(FileKind::Folder) => config,
            _ => repository.clone(),
        };
        let is_plain = stat.is(FileKind::Folder)
            && self.points_nowhere(&repository, b"config")
            && self.points_nowhere(&repository, b"config.worktree");
        if is_plain {
            return Ok(None);
        }
        if let Some((seen, pointed)) = self.pointers.of(&repository)
            && seen.iter().all(|(path, signature)| self.signature(path) == *signature)
        {
            return Ok(Some(pointed));
        }
        let (mut seen, pointed) = self.ask_git(folder, &repository, call);
        seen.push((config.clone(), self.signature(&config)));
        let pointed = Arc::new(pointed);
        if !pointed.is_unknown {
            self.pointers.remember(repository, seen, Arc::clone(&pointed));
        }
        Ok(Some(pointed))
    }

    fn points_nowhere(&self, repository: &WsPath, name: &[u8]) -> bool {
        let Ok(path) = repository.join_bytes(name) else { return false };
        match self.disk.stat(&path) {
            Ok(None) => true,
            Ok(Some(stat)) if stat.is(FileKind::File) => {
                let content = small_file(self, &path, LARGEST_CONFIG);
                content.is_some_and(|content| git::points_nowhere(&content))
            }
            _ => false,
        }
    }

    fn signature(&self, path: &WsPath) -> Option<Signature> {
        self.disk.stat(path).ok().flatten().map(|stat| stat.signature)
    }

    /// Asks git what its configuration says and where each word of it stands.
    fn ask_git(&self, folder: &WsPath, repository: &WsPath, call: &Call) -> (Seen, Pointed) {
        let unknown = || (Vec::new(), Pointed { places: Vec::new(), is_unknown: true });
        let Some(text) = self.configuration(folder, call) else { return unknown() };
        let mut seen = Vec::new();
        let mut pointed = Pointed::default();
        let mut words = text.split(|byte| *byte == 0);
        while let (Some(origin), Some(entry)) = (words.next(), words.next()) {
            let file = origin.strip_prefix(b"file:").and_then(|path| self.inside(folder, path));
            let above = file.as_ref().and_then(WsPath::parent).unwrap_or_else(WsPath::root);
            if let Some(file) = file.filter(|file| seen.iter().all(|(met, _)| met != file)) {
                // What stands outside of git's own folder was included.
                if !file.is_within(repository) {
                    self.point_to(&mut pointed, file.clone());
                }
                let signature = self.signature(&file);
                seen.push((file, signature));
            }
            let (key, value) = split_at_line(entry);
            let Ok(key) = std::str::from_utf8(key) else { continue };
            for (place, base) in git::places_in(key, value) {
                let from = if base == git::ConfigPathBase::File { &above } else { folder };
                let Some(path) = self.inside(from, place) else { continue };
                let is_file =
                    || matches!(self.disk.stat(&path), Ok(Some(stat)) if stat.is(FileKind::File));
                if base != git::ConfigPathBase::WorktreeIfExists || is_file() {
                    self.point_to(&mut pointed, path);
                }
            }
        }
        (seen, pointed)
    }

    /// Adds a place, and the one that it leads to.
    fn point_to(&self, pointed: &mut Pointed, path: WsPath) {
        if path.is_root() {
            return;
        }
        if let Ok(ResolvedPath::Present { path: real, .. } | ResolvedPath::Missing { path: real }) =
            self.disk.locate(&path, true)
            && real != path
        {
            pointed.places.push(real);
        }
        pointed.places.push(path);
    }

    /// A path of a configuration as one of the workspace, if it is inside.
    fn inside(&self, base: &WsPath, path: &[u8]) -> Option<WsPath> {
        let shown_at = self.boxed.as_ref().and_then(|boxed| boxed.shown_at.as_ref());
        let shown_at = shown_at.map(|path| path.as_os_str().as_encoded_bytes().to_vec());
        let roots = [Some(self.host_root().to_vec()), shown_at];
        if path.starts_with(b"/") {
            let below =
                roots.iter().flatten().find_map(|root| path.strip_prefix(root.as_slice()))?;
            return resolved(&WsPath::root(), below);
        }
        resolved(base, path)
    }

    /// What `git config --list` says in a folder; `None` if it cannot be asked.
    fn configuration(&self, folder: &WsPath, call: &Call) -> Option<Vec<u8>> {
        let words =
            ["--git-dir", ".git", "config", "--list", "--includes", "--show-origin", "--null"];
        self.git_says(folder, words.map(OsString::from), call)
    }
}

/// A path below another, `..` resolved; `None` if it climbs out.
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
