//! Makes detached mounts: of folders of the host, file systems in memory, overlays.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags};

use crate::syscall::{TreeAttributes, mount_setattr};

pub(crate) const NO_DEVICES: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
pub(crate) const READ_ONLY: u64 = NO_DEVICES | libc::MOUNT_ATTR_RDONLY;

/// The folder of everything that the box writes to, apart from its /tmp.
pub(crate) const LAYERS: &str = "../changes";

/// A folder of the server's user, shown as the box user's own.
pub(crate) fn own_folder(
    at: &Path,
    attributes: u64,
    owners: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    let tree = own_tree(at, attributes, owners.is_some())?;
    map_owners(&tree, owners)?;
    Ok(tree)
}

/// A tree of the server's user.
pub(crate) fn own_tree(at: &Path, attributes: u64, is_root: bool) -> io::Result<OwnedFd> {
    // Without root's rights, mounts below the folder cannot be left out.
    let deep = if is_root { OpenTreeFlags::empty() } else { OpenTreeFlags::AT_RECURSIVE };
    let tree = clone_tree(at, deep)?;
    private(&tree, attributes)?;
    Ok(tree)
}

pub(crate) fn clone_tree(at: &Path, deep: OpenTreeFlags) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | deep;
    Ok(rustix::mount::open_tree(CWD, at, flags)?)
}

pub(crate) fn private(tree: &OwnedFd, set: u64) -> io::Result<()> {
    let wanted = TreeAttributes { set, private: true, recursive: true, mapped_by: None };
    mount_setattr(tree, wanted)
}

pub(crate) fn map_owners(tree: &OwnedFd, owners: Option<BorrowedFd<'_>>) -> io::Result<()> {
    match owners {
        Some(_) => mount_setattr(tree, TreeAttributes { mapped_by: owners, ..Default::default() }),
        None => Ok(()),
    }
}

/// A file system in memory that holds at most `size`.
pub(crate) fn memory(size: &str, mode: &str) -> io::Result<OwnedFd> {
    new_mount("tmpfs", &[("size", size), ("mode", mode)], NO_DEVICES)
}

/// A folder that is always empty.
pub(crate) fn empty() -> io::Result<OwnedFd> {
    new_mount("tmpfs", &[("size", "4k"), ("mode", "0555")], READ_ONLY)
}

pub(crate) fn new_mount(
    kind: &str,
    options: &[(&str, &str)],
    attributes: u64,
) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        if value.is_empty() {
            rustix::mount::fsconfig_set_flag(&context, *key)?;
        } else {
            rustix::mount::fsconfig_set_string(&context, *key, *value)?;
        }
    }
    rustix::mount::fsconfig_create(&context)?;
    let attributes = MountAttrFlags::from_bits_retain(attributes as u32);
    Ok(rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// An overlay whose upper and work folders are in [`LAYERS`].
pub(crate) fn overlay_of(lower: &str, upper: &Path, work: &Path) -> io::Result<OwnedFd> {
    let layer = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.map(|name| format!("{LAYERS}/{name}")).ok_or(io::ErrorKind::InvalidInput)
    };
    let (upper, work) = (layer(upper)?, layer(work)?);
    let options = [
        ("lowerdir", lower),
        ("upperdir", upper.as_str()),
        ("workdir", work.as_str()),
        ("userxattr", ""),
        ("volatile", ""),
    ];
    new_mount("overlay", &options, NO_DEVICES)
}
