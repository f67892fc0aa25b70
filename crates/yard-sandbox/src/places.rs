//! Places for mounts in the new root of a box. Some of its folders are written to by agents and outlive the box,
//! so that anything may be on the way to a place: no link leads out of the new root, and what is no folder gives
//! way to one.

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
/// How often a place is made anew that another box of the same chat takes away meanwhile.
const TRIES: usize = 16;

/// Mounts a folder below the current folder, which is the new root.
pub(super) fn put(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    attach(tree, &folder(&here()?, at, Links::on_the_way_to(at))?)
}

/// Mounts a folder below another one that agents write to.
pub(super) fn put_in(root: &OwnedFd, tree: &OwnedFd, at: &Path) -> io::Result<()> {
    attach(tree, &folder(root, at, Links::InTheWay)?)
}

/// Mounts a file there.
pub(super) fn put_file(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    attach(tree, &file(&here()?, at)?)
}

/// Makes a link there.
pub(super) fn put_link(target: &Path, at: &Path) -> io::Result<()> {
    let (above, name) = above(&here()?, at)?;
    let _ = rustix::fs::unlinkat(&above, name, AtFlags::empty());
    Ok(rustix::fs::symlinkat(target, &above, name)?)
}

/// What is there, if anything is; a link is not followed.
pub(super) fn find(at: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat2(&here()?, at, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// What is at a path of a folder, if anything is; no link is followed.
pub(super) fn find_in(folder: &OwnedFd, at: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(folder, at, flags, Mode::empty(), beneath) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes a folder there, with those above it.
pub(super) fn make_folder(at: &Path) -> io::Result<()> {
    folder(&here()?, at, Links::on_the_way_to(at)).map(drop)
}

/// What becomes of links on the way to a place.
#[derive(Clone, Copy)]
enum Links {
    /// Those of the system lead somewhere in the new root.
    Followed,
    /// Agents made them.
    InTheWay,
}

impl Links {
    fn on_the_way_to(at: &Path) -> Self {
        if at.starts_with(AGENTS) { Self::InTheWay } else { Self::Followed }
    }
}

fn here() -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(".", flags, Mode::empty())?)
}

/// Mounts something on something else of its kind.
pub(super) fn attach(tree: &OwnedFd, place: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(tree, "", place, "", flags)?)
}

/// The folder at a path of `root`, made if it is not there.
fn folder(root: &OwnedFd, at: &Path, links: Links) -> io::Result<OwnedFd> {
    // What lies beside the new root is nobody's but the box's maker's.
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
        Links::InTheWay => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
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
            // A link that leads nowhere.
            Err(Errno::EXIST) => {
                let _ = rustix::fs::unlinkat(above, name, AtFlags::empty());
            }
            made => made?,
        }
    }
    Err(Errno::AGAIN.into())
}

/// An empty file at a path of `root`, or the one that is there.
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
