//! What tools make again whenever it is needed: build output. It is what ignore files exclude *and* lies
//! in a folder that is known to hold nothing else. That a file is ignored says nothing by itself: `.env`
//! is, and nobody makes that again.
//!
//! Its contents are kept as the files that they are, for as long as there is room: see [`trim`].

use std::collections::HashMap;

use yard_core::{Call, Result, RunId, WsPath};
use yard_disk::kept_name;
use yard_search::{IGNORE_FILES, Ignores, Rules, Walk};
use yard_store::{ContentLocation, Retention};

use crate::workspace::Workspace;

/// Folders that hold what can be made again, where ignore files exclude them.
const FOLDERS: [&[u8]; 27] = [
    b"target",
    b"node_modules",
    b"__pycache__",
    b".venv",
    b"venv",
    b"dist",
    b"build",
    b"out",
    b".cache",
    b".pytest_cache",
    b".mypy_cache",
    b".ruff_cache",
    b".tox",
    b".nox",
    b".gradle",
    b".next",
    b".nuxt",
    b".svelte-kit",
    b".parcel-cache",
    b".turbo",
    b"coverage",
    b".nyc_output",
    b"_build",
    b"bazel-out",
    b"cmake-build-debug",
    b"cmake-build-release",
    b".eggs",
];

/// Whether a content is held only by a file that may be evicted.
pub(crate) fn is_evictable(located: &ContentLocation) -> bool {
    located.kept.as_ref().is_some_and(|file| file.retention == Retention::Evictable)
}

/// Whether a path is named as build output is; whether it is ignored does not matter.
pub(crate) fn is_named_so(path: &WsPath) -> bool {
    path.names().any(|name| FOLDERS.contains(&name.as_bytes()))
}

/// Gives up the oldest of what is kept and not in the tree any more, until the rest fits. Where no output
/// came since the last time there is nothing to look at.
pub(crate) fn trim(workspace: &Workspace) -> Result<()> {
    if !workspace.stage.take_new_spares() {
        return Ok(());
    }
    let room = workspace.keeping().builds_bytes;
    let mut kept: Vec<(RunId, String, u64)> = { workspace.stage.kept_names().into_iter() }
        .filter_map(|name| {
            let run = kept_name::run_in(&name)?;
            workspace.stage.kept_alone(&name).map(|size| (run, name, size))
        })
        .collect();
    let mut total: u64 = kept.iter().map(|(_, _, size)| size).sum();
    if total <= room {
        return Ok(());
    }
    // Ids of runs tell their age.
    kept.sort_by_key(|(run, ..)| *run);
    let mut gone = Vec::new();
    for (_, name, size) in kept {
        if total <= room {
            break;
        }
        if size > 0 {
            total -= size;
            gone.push(name);
        }
    }
    workspace.stage.remove_kept(&gone)
}

/// Which ignore files count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ignoring {
    /// All of them.
    ByAnybody,
    /// Those that no agent ever changed: nobody gets leave to destroy by ignoring first.
    ByPeople,
}

/// Tells build output from files that somebody wrote.
pub(crate) struct Outputs<'a> {
    workspace: &'a Workspace,
    ignoring: Ignoring,
    walk: Walk<'a>,
    /// What is known of folders: whether they are build output.
    known: HashMap<WsPath, bool>,
    ignores: HashMap<WsPath, Ignores>,
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(workspace: &'a Workspace, call: &'a Call, ignoring: Ignoring) -> Self {
        let rules = Rules { recursive: true, include_ignored: false };
        let walk = Walk::new(&workspace.disk, call, rules);
        Self { workspace, ignoring, walk, known: HashMap::new(), ignores: HashMap::new() }
    }

    /// Whether what is at a path is build output.
    pub(crate) fn holds(&mut self, path: &WsPath, is_folder: bool) -> Result<bool> {
        for folder in if is_folder { path.lineage() } else { path.ancestors() } {
            if let Some(known) = self.known.get(&folder) {
                if *known {
                    return Ok(true);
                }
                continue;
            }
            let is_output = self.is_output_folder(&folder)?;
            self.known.insert(folder, is_output);
            if is_output {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_output_folder(&mut self, folder: &WsPath) -> Result<bool> {
        let Some(name) = folder.name() else { return Ok(false) };
        if !FOLDERS.contains(&name.as_bytes()) {
            return Ok(false);
        }
        self.are_ignored(folder, true)
    }

    /// Whether ignore files that count exclude what is at a path.
    pub(crate) fn are_ignored(&mut self, path: &WsPath, is_folder: bool) -> Result<bool> {
        let above = path.parent().unwrap_or_else(WsPath::root);
        if !self.ignores.contains_key(&above) {
            let ignores = self.walk.ignores_in(&above)?;
            self.ignores.insert(above.clone(), ignores);
        }
        let Some(ignores) = self.ignores.get(&above) else { return Ok(false) };
        Ok(ignores.exclude(path, is_folder, &mut Vec::new())
            && !self.is_ignored_by_agents(&above)?)
    }

    /// Whether an agent changed an ignore file that counts for what is in a folder, and only what people
    /// wrote shall count.
    fn is_ignored_by_agents(&self, folder: &WsPath) -> Result<bool> {
        if self.ignoring == Ignoring::ByAnybody {
            return Ok(false);
        }
        let store = self.workspace.store();
        let mut folders = folder.lineage();
        folders.push(WsPath::root());
        for file in folders
            .iter()
            .flat_map(|folder| IGNORE_FILES.map(|name| folder.join_bytes(name.as_bytes())))
        {
            let Ok(file) = file else { continue };
            let Some(node) = store.lookup(&file)? else { continue };
            if store.was_changed_by_agents(node.id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_folder_is_named_twice() {
        let mut names = FOLDERS.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FOLDERS.len());
    }
}
