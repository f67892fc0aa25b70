//! Homes of chats: what every command of a chat has as `/tmp`, with its home in it. They are in no step, agents
//! write to them as they like, and nothing in them is read here. One that no command used for a week goes.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType as RawType, Mode, Timespec, Timestamps};
use rustix::io::Errno;
use yard_core::{ChatId, Result, Timestamp};

use crate::dropped::Dropped;
use crate::folders::{entries_in, open_folder, open_in_data, unusable};
use crate::opened::size_of;

/// The folder of the data folder that they are in.
const FOLDER: &str = "homes";
/// The part of a home that agents see. When the folder around it was changed is when it was last used.
const TMP: &str = "tmp";
/// Beside it, while it is full.
const FULL: &str = "full";
/// After so many seconds without use a home goes.
const KEPT: i64 = 7 * 24 * 3_600;

/// The homes of one workspace.
pub struct Homes {
    folder: OwnedFd,
    path: PathBuf,
    dropped: Dropped,
}

/// The home of one chat.
pub struct Home {
    folder: OwnedFd,
    path: PathBuf,
}

impl Home {
    /// The part that agents see.
    pub fn tmp(&self) -> PathBuf {
        self.path.join(TMP)
    }

    /// Whether the last command that was looked at left it full.
    pub fn was_full(&self) -> bool {
        rustix::fs::statat(&self.folder, FULL, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Notes whether it is.
    pub fn note_full(&self, is_full: bool) -> Result<()> {
        let noted = match is_full {
            true => rustix::fs::mkdirat(&self.folder, FULL, Mode::RWXU),
            false => rustix::fs::unlinkat(&self.folder, FULL, AtFlags::REMOVEDIR),
        };
        match noted {
            Ok(()) | Err(Errno::EXIST | Errno::NOENT) => Ok(()),
            Err(errno) => Err(unusable(errno)),
        }
    }

    /// How many bytes of the disk it takes.
    pub fn size(&self) -> Result<u64> {
        size_of(&self.folder).map_err(unusable)
    }
}

impl Homes {
    /// Opens (or makes) the folder of the homes.
    pub fn open(state: &Path, dropped: &Dropped) -> Result<Self> {
        let folder = open_in_data(state, FOLDER)?;
        Ok(Self { folder, path: state.join(FOLDER), dropped: dropped.clone() })
    }

    /// The home of a chat, made if it has none. It counts as used now.
    pub fn of(&self, chat: ChatId, now: Timestamp) -> Result<Home> {
        let name = chat.to_string();
        let made = || {
            let home = open_folder(self.folder.as_fd(), &name)?;
            open_folder(home.as_fd(), TMP)?;
            let now = Timespec { tv_sec: now.as_millis() / 1_000, tv_nsec: 0 };
            let times = Timestamps { last_access: now, last_modification: now };
            rustix::fs::utimensat(&self.folder, &name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(home)
        };
        let folder = made().map_err(unusable)?;
        Ok(Home { folder, path: self.path.join(name) })
    }

    /// Removes those that nobody used for a week.
    pub fn sweep(&self, now: Timestamp) -> Result<()> {
        for (name, kind) in entries_in(&self.folder).map_err(unusable)? {
            let Ok(name) = String::from_utf8(name) else { continue };
            if kind == RawType::Directory && self.last_used(&name) + KEPT < now.as_millis() / 1_000
            {
                self.dropped.take(&self.folder, &name);
            }
        }
        Ok(())
    }

    /// In seconds, as the file system counts them. What cannot be looked at is left alone.
    fn last_used(&self, name: &str) -> i64 {
        let stat = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.map_or(i64::MAX - KEPT, |stat| stat.st_mtime)
    }
}
