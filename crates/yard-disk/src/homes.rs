//! Homes of chats: the `/tmp` of every command of a chat, with its home directory. Their files are in no step and are
//! never read here. A home that no command used for a week is removed.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType as RawType, Mode, Timespec, Timestamps};
use rustix::io::Errno;
use yard_core::{ChatId, Result, Timestamp};

use crate::folders::{entries_in, open_folder, open_in_data, unusable};
use crate::opened::{MAX_DEPTH, size_of};
use crate::removal_queue::RemovalQueue;

/// The folder of all homes, in the data folder.
const FOLDER: &str = "homes";
/// The part of a home that boxes show. The modification time of the folder around it is the time of its last use.
const TMP: &str = "tmp";
/// An entry beside it, while it is full.
const FULL: &str = "full";
/// A home that was not used for so many seconds is removed.
const MAX_UNUSED_SECONDS: i64 = 7 * 24 * 3_600;

/// The homes of one workspace.
pub struct Homes {
    folder: OwnedFd,
    path: PathBuf,
    dropped: RemovalQueue,
}

/// The home of one chat.
pub struct Home {
    folder: OwnedFd,
    path: PathBuf,
}

impl Home {
    /// The part that boxes show.
    pub fn tmp(&self) -> PathBuf {
        self.path.join(TMP)
    }

    /// Whether it was full after the last command that was checked.
    pub fn was_full(&self) -> bool {
        rustix::fs::statat(&self.folder, FULL, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Records whether it is full.
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
    pub fn open(state: &Path, dropped: &RemovalQueue) -> Result<Self> {
        let folder = open_in_data(state, FOLDER)?;
        Ok(Self { folder, path: state.join(FOLDER), dropped: dropped.clone() })
    }

    /// The home of a chat, made if it is missing; its last use is now.
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

    /// Removes what is nested so deep in a home that it is not counted.
    pub fn prune(&self, home: &Home) -> Result<()> {
        self.dropped.prune(&home.folder, MAX_DEPTH).map_err(unusable)
    }

    /// Removes the homes that were not used for a week.
    pub fn sweep(&self, now: Timestamp) -> Result<()> {
        for (name, kind) in entries_in(&self.folder).map_err(unusable)? {
            let Ok(name) = String::from_utf8(name) else { continue };
            if kind == RawType::Directory
                && self.last_used(&name).saturating_add(MAX_UNUSED_SECONDS)
                    < now.as_millis() / 1_000
            {
                self.dropped.take(&self.folder, &name);
            }
        }
        Ok(())
    }

    /// The time of a home's last use, in seconds. A home whose metadata cannot be read counts as in use.
    fn last_used(&self, name: &str) -> i64 {
        let stat = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.map_or(i64::MAX - MAX_UNUSED_SECONDS, |stat| stat.st_mtime)
    }
}
