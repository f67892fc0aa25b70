//! Opens folders that agents made unreadable, restores their mode afterwards, and measures what is in them.
//!
//! Commands may be changing these folders: a mode is changed through a handle, so that a link which takes the place of a
//! folder is not followed, and an entry that vanishes is no fault.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, FileType as RawType, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::folders::{DiskResult, entries_in, open_existing, set_mode};

/// Entries that are nested deeper are not kept, and so need not be counted.
pub(crate) const MAX_DEPTH: usize = 100;

/// A folder that its owner can read and change until this is dropped, whatever its mode is.
pub(crate) struct Opened {
    pub(crate) folder: OwnedFd,
    mode: Mode,
}

impl Opened {
    pub(crate) fn at(parent: &OwnedFd, name: &[u8]) -> DiskResult<Self> {
        let (folder, mode) = open_up(parent, name)?;
        Ok(Self { folder, mode })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let is_as_opened = |mode| mode == self.mode | Mode::RWXU;
        // A running command may have changed the mode meanwhile.
        if !self.mode.contains(Mode::RWXU) && mode_of(&self.folder).is_ok_and(is_as_opened) {
            // If this fails, the folder stays readable, and its contents are the same.
            let _ = rustix::fs::fchmod(&self.folder, self.mode);
        }
    }
}

/// Opens a folder, to list and to change its entries, and gives its owner the right to do so. Returns also the mode that
/// it had. A link is not followed.
pub(crate) fn open_up(parent: &OwnedFd, name: impl Arg) -> DiskResult<(OwnedFd, Mode)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let entry = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let mode = mode_of(&entry)?;
    if mode.contains(Mode::RWXU) {
        return Ok((open_existing(entry.as_fd(), ".")?, mode));
    }
    // If this fails, the folder belongs to another user, and may be readable all the same.
    let _ = set_mode(&entry, mode | Mode::RWXU);
    let folder = open_existing(entry.as_fd(), ".").inspect_err(|_| {
        let _ = set_mode(&entry, mode);
    })?;
    Ok((folder, mode))
}

fn mode_of(entry: &OwnedFd) -> DiskResult<Mode> {
    Ok(Mode::from_raw_mode(rustix::fs::fstat(entry)?.st_mode & 0o7777))
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
        let stat = rustix::fs::statat(here, &name[..], AtFlags::SYMLINK_NOFOLLOW);
        let Some(stat) = unless_gone(stat)? else { continue };
        total += u64::try_from(stat.st_blocks).unwrap_or(0) * 512 + 256;
        let is_folder = RawType::from_raw_mode(stat.st_mode) == RawType::Directory;
        if is_folder && above.len() < MAX_DEPTH {
            let Some(inside) = unless_gone(Opened::at(here, &name))? else { continue };
            rest.push(unless_gone(names_of(&inside.folder))?.unwrap_or_default());
            above.push(inside);
        }
    }
    Ok(total)
}

/// `None` if the entry is gone, or no folder any more: others may change the folder that it was in.
pub(crate) fn unless_gone<T>(done: DiskResult<T>) -> DiskResult<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn names_of(folder: &OwnedFd) -> DiskResult<Vec<Vec<u8>>> {
    Ok(entries_in(folder)?.into_iter().map(|(name, _)| name).collect())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::attributes::tests::as_ordinary_user;
    use crate::folders::open_folder;

    fn handle(folder: &Path) -> OwnedFd {
        open_folder(rustix::fs::CWD, folder.as_os_str()).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_is_not_followed_and_what_it_leads_to_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        as_ordinary_user(folder.path(), || {
            let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
            fs::create_dir(&inside).unwrap();
            fs::create_dir(&outside).unwrap();
            fs::set_permissions(&outside, Permissions::from_mode(0o500)).unwrap();
            symlink(&outside, inside.join("link")).unwrap();
            let handle = handle(&inside);
            assert!(Opened::at(&handle, b"link").is_err());
            assert_eq!(mode(&outside), 0o500);
            assert!(size_of(&handle).is_ok());
            assert_eq!(mode(&outside), 0o500);
        });
    }

    #[test]
    fn a_folder_without_any_permission_is_counted_and_has_its_mode_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        as_ordinary_user(folder.path(), || {
            let closed = folder.path().join("closed");
            fs::create_dir(&closed).unwrap();
            fs::write(closed.join("file"), vec![1; 1 << 20]).unwrap();
            for bits in [0o000, 0o300] {
                fs::set_permissions(&closed, Permissions::from_mode(bits)).unwrap();
                assert!(size_of(&handle(folder.path())).unwrap() >= 1 << 20);
                assert_eq!(mode(&closed), bits);
            }
            fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        });
    }

    #[test]
    fn a_folder_is_measured_while_others_remove_and_exchange_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, done) = (folder.path().to_owned(), AtomicBool::new(false));
        let change = || {
            while !done.load(Ordering::Relaxed) {
                for n in 0..20 {
                    let at = path.join(format!("d{n}"));
                    fs::create_dir_all(at.join("e")).unwrap();
                    fs::write(at.join("e/file"), "x").unwrap();
                    fs::remove_dir_all(&at).unwrap();
                    symlink("/", &at).unwrap();
                    fs::remove_file(&at).unwrap();
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(change);
            let handle = handle(folder.path());
            let measured = (0..500).try_for_each(|_| size_of(&handle).map(drop));
            done.store(true, Ordering::Relaxed);
            assert_eq!(measured, Ok(()));
        });
    }
}
