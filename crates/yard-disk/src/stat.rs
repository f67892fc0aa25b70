//! How an entry on disk looks. Nothing here opens or follows anything.

use rustix::fs::FileType as RawType;
use yard_core::op::OnDisk;
use yard_core::{Call, FileKind, Timestamp};
use yard_store::Signature;

/// Mode bits of a file that runs with the rights of its owner or its group.
pub const SET_ID: u32 = 0o6000;

/// What an entry on disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file, a folder or a link.
    Known(FileKind),
    /// A FIFO, a socket or a device, by name.
    Special(&'static str),
}

impl EntryKind {
    /// Its kind, if it is a file, a folder or a link.
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

/// Metadata of one entry, links not followed.
#[derive(Clone, Copy, Debug)]
pub struct Stat {
    /// What it is.
    pub kind: EntryKind,
    /// Its mode bits.
    pub mode: u32,
    /// When it was last read: no part of how it looks.
    pub accessed: Timestamp,
    /// Its owner and group.
    pub owner: (u32, u32),
    /// The device of its file system.
    pub device: u64,
    /// What tells whether its content may have changed.
    pub signature: Signature,
}

/// Two looks at what nobody changed are equal, whoever read it meanwhile.
impl PartialEq for Stat {
    fn eq(&self, other: &Self) -> bool {
        let looks = |stat: &Self| (stat.kind, stat.mode, stat.owner, stat.device, stat.signature);
        looks(self) == looks(other)
    }
}

impl Stat {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.signature.size
    }

    /// When its content was last changed.
    pub fn modified(&self) -> Timestamp {
        Timestamp::from_nanos(self.signature.mtime)
    }

    /// Whether it is of that kind.
    pub fn is(&self, kind: FileKind) -> bool {
        self.kind == EntryKind::Known(kind)
    }

    /// What answers show of it.
    pub fn on_disk(&self) -> OnDisk {
        OnDisk { mode: self.mode, size: self.size(), accessed_at: self.accessed }
    }

    pub(crate) fn of(raw: &rustix::fs::Stat) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000) + nanos;
        Self {
            kind: EntryKind::of(RawType::from_raw_mode(raw.st_mode)),
            mode: raw.st_mode & 0o7777,
            accessed: Timestamp::from_nanos(nanos(raw.st_atime, raw.st_atime_nsec as i64)),
            owner: (raw.st_uid, raw.st_gid),
            device: raw.st_dev,
            signature: Signature {
                size: u64::try_from(raw.st_size).unwrap_or(0),
                mtime: nanos(raw.st_mtime, raw.st_mtime_nsec as i64),
                ctime: nanos(raw.st_ctime, raw.st_ctime_nsec as i64),
                inode: raw.st_ino,
            },
        }
    }
}

/// A file younger than this when it was looked at may have changed again within the same clock tick.
pub const RACY_NANOS: i64 = 2_000_000_000;

/// Whether a signature can be trusted from now on.
pub fn is_settled(signature: &Signature, call: &Call) -> bool {
    let now = call.world().now().as_millis().saturating_mul(1_000_000);
    now - signature.mtime.max(signature.ctime) > RACY_NANOS
}
