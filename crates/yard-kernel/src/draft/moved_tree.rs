//! The entries of a folder that a step moves. The step itself changes only the folder, but an approval covers everything in
//! it, so that its entries are shown, are part of the state hash, and are compared right before the folder is moved. Nothing
//! here changes anything.

use std::fmt::Write as _;

use yard_core::{Call, FileKind, Result, WsPath};
use yard_disk::{Disk, EntryKind, EntryStat};

/// A folder that is moved, with everything below it in the order of the paths.
pub(crate) struct MovedTree {
    from: WsPath,
    entries: Vec<(WsPath, EntryStat)>,
}

impl MovedTree {
    pub(crate) fn read(disk: &Disk, from: &WsPath, call: &Call) -> Result<Self> {
        let (mut entries, mut ahead) = (Vec::new(), vec![from.clone()]);
        while let Some(folder) = ahead.pop() {
            call.check()?;
            let mut stats = disk.stats();
            for entry in disk.list(&folder)? {
                // An entry with a name that no path can have is left out, but it changes the times of its folder.
                let Ok(path) = folder.join_bytes(&entry.name) else { continue };
                let Some(stat) = stats.stat(&path)? else { continue };
                if stat.is(FileKind::Folder) {
                    ahead.push(path.clone());
                }
                entries.push((path, stat));
            }
        }
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Self { from: from.clone(), entries })
    }

    /// Whether the folder still has exactly these entries, unchanged. That is not known if the call ends meanwhile.
    pub(crate) fn is_unchanged(&self, disk: &Disk, call: &Call) -> Result<bool> {
        let now = Self::read(disk, &self.from, call);
        call.check()?;
        Ok(now.is_ok_and(|now| now.entries == self.entries))
    }

    /// Adds a text that is different for different trees.
    pub(crate) fn describe(&self, text: &mut String) {
        for (path, stat) in &self.entries {
            let path = path.to_string().escape_debug().to_string();
            let EntryStat { kind, mode, owner, signature, .. } = stat;
            let _ = writeln!(text, "carries {path} {kind:?} {mode:o} {owner:?} {signature:?}");
        }
    }

    /// Adds a line for each entry, for a person.
    pub(crate) fn list(&self, text: &mut String) {
        for (path, stat) in &self.entries {
            let what = match stat.kind {
                EntryKind::Known(FileKind::Folder) => "folder".to_owned(),
                EntryKind::Known(FileKind::Link) => "link".to_owned(),
                EntryKind::Known(FileKind::File) => format!("{} bytes", stat.size()),
                EntryKind::Special(what) => what.to_owned(),
            };
            let _ = writeln!(text, "\\ with {path} ({what})");
        }
    }
}
