//! Finds the files that a box has to mask, because its caller may not read them. Only paths that rules name are searched.
//! Nothing here mounts anything or reads the contents of files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use yard_core::{Call, Fault, FaultCode, FileKind, ReadAccess, Result, WsPath};
use yard_disk::{EntryKind, ResolvedPath};
use yard_sandbox::{Mask, MaskKind};
use yard_search::is_unreadable;

use crate::workspace::Workspace;

/// Most files that are masked one by one: each is a mount.
const MAX_FILES: usize = 10_000;
/// Most entries whose names are shown in folders that are masked as a whole.
const MAX_NAMES: usize = 200_000;

/// The files and folders that a box has to mask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    masks: BTreeMap<WsPath, MaskKind>,
    /// How many files are masked one by one.
    single: usize,
}

impl Masks {
    /// Finds everything in the workspace that the caller may not read.
    pub(crate) fn find(workspace: &Workspace, call: &Call) -> Result<Self> {
        let mut masks = Self::default();
        let Some(reading) = call.reading() else { return Ok(masks) };
        let mut places = reading.withheld_paths();
        places.sort_unstable();
        places.dedup();
        for named in places {
            // A rule on a link to a folder applies to the entries of that folder.
            if let ResolvedPath::Present { path, stat } = workspace.disk.locate(&named, true)? {
                let mut finder = MaskFinder { workspace, call, reading, masks: &mut masks };
                finder.entry(&NamedEntry { path, named }, stat.kind)?;
            }
        }
        Ok(masks)
    }

    /// How many files are masked.
    pub(crate) fn files(&self) -> u64 {
        let is_file = |kind: &&MaskKind| matches!(kind, MaskKind::File | MaskKind::FileInside);
        self.masks.values().filter(is_file).count() as u64
    }

    /// The first of `other` that is not masked here.
    pub(crate) fn first_missing_of<'a>(&self, other: &'a Self) -> Option<&'a WsPath> {
        // New entries in a folder that is masked as a whole are not visible.
        let is_covered = |path: &WsPath| {
            let is_whole = |folder| self.masks.get(folder) == Some(&MaskKind::Folder);
            self.masks.contains_key(path) || path.ancestors().iter().any(is_whole)
        };
        other.masks.keys().find(|path| !is_covered(path))
    }

    /// The files that are masked.
    pub(crate) fn single_files(&self) -> impl Iterator<Item = &WsPath> {
        let is_file = |kind: &MaskKind| matches!(kind, MaskKind::File | MaskKind::FileInside);
        self.masks.iter().filter(move |(_, kind)| is_file(kind)).map(|(path, _)| path)
    }

    /// One of the files that are masked.
    pub(crate) fn first(&self) -> Option<&WsPath> {
        self.masks.keys().next()
    }

    /// The masks for the box, with folders before their entries.
    pub(crate) fn for_box(&self) -> Vec<Mask> {
        let mask = |(path, kind): (&WsPath, &MaskKind)| {
            let path = PathBuf::from(OsString::from_vec(path.relative().to_vec()));
            Mask { path, kind: *kind }
        };
        let mut masks: Vec<Mask> = self.masks.iter().map(mask).collect();
        // `Path` compares component by component, so that `a.txt` comes after the entries of `a`.
        masks.sort_by(|a, b| a.path.cmp(&b.path));
        masks
    }
}

/// An entry, and the path by which rules may name it.
struct NamedEntry {
    path: WsPath,
    named: WsPath,
}

impl NamedEntry {
    fn below(&self, name: &[u8]) -> Option<Self> {
        let path = self.path.join_bytes(name).ok()?;
        Some(Self { path, named: self.named.join_bytes(name).ok()? })
    }
}

struct MaskFinder<'a> {
    workspace: &'a Workspace,
    call: &'a Call,
    reading: &'a dyn ReadAccess,
    masks: &'a mut Masks,
}

impl MaskFinder<'_> {
    fn entry(&mut self, entry: &NamedEntry, kind: EntryKind) -> Result<()> {
        self.call.check()?;
        match kind {
            EntryKind::Known(FileKind::Folder) => {
                let is_whole = !entry.path.is_root()
                    && (self.reading.withholds_all_below(&entry.path)
                        || self.reading.withholds_all_below(&entry.named));
                if is_whole { self.whole_folder(entry) } else { self.folder(entry) }
            }
            EntryKind::Known(FileKind::File) => self.file(entry),
            // The target of a link has a path of its own, and special files cannot be opened in a box.
            EntryKind::Known(FileKind::Link) | EntryKind::Special(_) => Ok(()),
        }
    }

    fn file(&mut self, entry: &NamedEntry) -> Result<()> {
        let may_read = self.reading.may_read(&entry.path) && self.reading.may_read(&entry.named);
        if may_read || self.masks.masks.contains_key(&entry.path) {
            return Ok(());
        }
        self.masks.masks.insert(entry.path.clone(), MaskKind::File);
        self.masks.single += 1;
        if self.masks.single > MAX_FILES { Err(too_many(&entry.path)) } else { Ok(()) }
    }

    fn folder(&mut self, folder: &NamedEntry) -> Result<()> {
        for (entry, kind) in self.entries(folder)? {
            self.entry(&entry, kind)?;
        }
        Ok(())
    }

    /// Adds a folder that is masked as a whole, with the names of everything in it.
    fn whole_folder(&mut self, folder: &NamedEntry) -> Result<()> {
        if self.masks.masks.contains_key(&folder.path) {
            return Ok(());
        }
        // Masks of its entries, which were found by another path, are replaced.
        let is_inside = |path: &WsPath| path.is_within(&folder.path);
        self.masks.masks.retain(|path, _| !is_inside(path));
        self.masks.masks.insert(folder.path.clone(), MaskKind::Folder);
        let mut ahead = self.entries(folder)?;
        while let Some((entry, kind)) = ahead.pop() {
            self.call.check()?;
            let is_folder = kind == EntryKind::Known(FileKind::Folder);
            let inside = if is_folder { MaskKind::FolderInside } else { MaskKind::FileInside };
            self.masks.masks.insert(entry.path.clone(), inside);
            if self.masks.masks.len() > MAX_NAMES {
                return Err(too_many(&folder.path));
            }
            if is_folder {
                ahead.extend(self.entries(&entry)?);
            }
        }
        Ok(())
    }

    fn entries(&self, folder: &NamedEntry) -> Result<Vec<(NamedEntry, EntryKind)>> {
        let disk = &self.workspace.disk;
        let listed = match disk.list(&folder.path) {
            Ok(listed) => listed,
            // A folder that vanished needs no mask.
            Err(fault) if is_unreadable(fault.code()) => return Ok(Vec::new()),
            Err(fault) => return Err(fault),
        };
        let mut entries = Vec::with_capacity(listed.len());
        for raw in listed {
            let Some(entry) = folder.below(&raw.name) else { continue };
            let kind = match raw.kind {
                Some(kind) => Some(kind),
                None => disk.stat(&entry.path)?.map(|stat| stat.kind),
            };
            entries.extend(kind.map(|kind| (entry, kind)));
        }
        Ok(entries)
    }
}

fn too_many(path: &WsPath) -> Fault {
    let message = format!(
        "more files than a box can mask may not be read here ({path} is one of them), so that no command \
         runs. A person can write the rule for whole folders: `folder/**`"
    );
    Fault::new(FaultCode::Unavailable, message)
}
