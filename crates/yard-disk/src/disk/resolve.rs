//! Resolves a requested path to a path without links (R3), beneath the root. A link to an entry of the workspace is
//! followed, also if its target is an absolute path into the root; a link that leads out of the root is a fault.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use yard_core::{Fault, FaultCode, FileKind, PathError, Result, Subject, WsPath, below_root};

use super::{Disk, DiskCall, RACES};
use crate::faults::read_fault;
use crate::folders::DiskResult;
use crate::stat::EntryStat;

/// Most links in one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// A path after its links were resolved.
#[derive(Clone, Debug)]
pub enum ResolvedPath {
    /// There is an entry at the path.
    Present {
        /// The path without links.
        path: WsPath,
        /// Its metadata.
        stat: EntryStat,
    },
    /// There is no entry at the path, but one could be made there.
    Missing {
        /// The path without links.
        path: WsPath,
    },
    /// An entry in the middle of the path is no folder.
    Blocked {
        /// That entry.
        by: WsPath,
    },
}

impl ResolvedPath {
    /// The path without links, and the metadata of the entry there; `None` if there is none.
    pub fn present(self) -> Option<(WsPath, EntryStat)> {
        match self {
            Self::Present { path, stat } => Some((path, stat)),
            Self::Missing { .. } | Self::Blocked { .. } => None,
        }
    }
}

impl Disk {
    /// Resolves a path. A link at its end is followed only if `follow` is set.
    pub fn locate(&self, path: &WsPath, follow: bool) -> Result<ResolvedPath> {
        self.probe(DiskCall::Stat).map_err(|errno| read_fault(errno, path))?;
        match self.open_beneath(path, OFlags::PATH | OFlags::NOFOLLOW) {
            Ok(handle) => {
                let stat = self.stat_handle(&handle, path)?;
                if follow && stat.is(FileKind::Link) {
                    return self.locate_through_links(path, follow);
                }
                Ok(ResolvedPath::Present { path: path.clone(), stat })
            }
            Err(Errno::NOENT) => Ok(ResolvedPath::Missing { path: path.clone() }),
            Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => {
                self.locate_through_links(path, follow)
            }
            Err(errno) => Err(read_fault(errno, path)),
        }
    }

    fn locate_through_links(&self, path: &WsPath, follow: bool) -> Result<ResolvedPath> {
        for _ in 0..RACES {
            match self.walk_links(path, follow) {
                Err(WalkError::Raced) => {}
                Err(WalkError::Fault(fault)) => return Err(fault),
                Ok(spot) => return Ok(spot),
            }
        }
        Err(read_fault(Errno::LOOP, path))
    }

    fn walk_links(
        &self,
        path: &WsPath,
        follow: bool,
    ) -> std::result::Result<ResolvedPath, WalkError> {
        let mut walk = Walk::new(self, path);
        let mut links = 0;
        while let Some(part) = walk.ahead.pop_front() {
            match part.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    walk.climb()?;
                    continue;
                }
                _ => {}
            }
            let last = walk.ahead.iter().all(|part| part.is_empty() || part == b".");
            let Some((handle, stat)) = walk.look(&part)? else { return walk.missing(part) };
            if stat.is(FileKind::Link) && (follow || !last) {
                links += 1;
                if links > MAX_LINKS {
                    return Err(read_fault(Errno::LOOP, path).into());
                }
                walk.follow(&handle)?;
            } else if last {
                return Ok(ResolvedPath::Present { path: walk.here(&part)?, stat });
            } else if stat.is(FileKind::Folder) {
                walk.enter(part, handle);
            } else {
                return Ok(ResolvedPath::Blocked { by: walk.here(&part)? });
            }
        }
        walk.end_in_folder()
    }
}

/// A fault, or a concurrent change of the tree, after which the walk must start again.
enum WalkError {
    Fault(Fault),
    Raced,
}

impl From<Fault> for WalkError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A walk from the root, one name at a time, with a handle of every folder on the way.
struct Walk<'a> {
    disk: &'a Disk,
    requested: &'a WsPath,
    /// The folders from the root to the present one.
    folders: Vec<(Vec<u8>, OwnedFd)>,
    /// The parts of the path that are still to be resolved.
    ahead: VecDeque<Vec<u8>>,
}

impl<'a> Walk<'a> {
    fn new(disk: &'a Disk, requested: &'a WsPath) -> Self {
        Self { disk, requested, folders: Vec::new(), ahead: parts(requested.relative()).collect() }
    }

