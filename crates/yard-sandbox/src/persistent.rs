//! The folders of a box that outlive it besides the workspace: `/tmp` with the home in it, and the caches of packages.
//! A cache is an overlay: the lower layers are the person's cache and what earlier commands added, the upper one is a
//! folder of this run, which the server stores or drops when the command is over.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use crate::command_spec::CacheLayer;
use crate::config::CACHES;
use crate::mount_points::{self, mount_at};
use crate::task::Task;
use crate::trees::{NO_DEVICES, READ_ONLY, overlay_of, own_folder};

/// Folders of the host that outlive the box, as detached mounts.
pub(crate) struct PersistentTrees {
    /// The folder for `/tmp`.
    pub(crate) tmp: Option<OwnedFd>,
    caches: Vec<CacheTrees>,
}

struct CacheTrees {
    added: OwnedFd,
    persons: Option<OwnedFd>,
}

impl PersistentTrees {
    /// Makes the detached mounts.
    pub(crate) fn take(task: &Task, owners: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let tmp = Some(&task.tmp).filter(|tmp| !tmp.as_os_str().is_empty());
        let tmp = tmp.map(|tmp| own_folder(tmp, NO_DEVICES, owners)).transpose()?;
        let caches = task.caches.iter().map(|cache| CacheTrees::take(cache, owners));
        Ok(Self { tmp, caches: caches.collect::<io::Result<_>>()? })
    }

    /// Mounts the caches at their paths in the box.
    pub(crate) fn mount_caches(&self, task: &Task) -> io::Result<()> {
        let root = Path::new(CACHES.trim_start_matches('/'));
        let mut outermost = None;
        for (number, (layer, trees)) in task.caches.iter().zip(&self.caches).enumerate() {
            let cache = trees.overlay(layer, number)?;
            match &outermost {
                None => {
                    mount_at(&cache, root)?;
                    outermost = Some(cache);
                }
                // Agents write to the outermost cache, so that anything may be at the path of another one.
                Some(outermost) => mount_points::mount_in(outermost, &cache, &layer.at)?,
            }
        }
        Ok(())
    }
}

impl CacheTrees {
    fn take(cache: &CacheLayer, owners: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let added = own_folder(&cache.added, READ_ONLY, owners)?;
        let persons = Some(&cache.persons).filter(|persons| !persons.as_os_str().is_empty());
        // The person may have removed the cache meanwhile.
        let persons = persons.and_then(|persons| own_folder(persons, READ_ONLY, owners).ok());
        Ok(Self { added, persons })
    }

    fn overlay(&self, layer: &CacheLayer, number: usize) -> io::Result<OwnedFd> {
        // The layers of overlays are mounted beside the new root.
        let (added, persons) = (format!("../added-{number}"), format!("../persons-{number}"));
        mount_at(&self.added, Path::new(&added))?;
        if let Some(tree) = &self.persons {
            mount_at(tree, Path::new(&persons))?;
            let both = overlay_of(&format!("{added}:{persons}"), &layer.upper, &layer.work);
            if both.is_ok() {
                return both;
            }
            // Not every file system can be a lower layer: the cache then begins without the person's part.
        }
        overlay_of(&added, &layer.upper, &layer.work)
    }
}
