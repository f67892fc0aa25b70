//! What an entry on disk is: kind, metadata and identity. Recovery compares identities after a crash,
//! and one root is told from another by them.
//!
//! This module only looks. What follows from two identities being equal is decided elsewhere.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType as RawType, FsWord, StatxFlags, StatxTimestamp};
use rustix::io::Errno;
use rustix::path::Arg;
use yard_core::op::OnDisk;
use yard_core::{FileKind, Timestamp};
use yard_store::{FileIdentity, RootIdentity, Signature};

/// File systems whose id is made from their UUID, so that it is the same after the next mount.
const WITH_STABLE_ID: [FsWord; 2] = [0xEF53, 0x9123_683E];

/// What an entry on disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Known(FileKind),
    /// A FIFO, a socket or a device, by name.
    Special(&'static str),
}

impl EntryKind {
    pub(crate) fn known(self) -> Option<FileKind> {
        match self {
            Self::Known(kind) => Some(kind),
            Self::Special(_) => None,
        }
    }

    pub(super) fn of(raw: RawType) -> Self {
        match raw {
            RawType::RegularFile => Self::Known(FileKind::File),
            RawType::Directory => Self::Known(FileKind::Folder),
            RawType::Symlink => Self::Known(FileKind::Link),
            RawType::Fifo => Self::Special("a FIFO"),
            RawType::Socket => Self::Special("a socket"),
            RawType::CharacterDevice | RawType::BlockDevice => Self::Special("a device"),
            RawType::Unknown => Self::Special("an unknown kind of file"),
        }
    }
}

/// Metadata of one entry, links not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    /// When it was last read. Two stats that differ only here are equal.
    pub(crate) accessed: Timestamp,
    pub(crate) owner: (u32, u32),
    pub(crate) device: (u32, u32),
    pub(crate) signature: Signature,
    /// `None` where the file system does not know when the inode was made.
    pub(crate) identity: Option<FileIdentity>,
}

impl PartialEq for Stat {
    fn eq(&self, other: &Self) -> bool {
        let looks = |stat: &Self| (stat.kind, stat.mode, stat.owner, stat.device, stat.signature);
        looks(self) == looks(other)
    }
}

impl Stat {
    /// The entry that a handle is open on.
    pub(super) fn of(handle: impl AsFd) -> Result<Self, Errno> {
        Self::look(handle, "", AtFlags::EMPTY_PATH)
    }

    /// The entry called `name` in a folder.
    pub(super) fn at(folder: impl AsFd, name: impl Arg) -> Result<Self, Errno> {
        Self::look(folder, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT)
    }

    fn look(at: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<Self, Errno> {
        let asked = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let raw = rustix::fs::statx(at, name, flags, asked)?;
        let mode = u32::from(raw.stx_mode);
        let (inode, mtime, ctime) = (raw.stx_ino, nanos(&raw.stx_mtime), nanos(&raw.stx_ctime));
        let knows_birth = raw.stx_mask & StatxFlags::BTIME.bits() != 0;
        let identity = FileIdentity { inode, birth: nanos(&raw.stx_btime), mtime, ctime };
        Ok(Self {
            kind: EntryKind::of(RawType::from_raw_mode(mode)),
            mode: mode & 0o7777,
            accessed: Timestamp::from_nanos(nanos(&raw.stx_atime)),
            owner: (raw.stx_uid, raw.stx_gid),
            device: (raw.stx_dev_major, raw.stx_dev_minor),
            signature: Signature { size: raw.stx_size, mtime, ctime, inode },
            identity: knows_birth.then_some(identity),
        })
    }

    pub(crate) fn size(&self) -> u64 {
        self.signature.size
    }

    pub(crate) fn modified(&self) -> Timestamp {
        Timestamp::from_nanos(self.signature.mtime)
    }

    /// When it was made; when it was last modified, where the file system does not know (R11).
    pub(crate) fn created(&self) -> Timestamp {
        self.identity.map_or_else(|| self.modified(), |file| Timestamp::from_nanos(file.birth))
    }

    pub(crate) fn is(&self, kind: FileKind) -> bool {
        self.kind == EntryKind::Known(kind)
    }

    pub(crate) fn on_disk(&self) -> OnDisk {
        OnDisk { mode: self.mode, size: self.size(), accessed_at: self.accessed }
    }
}

/// Which folder a handle is open on.
pub(super) fn root_identity(root: impl AsFd) -> Result<RootIdentity, Errno> {
    let stat = Stat::of(&root)?;
    let kind = rustix::fs::fstatfs(&root)?.f_type;
    let id = rustix::fs::fstatvfs(&root)?.f_fsid;
    let filesystem = WITH_STABLE_ID.contains(&kind).then_some(id);
    let birth = stat.identity.map(|file| file.birth);
    Ok(RootIdentity { filesystem, inode: stat.signature.inode, birth })
}

fn nanos(time: &StatxTimestamp) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000) + i64::from(time.tv_nsec)
}
