//! Which file an entry is: what recovery compares after a crash, and what tells one root from another.
//!
//! It only looks. What follows from two identities being equal is decided elsewhere.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType as RawType, FsWord, StatxFlags, StatxTimestamp};
use rustix::io::Errno;
use yard_store::{FileIdentity, RootIdentity};

use crate::stat::EntryKind;

/// File systems whose id is made from their UUID, so that it is the same after the next mount.
const WITH_STABLE_ID: [FsWord; 2] = [0xEF53, 0x9123_683E];

/// An entry with its identity, links not followed.
#[derive(Clone, Copy, Debug)]
pub struct EntryStat {
    /// What it is.
    pub kind: EntryKind,
    /// Its mode bits.
    pub mode: u32,
    /// Its owner and group.
    pub owner: (u32, u32),
    /// The number of its inode.
    pub inode: u64,
    pub(super) device: (u32, u32),
    /// `None` where the file system does not know when the inode was made.
    pub identity: Option<FileIdentity>,
}

impl EntryStat {
    /// What is behind a handle.
    pub(super) fn of(handle: impl AsFd) -> Result<Self, Errno> {
        Self::look(handle, b"", AtFlags::EMPTY_PATH)
    }

    /// What is called `name` in a folder.
    pub(super) fn at(folder: impl AsFd, name: &[u8]) -> Result<Self, Errno> {
        Self::look(folder, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn look(at: impl AsFd, name: &[u8], flags: AtFlags) -> Result<Self, Errno> {
        let asked = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let raw = rustix::fs::statx(at, name, flags, asked)?;
        let mode = u32::from(raw.stx_mode);
        let knows_birth = raw.stx_mask & StatxFlags::BTIME.bits() != 0;
        let identity = FileIdentity {
            inode: raw.stx_ino,
            birth: nanos(&raw.stx_btime),
            mtime: nanos(&raw.stx_mtime),
            ctime: nanos(&raw.stx_ctime),
        };
        Ok(Self {
            kind: EntryKind::of(RawType::from_raw_mode(mode)),
            mode: mode & 0o7777,
            owner: (raw.stx_uid, raw.stx_gid),
            inode: raw.stx_ino,
            device: (raw.stx_dev_major, raw.stx_dev_minor),
            identity: knows_birth.then_some(identity),
        })
    }
}

/// Which folder a handle is.
pub(super) fn root_identity(root: impl AsFd) -> Result<RootIdentity, Errno> {
    let stat = EntryStat::of(&root)?;
    let kind = rustix::fs::fstatfs(&root)?.f_type;
    let id = rustix::fs::fstatvfs(&root)?.f_fsid;
    let filesystem = WITH_STABLE_ID.contains(&kind).then_some(id);
    Ok(RootIdentity { filesystem, inode: stat.inode, birth: stat.identity.map(|file| file.birth) })
}

fn nanos(time: &StatxTimestamp) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000) + i64::from(time.tv_nsec)
}
