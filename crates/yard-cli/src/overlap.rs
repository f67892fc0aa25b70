//! Whether two folders of this machine overlap: they are equal, or one lies in the other. Paths are compared without
//! links, and by their place on their device, so that a folder that is mounted twice overlaps with itself.

#![allow(
    clippy::disallowed_methods,
    reason = "the composition root looks at the folders it is given"
)]

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Whether a file can be in both folders. Folders that do not exist are compared by their paths.
pub(crate) fn overlap(one: &Path, other: &Path) -> bool {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let (one, other) = (LocatedFolder::at(one, &mounts), LocatedFolder::at(other, &mounts));
    one.overlaps(&other)
}

/// The first pair of overlapping folders.
pub(crate) fn overlapping(folders: &[PathBuf]) -> Option<(&Path, &Path)> {
    let pairs = folders.iter().enumerate();
    let pairs = pairs.flat_map(|(at, one)| folders[at + 1..].iter().map(move |two| (one, two)));
    let mut pairs = pairs.map(|(one, two)| (one.as_path(), two.as_path()));
    pairs.find(|(one, two)| overlap(one, two))
}

/// A folder, as the system and as its file system name it.
struct LocatedFolder {
    path: PathBuf,
    /// The device, and the path on it.
    on_device: Option<(Vec<u8>, PathBuf)>,
}

impl LocatedFolder {
    fn at(folder: &Path, mounts: &[u8]) -> Self {
        let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        Self { on_device: on_device(&path, mounts), path }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let nested = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
        let on_device = match (&self.on_device, &other.on_device) {
            (Some((here, a)), Some((there, b))) => here == there && nested(a, b),
            _ => false,
        };
        nested(&self.path, &other.path) || on_device
    }
}

/// The device of a canonical path and the path on it, by the table of mounts: the last one of the longest mount point that
/// contains the path.
fn on_device(path: &Path, mounts: &[u8]) -> Option<(Vec<u8>, PathBuf)> {
    let mut best: Option<(usize, Vec<u8>, PathBuf)> = None;
    for line in mounts.split(|byte| *byte == b'\n') {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let [_, _, device, root, mount_point, ..] = fields[..] else { continue };
        let (root, mount_point) = (unescaped(root), unescaped(mount_point));
        let Ok(rest) = path.strip_prefix(&mount_point) else { continue };
        let length = mount_point.as_os_str().len();
        if best.as_ref().is_none_or(|(longest, ..)| length >= *longest) {
            best = Some((length, device.to_vec(), joined(root, rest)));
        }
    }
    best.map(|(_, device, path)| (device, path))
}

fn joined(root: PathBuf, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { root } else { root.join(rest) }
}

/// The table writes blanks, tabs, newlines and backslashes as three octal digits.
fn unescaped(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.first_chunk::<3>().filter(|_| *first == b'\\');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r15_equal_nested_and_linked_folders_overlap_and_neighbours_do_not() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path();
        for name in ["a/b", "ab", "c"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("a/b", base.join("link")).unwrap();
        let at = |name: &str| base.join(name);
        for (one, other) in
            [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("link", "a"), ("a/b/.", "link")]
        {
            assert!(overlap(&at(one), &at(other)), "{one} and {other}");
        }
        for (one, other) in [("a", "ab"), ("a", "c"), ("link", "c"), ("a/b", "ab")] {
            assert!(!overlap(&at(one), &at(other)), "{one} and {other}");
        }
        let all = [at("c"), at("ab"), at("a"), at("link")];
        assert_eq!(overlapping(&all), Some((all[2].as_path(), all[3].as_path())));
        assert_eq!(overlapping(&all[..3]), None);
    }

    #[test]
    fn r15_a_folder_that_is_mounted_twice_is_found_on_its_device() {
        let mounts = b"22 1 8:1 / / rw - ext4 /dev/a rw\n\
                       40 22 8:2 /data /srv rw - ext4 /dev/b rw\n\
                       41 22 8:2 /data/p4/in\\040ner /mnt/x rw - ext4 /dev/b rw\n";
        let found = |path: &str| {
            let path = PathBuf::from(path);
            LocatedFolder { on_device: on_device(&path, mounts), path }
        };
        assert_eq!(
            on_device(Path::new("/srv/p4"), mounts),
            Some((b"8:2".to_vec(), "/data/p4".into()))
        );
        let overlap = |one: &str, other: &str| found(one).overlaps(&found(other));
        assert!(overlap("/mnt/x", "/srv/p4"));
        assert!(overlap("/mnt/x/deep", "/srv/p4/in ner"));
        assert!(!overlap("/mnt/x", "/srv/p5"));
        assert!(!overlap("/home", "/srv/p4"));
    }
}
