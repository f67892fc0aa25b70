//! A look at what an entry is, and not at when it changed.
//!
//! Asking for times has a price since Linux tells two changes apart that come right after each other: once
//! somebody has seen a file's times its next change gets a moment of its own, and no file of the system may
//! get an older one after that. So a staged file whose times were asked for makes every flush of the store's
//! log write the log's inode too, which else happens a few hundred times a second at most. (A file that is
//! replaced is looked at with its times all the same: by them a save of somebody else is known.)

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType as RawType, StatxFlags};
use rustix::io::Errno;

use super::EntryKind;

/// What an entry is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bare {
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) inode: u64,
    pub(super) device: (u32, u32),
}

impl Bare {
    /// What is behind a handle.
    pub(super) fn of(handle: impl AsFd) -> Result<Self, Errno> {
        Self::look(handle, "", AtFlags::EMPTY_PATH)
    }

    /// What is called `name` in a folder; a link itself.
    pub(super) fn at(folder: impl AsFd, name: &str) -> Result<Self, Errno> {
        Self::look(folder, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn look(at: impl AsFd, name: &str, flags: AtFlags) -> Result<Self, Errno> {
        let asked = StatxFlags::TYPE
            | StatxFlags::MODE
            | StatxFlags::UID
            | StatxFlags::GID
            | StatxFlags::INO;
        let raw = rustix::fs::statx(at, name, flags, asked)?;
        let mode = u32::from(raw.stx_mode);
        Ok(Self {
            kind: EntryKind::of(RawType::from_raw_mode(mode)),
            mode: mode & 0o7777,
            owner: (raw.stx_uid, raw.stx_gid),
            inode: raw.stx_ino,
            device: (raw.stx_dev_major, raw.stx_dev_minor),
        })
    }
}
