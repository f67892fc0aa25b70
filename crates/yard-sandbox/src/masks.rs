//! Masks files that the caller may not read: the box has entries with the same names that no process can open. They
//! are mounts of the box's own and touch neither the workspace nor its overlay, so that they never look like a change.
//!
//! An entry that is mounted on can be neither removed nor moved inside of the box. In a command in place, the folders
//! above a mask are mounted onto themselves as well: if one could be moved, a path without a rule would lead to the
//! file.

#![allow(clippy::disallowed_methods, reason = "the sandbox builds its own root")]

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MoveMountFlags, OpenTreeFlags};

use crate::command_spec::{Mask, MaskKind};
use crate::mount_points::{attach, open_in};
use crate::syscall::{TreeAttributes, mount_setattr};
use crate::task::{Kind, Task};
use crate::trees::{READ_ONLY, memory};

/// A file that no process can open, beside the new root.
const UNREADABLE: &str = "../unreadable";

/// Covers the entries of the workspace that the command may not read.
pub(crate) fn cover(task: &Task, workspace: &OwnedFd) -> io::Result<()> {
    if task.masked.is_empty() {
        return Ok(());
    }
    if task.kind == Kind::InPlace {
        hold_folders_above(workspace, &task.masked)?;
    }
    make_unreadable()?;
    let mut rest = task.masked.as_slice();
    while let Some((mask, after)) = rest.split_first() {
        let inside = after.iter().take_while(|mask| mask.kind.is_inside()).count();
        let (held, next) = after.split_at(inside);
        match mask.kind {
            MaskKind::File => cover_file(workspace, &mask.path)?,
            MaskKind::Folder => cover_folder(workspace, &mask.path, held)?,
            MaskKind::FolderInside | MaskKind::FileInside => {
                return Err(io::ErrorKind::InvalidInput.into());
            }
        }
        rest = next;
    }
    Ok(())
}

/// Mounts each folder above a mask onto itself, the uppermost first.
fn hold_folders_above(workspace: &OwnedFd, masked: &[Mask]) -> io::Result<()> {
    let outer = masked.iter().filter(|mask| !mask.kind.is_inside());
    let above = outer.flat_map(|mask| mask.path.ancestors().skip(1));
    let above: BTreeSet<&Path> = above.filter(|path| !path.as_os_str().is_empty()).collect();
    for folder in above {
        let Some(place) = open_in(workspace, folder)? else { continue };
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::AT_RECURSIVE;
        attach(&rustix::mount::open_tree(&place, "", flags)?, &place)?;
    }
    Ok(())
}

/// Makes the file that is mounted over masked ones, read-only, so that its owner cannot change its mode.
fn make_unreadable() -> io::Result<()> {
    fs::write(UNREADABLE, "")?;
    fs::set_permissions(UNREADABLE, Permissions::from_mode(0o000))?;
    let tree = another_unreadable()?;
    mount_setattr(&tree, TreeAttributes { set: READ_ONLY, ..Default::default() })?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(&tree, "", CWD, UNREADABLE, flags)?)
}

fn another_unreadable() -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(rustix::mount::open_tree(CWD, UNREADABLE, flags)?)
}

fn cover_file(workspace: &OwnedFd, path: &Path) -> io::Result<()> {
    match open_in(workspace, path)? {
        Some(place) => attach(&another_unreadable()?, &place),
        None => Ok(()),
    }
}

/// Covers a folder with one of the same names, in which nothing can be opened, made or removed.
fn cover_folder(workspace: &OwnedFd, path: &Path, held: &[Mask]) -> io::Result<()> {
    let Some(place) = open_in(workspace, path)? else { return Ok(()) };
    let cover = memory("1m", "0755")?;
    for mask in held {
        let name: PathBuf = mask.path.strip_prefix(path).unwrap_or(&mask.path).to_owned();
        if mask.kind == MaskKind::FolderInside {
            rustix::fs::mkdirat(&cover, &name, Mode::from_raw_mode(0o755))?;
        } else {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            rustix::fs::openat(&cover, &name, flags, Mode::empty())?;
        }
    }
    mount_setattr(&cover, TreeAttributes { set: READ_ONLY, ..Default::default() })?;
    attach(&cover, &place)
}
