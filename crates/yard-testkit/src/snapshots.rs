//! Snapshots of folders as another program sees them.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// One entry of a directory as any program sees it; times are left out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntrySnapshot {
    /// A directory and its mode.
    Folder(u32),
    /// A file, its mode and its bytes.
    File(u32, Vec<u8>),
    /// A link and its target.
    Link(Vec<u8>),
    /// Anything else.
    Other,
}

impl std::fmt::Debug for EntrySnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(mode) => write!(f, "folder {mode:o}"),
            Self::File(mode, bytes) => {
                let text = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
                write!(f, "file {mode:o} {} bytes {text:?}", bytes.len())
            }
            Self::Link(target) => write!(f, "link {:?}", String::from_utf8_lossy(target)),
            Self::Other => write!(f, "special"),
        }
    }
}

/// The entries below a folder, by relative path.
pub type FolderSnapshot = BTreeMap<String, EntrySnapshot>;

/// A snapshot of everything below `root`.
pub fn tree(root: &Path) -> FolderSnapshot {
    let mut found = FolderSnapshot::new();
    read_folder(root, "", &mut found);
    found
}

fn read_folder(folder: &Path, prefix: &str, found: &mut FolderSnapshot) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let entry = entry.expect("an entry");
        let name = format!("{prefix}/{}", entry.file_name().as_bytes().escape_ascii());
        let path = entry.path();
        let meta = path.symlink_metadata().expect("its metadata");
        let mode = meta.permissions().mode() & 0o7777;
        let kind = meta.file_type();
        let seen = if kind.is_dir() {
            read_folder(&path, &name, found);
            EntrySnapshot::Folder(mode)
        } else if kind.is_file() {
            EntrySnapshot::File(mode, std::fs::read(&path).expect("its bytes"))
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).expect("its target");
            EntrySnapshot::Link(target.as_os_str().as_bytes().to_vec())
        } else {
            EntrySnapshot::Other
        };
        found.insert(name, seen);
    }
}

/// Copies a folder with modes and links into an existing one.
pub fn copy_tree(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a readable folder") {
        let entry = entry.expect("an entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let meta = source.symlink_metadata().expect("its metadata");
        if meta.is_dir() {
            let _ = std::fs::create_dir(&target);
            copy_tree(&source, &target);
            std::fs::set_permissions(&target, meta.permissions()).expect("its mode");
        } else if meta.is_symlink() {
            let link = std::fs::read_link(&source).expect("its target");
            std::os::unix::fs::symlink(link, &target).expect("a link");
        } else {
            std::fs::copy(&source, &target).expect("a copy");
        }
    }
}

/// The entries of the staging folder below a state folder, or below a root that has its own.
pub fn staged(home: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(home.join("stage")) else { return Vec::new() };
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}