    fn handle(&self) -> BorrowedFd<'_> {
        self.folders.last().map_or(self.disk.root.as_fd(), |(_, handle)| handle.as_fd())
    }

    fn look(&self, part: &[u8]) -> std::result::Result<Option<(OwnedFd, EntryStat)>, WalkError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(self.handle(), part, flags, Mode::empty()) {
            Ok(handle) => {
                let stat = self.disk.stat_handle(&handle, self.requested)?;
                Ok(Some((handle, stat)))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR) => Err(WalkError::Raced),
            Err(errno) => Err(read_fault(errno, self.requested).into()),
        }
    }

    fn enter(&mut self, part: Vec<u8>, handle: OwnedFd) {
        self.folders.push((part, handle));
    }

    fn climb(&mut self) -> Result<()> {
        self.folders.pop().map(|_| ()).ok_or_else(|| outside(self.requested))
    }

    fn follow(&mut self, link: &OwnedFd) -> Result<()> {
        let target = rustix::fs::readlinkat(link, "", Vec::new())
            .map_err(|errno| read_fault(errno, self.requested))?
            .into_bytes();
        let relative = if target.starts_with(b"/") {
            let rest = below_root(self.disk.host_root(), &target);
            self.folders.clear();
            rest.ok_or_else(|| outside(self.requested))?
        } else {
            target.as_slice()
        };
        for part in parts(relative).rev() {
            self.ahead.push_front(part);
        }
        Ok(())
    }

    fn here(&self, part: &[u8]) -> Result<WsPath> {
        let mut names: Vec<&[u8]> = self.folders.iter().map(|(name, _)| name.as_slice()).collect();
        names.push(part);
        WsPath::from_bytes(&names.join(&b'/')).map_err(|error| unusable(error, self.requested))
    }

    /// The result if there is no entry `part` in the present folder: the rest of the path is only appended.
    fn missing(self, part: Vec<u8>) -> std::result::Result<ResolvedPath, WalkError> {
        let mut names: Vec<Vec<u8>> = self.folders.iter().map(|(name, _)| name.clone()).collect();
        names.push(part);
        names.extend(self.ahead.iter().cloned());
        let path = WsPath::from_bytes(&names.join(&b'/'));
        Ok(ResolvedPath::Missing { path: path.map_err(|error| unusable(error, self.requested))? })
    }

    /// The result if the path ends in the present folder (after `..`, or at the root).
    fn end_in_folder(self) -> std::result::Result<ResolvedPath, WalkError> {
        let names: Vec<&[u8]> = self.folders.iter().map(|(name, _)| name.as_slice()).collect();
        let path = WsPath::from_bytes(&names.join(&b'/'))
            .map_err(|error| unusable(error, self.requested))?;
        let stat =
            EntryStat::of(self.handle()).map_err(|errno| read_fault(errno, self.requested))?;
        Ok(ResolvedPath::Present { path, stat })
    }
}

fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = Vec<u8>> + '_ {
    path.split(|byte| *byte == b'/').map(<[u8]>::to_vec)
}

fn outside(path: &WsPath) -> Fault {
    let message = format!(
        "{path} is, or goes through, a link that leaves the workspace. Name a file or folder of the workspace itself"
    );
    Fault::new(FaultCode::PathOutside, message).about(Subject::Path)
}

fn unusable(error: PathError, requested: &WsPath) -> Fault {
    if error == PathError::Outside {
        return outside(requested);
    }
    Fault::new(FaultCode::BadPath, format!("{requested} goes through a link: {error}"))
        .about(Subject::Path)
}

/// Opens a path without links where the kernel has no `openat2`: one name at a time, each from the handle of the
/// folder before it, following no link.
pub(super) fn open_by_component(
    root: BorrowedFd<'_>,
    path: &WsPath,
    flags: OFlags,
) -> DiskResult<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Some(name) = path.name() else {
        return rustix::fs::openat(root, ".", flags, Mode::empty());
    };
    let mut at: Option<OwnedFd> = None;
    for folder in path.parent().iter().flat_map(WsPath::names) {
        let within = at.as_ref().map_or(root, AsFd::as_fd);
        let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(within, folder.as_bytes(), step, Mode::empty())?;
        match EntryStat::of(&handle)? {
            stat if stat.is(FileKind::Folder) => at = Some(handle),
            stat if stat.is(FileKind::Link) => return Err(Errno::LOOP),
            _ => return Err(Errno::NOTDIR),
        }
    }
    let within = at.as_ref().map_or(root, AsFd::as_fd);
    let opened = rustix::fs::openat(within, name.as_bytes(), flags, Mode::empty());
    match opened {
        // With O_DIRECTORY the kernel reports ENOTDIR for a link, too; callers need ELOOP.
        Err(Errno::NOTDIR) => {
            let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = rustix::fs::openat(within, name.as_bytes(), step, Mode::empty())?;
            let is_link = EntryStat::of(&handle)?.is(FileKind::Link);
            Err(if is_link { Errno::LOOP } else { Errno::NOTDIR })
        }
        opened => opened,
    }
}
