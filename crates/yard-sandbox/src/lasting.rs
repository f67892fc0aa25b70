//! What outlives a box besides the workspace: its `/tmp` with its home in it, and the caches of packages. A cache is
//! an overlay: what the person has and what earlier commands added below, and what this one adds in a folder of
//! its own run, which the server keeps or drops when it is over.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use super::order::{CACHES, CacheLayer};
use super::places::{self, put};
use super::task::Task;
use super::trees::{NO_DEVICES, READ_ONLY, overlay_of, own_folder};

/// Folders of the host that a box has for longer than it lives.
pub(super) struct LastingTrees {
    /// What it has as `/tmp`.
    pub(super) tmp: Option<OwnedFd>,
    caches: Vec<CacheTrees>,
}

struct CacheTrees {
    added: OwnedFd,
    persons: Option<OwnedFd>,
}

impl LastingTrees {
    /// Takes hold of them.
    pub(super) fn take(task: &Task, owners: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let tmp = Some(&task.tmp).filter(|tmp| !tmp.as_os_str().is_empty());
        let tmp = tmp.map(|tmp| own_folder(tmp, NO_DEVICES, owners)).transpose()?;
        let caches = task.caches.iter().map(|cache| CacheTrees::take(cache, owners));
        Ok(Self { tmp, caches: caches.collect::<io::Result<_>>()? })
    }

    /// Mounts the caches where the box has them.
    pub(super) fn lay_caches(&self, task: &Task) -> io::Result<()> {
        let root = Path::new(CACHES.trim_start_matches('/'));
        let mut outermost = None;
        for (number, (layer, trees)) in task.caches.iter().zip(&self.caches).enumerate() {
            let cache = trees.overlay(layer, number)?;
            match &outermost {
                None => {
                    put(&cache, root)?;
                    outermost = Some(cache);
                }
                // Agents write to the outermost one: what they put in the way of another gives way.
                Some(outermost) => places::put_in(outermost, &cache, &layer.at)?,
            }
        }
        Ok(())
    }
}

impl CacheTrees {
    fn take(cache: &CacheLayer, owners: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let added = own_folder(&cache.added, READ_ONLY, owners)?;
        let persons = Some(&cache.persons).filter(|persons| !persons.as_os_str().is_empty());
        // A cache that the person removed meanwhile is none.
        let persons = persons.and_then(|persons| own_folder(persons, READ_ONLY, owners).ok());
        Ok(Self { added, persons })
    }

    fn overlay(&self, layer: &CacheLayer, number: usize) -> io::Result<OwnedFd> {
        // Beside the new root, as all that overlays are made of.
        let (added, persons) = (format!("../added-{number}"), format!("../persons-{number}"));
        put(&self.added, Path::new(&added))?;
        if let Some(tree) = &self.persons {
            put(tree, Path::new(&persons))?;
            let both = overlay_of(&format!("{added}:{persons}"), &layer.upper, &layer.work);
            if both.is_ok() {
                return both;
            }
            // Not every file system can be below an overlay: the cache begins empty then.
        }
        overlay_of(&added, &layer.upper, &layer.work)
    }
}
