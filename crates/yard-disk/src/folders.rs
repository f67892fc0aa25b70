//! Opens, lists and renames folders of the data folder, by handles. It takes no path of the workspace.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType as RawType, Mode, OFlags, RawDir, RenameFlags};
use rustix::io::Errno;
use rustix::path::Arg;
use yard_core::{Fault, FaultCode, Result};

/// What a call to the disk returns.
pub(crate) type DiskResult<T = ()> = std::result::Result<T, Errno>;

/// Opens a folder, and makes it if it is missing.
pub(crate) fn open_folder<P: Arg + Copy>(at: BorrowedFd<'_>, name: P) -> DiskResult<OwnedFd> {
    match rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// Opens an existing folder, to list and to change its entries. A link is not followed.
pub(crate) fn open_existing(at: impl AsFd, name: impl Arg) -> DiskResult<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// Sets the mode of the entry that a handle is open on, which may be a handle that can neither read nor write.
pub(crate) fn set_mode(entry: &OwnedFd, mode: Mode) -> DiskResult {
    // `fchmod` refuses such handles.
    rustix::fs::chmod(format!("/proc/self/fd/{}", entry.as_raw_fd()), mode)
}

/// Opens (or makes) a folder of the data folder.
pub(crate) fn open_in_data(state: &Path, name: &str) -> Result<OwnedFd> {
    let data = open_folder(rustix::fs::CWD, state.as_os_str()).map_err(unusable)?;
    open_folder(data.as_fd(), name).map_err(unusable)
}

type Names = Vec<(Vec<u8>, RawType)>;

/// The entries of a folder, each with its kind.
pub(crate) fn entries_in(folder: &OwnedFd) -> DiskResult<Names> {
    read_entries(open_existing(folder, ".")?)
}

/// The entries of a folder that is open for reading, each with its kind.
pub(crate) fn read_entries(folder: OwnedFd) -> DiskResult<Names> {
    let mut buffer = Vec::with_capacity(32 * 1024);
    let mut entries = RawDir::new(folder, buffer.spare_capacity_mut());
    let mut found = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            found.push((name.to_vec(), entry.file_type()));
        }
    }
    Ok(found)
}

pub(crate) fn state_unusable(error: impl Into<std::io::Error>) -> Fault {
    let error = error.into();
    Fault::new(FaultCode::Io, format!("the workspace's state folder cannot be used: {error}"))
}

pub(crate) fn unusable(errno: Errno) -> Fault {
    unusable_io(&errno.into())
}

pub(crate) fn unusable_io(error: &std::io::Error) -> Fault {
    let code = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => FaultCode::DiskFull,
        _ => FaultCode::Io,
    };
    Fault::new(code, format!("a folder in the data folder cannot be used: {error}"))
}

/// The names in a folder.
pub(crate) fn names_in(folder: &OwnedFd) -> DiskResult<Vec<String>> {
    let names = entries_in(folder)?.into_iter();
    Ok(names.map(|(name, _)| String::from_utf8_lossy(&name).into_owned()).collect())
}

/// Creates a file for writing, which must not exist.
pub(crate) fn create_file(at: impl AsFd, name: impl Arg, mode: u32) -> DiskResult<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::from_raw_mode(mode)).map(File::from)
}

/// Opens a file for reading. A link is not followed, and a FIFO does not block.
pub(crate) fn open_file(at: impl AsFd, name: impl Arg) -> DiskResult<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty()).map(File::from)
}

/// Exchanges two entries.
pub(crate) fn exchange(
    one: impl AsFd,
    one_name: impl Arg,
    other: impl AsFd,
    other_name: impl Arg,
) -> DiskResult {
    rustix::fs::renameat_with(one, one_name, other, other_name, RenameFlags::EXCHANGE)
}

/// Renames an entry without replacing another one. If the file system has no such call, the target is checked before:
/// the workspace's lock keeps other Toolyard processes away.
pub(crate) fn rename_new(
    from: impl AsFd,
    from_name: impl Arg + Copy,
    to: impl AsFd,
    to_name: impl Arg + Copy,
) -> DiskResult {
    match rustix::fs::renameat_with(&from, from_name, &to, to_name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            match rustix::fs::statat(&to, to_name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(from, from_name, to, to_name),
                Err(errno) => Err(errno),
                Ok(_) => Err(Errno::EXIST),
            }
        }
        done => done,
    }
}
