//! The metadata of entries on disk, with the identities by which recovery recognizes files after a crash, and roots.
//!
//! This module only reads. What follows from equal identities is decided elsewhere.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType as RawType, FsWord, StatxFlags, StatxTimestamp};
use rustix::io::Errno;
use rustix::path::Arg;
use yard_core::op::OnDisk;
use yard_core::{Call, FileKind, Signature, Timestamp};
use yard_store::{FileIdentity, RootIdentity};

/// File systems whose id is derived from their UUID, so that it is the same after the next mount.
const WITH_STABLE_ID: [FsWord; 2] = [0xEF53, 0x9123_683E];

/// The kind of an entry on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file, a folder or a link.
    Known(FileKind),
    /// A FIFO, a socket or a device, by name.
    Special(&'static str),
}

impl EntryKind {
    /// The kind, if it is a file, a folder or a link.
    pub fn known(self) -> Option<FileKind> {
        match self {
            Self::Known(kind) => Some(kind),
            Self::Special(_) => None,
        }
    }

    pub(crate) fn of(raw: RawType) -> Self {
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

/// Metadata of one entry; links are not followed.
#[derive(Clone, Copy, Debug)]
pub struct EntryStat {
    /// Its kind.
    pub kind: EntryKind,
    /// Its mode bits.
    pub mode: u32,
    /// When it was last read. Two stats that differ only here are equal.
    pub accessed: Timestamp,
    /// Its owner and group.
    pub owner: (u32, u32),
    /// The major and minor number of its file system's device.
    pub device: (u32, u32),
    /// Its signature, which changes when its content changes.
    pub signature: Signature,
    /// `None` if the file system does not record when an inode was made.
    pub identity: Option<FileIdentity>,
}

impl PartialEq for EntryStat {
    fn eq(&self, other: &Self) -> bool {
        let looks = |stat: &Self| (stat.kind, stat.mode, stat.owner, stat.device, stat.signature);
        looks(self) == looks(other)
    }
}

impl EntryStat {
    /// The entry that a handle is open on.
    pub(crate) fn of(handle: impl AsFd) -> Result<Self, Errno> {
        Self::look(handle, "", AtFlags::EMPTY_PATH)
    }

    /// The entry called `name` in a folder.
    pub(crate) fn at(folder: impl AsFd, name: impl Arg) -> Result<Self, Errno> {
        Self::look(folder, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT)
    }

    fn look(at: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<Self, Errno> {
        let requested = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let raw = rustix::fs::statx(at, name, flags, requested)?;
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

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.signature.size
    }

    /// When its content was last changed.
    pub fn modified(&self) -> Timestamp {
        Timestamp::from_nanos(self.signature.mtime)
    }

    /// When it was made, or last modified, if the file system does not record the former (R11).
    pub fn created(&self) -> Timestamp {
        self.identity.map_or_else(|| self.modified(), |file| Timestamp::from_nanos(file.birth))
    }

    /// Whether it is of that kind.
    pub fn is(&self, kind: FileKind) -> bool {
        self.kind == EntryKind::Known(kind)
    }

    /// The part that answers show.
    pub fn on_disk(&self) -> OnDisk {
        OnDisk { mode: self.mode, size: self.size(), accessed_at: self.accessed }
    }
}

/// The identity of the folder that a handle is open on.
pub(crate) fn root_identity(root: impl AsFd) -> Result<RootIdentity, Errno> {
    let stat = EntryStat::of(&root)?;
    let kind = rustix::fs::fstatfs(&root)?.f_type;
    let id = rustix::fs::fstatvfs(&root)?.f_fsid;
    let filesystem = WITH_STABLE_ID.contains(&kind).then_some(id);
    let birth = stat.identity.map(|file| file.birth);
    Ok(RootIdentity { filesystem, inode: stat.signature.inode, birth })
}

/// Nanoseconds since the epoch. Every moment after April 2262 is the last one that fits.
fn nanos(time: &StatxTimestamp) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(i64::from(time.tv_nsec))
}

/// Mode bits of a file that runs with the rights of its owner or its group.
pub const SET_ID: u32 = 0o6000;

/// A file that was changed within this time before its signature was read may change again within the same clock tick.
const RACY_NANOS: i64 = 2_000_000_000;

/// Whether a later change of the file would change its signature.
pub fn is_settled(signature: &Signature, call: &Call) -> bool {
    is_older_than_a_tick(signature.mtime.max(signature.ctime), call)
}

/// Whether a moment, in nanoseconds since the epoch, was so long ago that a change now would get a later time.
pub fn is_older_than_a_tick(nanos: i64, call: &Call) -> bool {
    let now = call.world().now().as_millis().saturating_mul(1_000_000);
    now.saturating_sub(nanos) > RACY_NANOS
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_file_of_the_year_2300_has_the_last_time_that_fits() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("file")).unwrap();
        for millis in [10_413_792_000_500, 9_223_372_036_999] {
            file.set_modified(UNIX_EPOCH + Duration::from_millis(millis)).unwrap();
            // Some file systems hold no such time.
            let held = file.metadata().unwrap().modified().unwrap();
            let held = held.duration_since(UNIX_EPOCH).unwrap().as_nanos();
            let stat = EntryStat::of(&file).unwrap();
            assert_eq!(stat.signature.mtime, i64::try_from(held).unwrap_or(i64::MAX));
        }
    }
}
