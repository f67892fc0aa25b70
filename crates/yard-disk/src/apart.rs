//! A folder that changes with every step, made where that costs the others of its home nothing.
//!
//! Inodes that are made after each other lie in one block of the disk. An ext4 without a journal writes the
//! block of a flushed file's inode with every flush if anything in it has changed: a staging folder beside
//! the store's log would make each commit a third dearer. Where inodes lie otherwise nothing is lost.

use std::collections::HashSet;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, RenameFlags};
use rustix::io::Errno;

use crate::folders::open_folder;
use crate::identity::EntryStat;

/// Inodes to a block, on ext4 as it is made by default.
const TO_A_BLOCK: u64 = 16;
/// Most folders that are made to find one in another block.
const TRIES: u64 = 2 * TO_A_BLOCK;

/// Opens a folder of `home`. If it is new, no other entry of `home` has its inode in the same block, as far
/// as a few tries can do that.
pub(super) fn open_apart(home: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    if EntryStat::at(home, name.as_bytes()).is_err_and(|errno| errno == Errno::NOENT) {
        // What a crash left.
        clear(home, name, None);
        // Whatever fails here, and whoever else does it at the same time: a folder is all that is needed.
        let _ = make_apart(home, name);
        clear(home, name, None);
    }
    open_folder(home, name)
}

fn make_apart(home: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    let taken = blocks_in(home)?;
    for attempt in tries(name) {
        rustix::fs::mkdirat(home, &attempt, Mode::from_raw_mode(0o700))?;
        if !taken.contains(&block(EntryStat::at(home, attempt.as_bytes())?.inode)) {
            clear(home, name, Some(&attempt));
            return rustix::fs::renameat_with(home, &attempt, home, name, RenameFlags::NOREPLACE);
        }
    }
    Ok(())
}

/// Removes the tries, but for one.
fn clear(home: BorrowedFd<'_>, name: &str, but: Option<&str>) {
    for attempt in tries(name).filter(|attempt| Some(attempt.as_str()) != but) {
        let _ = rustix::fs::unlinkat(home, attempt, AtFlags::REMOVEDIR);
    }
}

fn tries(name: &str) -> impl Iterator<Item = String> {
    (0..TRIES).map(move |number| format!("{name}.{number}"))
}

/// Inodes are counted from 1.
fn block(inode: u64) -> u64 {
    inode.saturating_sub(1) / TO_A_BLOCK
}

fn blocks_in(home: BorrowedFd<'_>) -> Result<HashSet<u64>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(home, ".", flags, Mode::empty())?;
    let mut buffer = Vec::with_capacity(8 << 10);
    let mut entries = RawDir::new(handle.as_fd(), buffer.spare_capacity_mut());
    let mut blocks = HashSet::new();
    while let Some(entry) = entries.next() {
        blocks.insert(block(entry?.ino()));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use std::fs::{DirBuilder, File};
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};

    use super::*;

    fn entries(home: &std::path::Path) -> Vec<String> {
        let entries = std::fs::read_dir(home).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_folder_has_no_neighbours_and_nothing_else_is_left() {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("log");
        let neighbour = block(File::create(&log).unwrap().metadata().unwrap().ino());
        // What a crash in the middle of it left.
        DirBuilder::new().mode(0o700).create(home.path().join("stage.3")).unwrap();
        let handle = File::open(home.path()).unwrap();
        open_apart(handle.as_fd(), "stage").unwrap();
        assert_eq!(entries(home.path()), ["log", "stage"]);
        let stage = home.path().join("stage").metadata().unwrap();
        assert!(stage.is_dir());
        // Where inodes are counted up, and not all of the next ones are taken.
        assert_ne!(block(stage.ino()), neighbour);
        assert_eq!(stage.mode() & 0o777, 0o700);
        // Opened again it is the same one.
        let again = EntryStat::of(open_apart(handle.as_fd(), "stage").unwrap()).unwrap();
        assert_eq!(again.inode, stage.ino());
    }

    #[test]
    fn two_who_open_it_at_once_have_the_same_one() {
        for _ in 0..20 {
            let home = tempfile::tempdir().unwrap();
            let handle = File::open(home.path()).unwrap();
            let open =
                || EntryStat::of(open_apart(handle.as_fd(), "stage").unwrap()).unwrap().inode;
            let (ours, theirs) = std::thread::scope(|scope| {
                let other = scope.spawn(open);
                (open(), other.join().unwrap())
            });
            assert_eq!(ours, theirs);
            assert_eq!(entries(home.path()), ["stage"]);
        }
    }
}
