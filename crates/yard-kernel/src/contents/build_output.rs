//! Recognizes build output: files that ignore files exclude *and* that are in a folder known to contain nothing else. An
//! ignored file alone is not enough: `.env` is ignored too, and no tool makes it again.
//!
//! The contents of build output are stored as whole files, as long as there is room: see [`trim`].

use std::collections::HashMap;

use yard_core::{Call, Result, RunId, WsPath};
use yard_disk::kept_name;
use yard_search::{IGNORE_FILES, Ignores, Walk, WalkOptions};
use yard_store::{ContentLocation, Retention};

use crate::workspace::Workspace;

/// Names of folders that contain build output if ignore files exclude them.
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

/// Whether a content is stored only as a file that may be evicted.
pub(crate) fn is_evictable(located: &ContentLocation) -> bool {
    located.kept.as_ref().is_some_and(|file| file.retention == Retention::Evictable)
}

/// Whether a path has the name of a folder of build output, ignored or not.
pub(crate) fn has_build_folder(path: &WsPath) -> bool {
    path.names().any(|name| FOLDERS.contains(&name.as_bytes()))
}

/// The topmost folder of a path that has the name of a folder of build output.
pub(crate) fn folder_of(path: &WsPath) -> Option<WsPath> {
    let is_named =
        |folder: &WsPath| folder.name().is_some_and(|name| FOLDERS.contains(&name.as_bytes()));
    path.lineage().into_iter().find(is_named)
}

/// Evicts the oldest stored files that are no longer in the workspace, until the rest fits. Does nothing if no build output
/// was stored since the last time.
pub(crate) fn trim(workspace: &Workspace) -> Result<()> {
    if !workspace.stage.take_new_evictable() {
        return Ok(());
    }
    let room = workspace.keeping().builds_bytes;
    let names = workspace.stage.kept_names().into_iter();
    let mut kept: Vec<(RunId, String, u64)> = names
        .filter_map(|name| {
            let run = kept_name::run_in(&name)?;
            workspace.stage.kept_alone(&name).map(|size| (run, name, size))
        })
        .collect();
    let mut total: u64 = kept.iter().map(|(_, _, size)| size).sum();
    if total <= room {
        return Ok(());
    }
    // Ids of runs are ordered by time.
    kept.sort_by_key(|(run, ..)| *run);
    let mut evicted = Vec::new();
    for (_, name, size) in kept {
        if total <= room {
            break;
        }
        if size > 0 {
            total -= size;
            evicted.push(name);
        }
    }
    workspace.stage.remove_kept(&evicted)
}

/// Which ignore files count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IgnoreFiles {
    /// All of them.
    All,
    /// Those that no agent ever changed: otherwise an agent could make files removable by ignoring them first.
    WrittenByPeople,
}

/// Finds out whether paths are build output.
pub(crate) struct BuildOutputs<'a> {
    workspace: &'a Workspace,
    ignore_files: IgnoreFiles,
    walk: Walk<'a>,
    /// Folders that were checked, and whether they are build output.
    checked: HashMap<WsPath, bool>,
    ignores: HashMap<WsPath, Ignores>,
}

impl<'a> BuildOutputs<'a> {
    pub(crate) fn new(workspace: &'a Workspace, call: &'a Call, ignore_files: IgnoreFiles) -> Self {
        let options = WalkOptions { recursive: true, include_ignored: false };
        let walk = Walk::new(&workspace.disk, call, options);
        Self { workspace, ignore_files, walk, checked: HashMap::new(), ignores: HashMap::new() }
    }

    /// Whether the entry at a path is build output.
    pub(crate) fn contain(&mut self, path: &WsPath, is_folder: bool) -> Result<bool> {
        for folder in if is_folder { path.lineage() } else { path.ancestors() } {
            if let Some(is_output) = self.checked.get(&folder) {
                if *is_output {
                    return Ok(true);
                }
                continue;
            }
            let is_output = self.is_output_folder(&folder)?;
            self.checked.insert(folder, is_output);
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
        self.is_ignored(folder, true)
    }

    /// Whether ignore files exclude the entry at a path.
    pub(crate) fn is_ignored(&mut self, path: &WsPath, is_folder: bool) -> Result<bool> {
        let above = path.parent().unwrap_or_else(WsPath::root);
        if !self.ignores.contains_key(&above) {
            let ignores = self.walk.ignores_in(&above)?;
            self.ignores.insert(above.clone(), ignores);
        }
        let Some(ignores) = self.ignores.get(&above) else { return Ok(false) };
        Ok(ignores.exclude(path, is_folder, &mut Vec::new())
            && !self.is_ignored_by_agents(&above)?)
    }

    /// Whether an agent changed an ignore file that applies to a folder. Always false if all ignore files count.
    fn is_ignored_by_agents(&self, folder: &WsPath) -> Result<bool> {
        if self.ignore_files == IgnoreFiles::All {
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
