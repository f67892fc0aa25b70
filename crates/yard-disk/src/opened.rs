//! Opens folders that agents made unreadable, and restores their mode afterwards.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType as RawType, Mode};

use crate::folders::{DiskResult, entries_in, open_existing};

/// Entries that are nested deeper are not counted.
const MAX_DEPTH: usize = 100;

/// A folder that its owner can read and change until this is dropped, whatever its mode is.
pub(crate) struct Opened {
    pub(crate) folder: OwnedFd,
    mode: Mode,
}

impl Opened {
    pub(crate) fn at(parent: &OwnedFd, name: &[u8]) -> DiskResult<Self> {
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        if !mode.contains(Mode::RWXU) {
            rustix::fs::chmodat(parent, name, mode | Mode::RWXU, AtFlags::empty())?;
        }
        Ok(Self { folder: open_existing(parent, name)?, mode })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.mode.contains(Mode::RWXU) {
            // If this fails, the folder stays readable, and its contents are the same.
            let _ = rustix::fs::fchmod(&self.folder, self.mode);
        }
    }
}

/// How many bytes of the disk the contents of a folder take.
pub(crate) fn size_of(folder: &OwnedFd) -> DiskResult<u64> {
    let mut total = 0;
    let mut above: Vec<Opened> = Vec::new();
    let mut rest: Vec<Vec<Vec<u8>>> = vec![names_of(folder)?];
    while let Some(names) = rest.last_mut() {
        let Some(name) = names.pop() else {
            rest.pop();
            above.pop();
            continue;
        };
        let here = above.last().map_or(folder, |opened| &opened.folder);
        let stat = rustix::fs::statat(here, &name[..], AtFlags::SYMLINK_NOFOLLOW)?;
        total += u64::try_from(stat.st_blocks).unwrap_or(0) * 512 + 256;
        let is_folder = RawType::from_raw_mode(stat.st_mode) == RawType::Directory;
        if is_folder && above.len() < MAX_DEPTH {
            let inside = Opened::at(here, &name)?;
            rest.push(names_of(&inside.folder)?);
            above.push(inside);
        }
    }
    Ok(total)
}

fn names_of(folder: &OwnedFd) -> DiskResult<Vec<Vec<u8>>> {
    Ok(entries_in(folder)?.into_iter().map(|(name, _)| name).collect())
}
