//! Makes mount points in the new root of a box. Agents write to some of its folders, and these outlive the box, so
//! that a path to a mount point may contain anything: no link is followed out of the new root, and an entry that is no
//! folder is replaced by one.

#![allow(clippy::disallowed_methods, reason = "the sandbox builds its own root")]

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::MoveMountFlags;

/// The folder of the new root that agents write to and that may outlive the box.
const AGENTS: &str = "tmp";
/// How often a mount point is made again that another box of the same chat removes meanwhile.
const TRIES: usize = 16;

/// Mounts a folder at a path below the current folder, which is the new root.
pub(crate) fn mount_at(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    attach(tree, &folder(&here()?, at, Links::on_the_way_to(at))?)
}

/// Mounts a folder at a path below a folder that agents write to.
pub(crate) fn mount_in(root: &OwnedFd, tree: &OwnedFd, at: &Path) -> io::Result<()> {
    attach(tree, &folder(root, at, Links::Replaced)?)
}

/// Mounts a file at a path below the new root.
pub(crate) fn mount_file_at(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    attach(tree, &file(&here()?, at)?)
}

/// Makes a link at a path below the new root.
pub(crate) fn link_at(target: &Path, at: &Path) -> io::Result<()> {
    let (above, name) = above(&here()?, at)?;
    let _ = rustix::fs::unlinkat(&above, name, AtFlags::empty());
    Ok(rustix::fs::symlinkat(target, &above, name)?)
}

/// Opens the entry at a path below the new root, if there is one. A link at the end is not followed.
pub(crate) fn open_entry(at: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat2(&here()?, at, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Opens the entry at a path below a folder, if there is one. No link is followed.
pub(crate) fn open_in(folder: &OwnedFd, at: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(folder, at, flags, Mode::empty(), beneath) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes a folder at a path below the new root, with those above it.
pub(crate) fn make_folder(at: &Path) -> io::Result<()> {
    folder(&here()?, at, Links::on_the_way_to(at)).map(drop)
}

/// How links in a path are treated.
#[derive(Clone, Copy)]
enum Links {
    /// Links of the system are followed, within the new root.
    Followed,
    /// Links that agents made are replaced by folders.
    Replaced,
}

impl Links {
    fn on_the_way_to(at: &Path) -> Self {
        if at.starts_with(AGENTS) { Self::Replaced } else { Self::Followed }
    }
}

fn here() -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(".", flags, Mode::empty())?)
}

/// Mounts a tree on an entry of the same kind.
pub(crate) fn attach(tree: &OwnedFd, place: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(tree, "", place, "", flags)?)
}

/// The folder at a path below `root`, made if it is missing.
fn folder(root: &OwnedFd, at: &Path, links: Links) -> io::Result<OwnedFd> {
    // No agent can write beside the new root.
    if at.components().next() == Some(Component::ParentDir) {
        fs::create_dir_all(at)?;
        return Ok(rustix::fs::openat(CWD, at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
    }
    let mut place = root.try_clone()?;
    let mut path = PathBuf::new();
    for part in at.components().filter(|part| matches!(part, Component::Normal(_))) {
        let above = place;
        path.push(part);
        place = child(root, above.as_fd(), &path, links)?;
    }
    Ok(place)
}

fn child(root: &OwnedFd, above: BorrowedFd<'_>, path: &Path, links: Links) -> io::Result<OwnedFd> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let followed = match links {
        Links::Replaced => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
        Links::Followed => ResolveFlags::IN_ROOT,
    };
    for _ in 0..TRIES {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat2(root, path, flags, Mode::empty(), followed) {
            Err(Errno::NOENT) => {}
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let _ = rustix::fs::unlinkat(above, name, AtFlags::empty());
            }
            done => return Ok(done?),
        }
        match rustix::fs::mkdirat(above, name, Mode::from_raw_mode(0o755)) {
            // A link whose target does not exist.
            Err(Errno::EXIST) => {
                let _ = rustix::fs::unlinkat(above, name, AtFlags::empty());
            }
            made => made?,
        }
    }
    Err(Errno::AGAIN.into())
}

/// The file at a path below `root`, made empty if it is missing.
fn file(root: &OwnedFd, at: &Path) -> io::Result<OwnedFd> {
    let (above, name) = above(root, at)?;
    for _ in 0..TRIES {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&above, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {}
            found => {
                let found = found?;
                let kind = FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode);
                if kind != FileType::Symlink {
                    return Ok(found);
                }
                let _ = rustix::fs::unlinkat(&above, name, AtFlags::empty());
            }
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match rustix::fs::openat(&above, name, flags, Mode::from_raw_mode(0o644)) {
            Err(Errno::EXIST) | Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(Errno::AGAIN.into())
}

fn above<'a>(root: &OwnedFd, at: &'a Path) -> io::Result<(OwnedFd, &'a Path)> {
    match (at.parent(), at.file_name()) {
        (Some(above), Some(name)) => {
            Ok((folder(root, above, Links::on_the_way_to(at))?, Path::new(name)))
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}
