//! Access lists and user attributes: a file that replaces another one gets them from it. Also checks that this process
//! could write into a file before it replaces it. Capabilities and labels of the system are never copied.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{Access, AtFlags, Mode, XattrFlags};
use rustix::io::Errno;
use yard_core::{Fault, FaultCode, Result, Subject, WsPath};

use crate::disk::Disk;
use crate::faults::{stage_fault, write_fault};
use crate::folders::DiskResult;
use crate::stage::{Stage, Staged};
use crate::stat::EntryStat;

/// The attribute with the access list.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
/// The prefix of users' own attributes.
const USER_PREFIX: &[u8] = b"user.";
/// The system's limit for one attribute, and for the names of all attributes of a file.
const MAX_BYTES: usize = 64 << 10;

/// The mode of new folders, where none can be made to read its mode.
const USUAL_FOLDER_MODE: u32 = 0o755;

impl Disk {
    /// Fails if this process could not open a file for writing, or could not give a file in its place the same owner.
    pub fn check_replaceable(&self, path: &WsPath, stat: &EntryStat) -> Result<()> {
        let to_fault = |errno| write_fault(errno, path);
        let (parent, name) = self.parent_of(path).map_err(to_fault)?;
        let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::accessat(&parent, name.as_bytes(), Access::WRITE_OK, flags)
            .map_err(to_fault)?;
        let user = rustix::process::geteuid();
        if user.is_root() || stat.owner.0 == user.as_raw() {
            return Ok(());
        }
        let message = format!(
            "{path} belongs to another user (number {}), and the file that would take its place would \
             not; nothing was changed",
            stat.owner.0
        );
        Err(Fault::new(FaultCode::WriteRefused, message).about(Subject::Path))
    }
}

impl Stage {
    /// The mode of new folders: 0777 without the bits of the process's umask.
    pub fn folder_mode(&self) -> Result<u32> {
        let to_fault = |errno| stage_fault(errno, &WsPath::root());
        loop {
            let name = self.fresh_name();
            match rustix::fs::mkdirat(&self.folder, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {}
                // In such a folder no folder will be made.
                Err(Errno::ROFS | Errno::ACCESS) => return Ok(USUAL_FOLDER_MODE),
                Err(errno) => return Err(to_fault(errno)),
            }
            let mode = self.stat(&name).map(|stat| stat.mode);
            match rustix::fs::unlinkat(&self.folder, &name, AtFlags::REMOVEDIR) {
                // Another process, the only one until now, swept the staging folder, which it does once.
                Err(Errno::NOENT) => {}
                Ok(()) => return mode.map_err(to_fault),
                Err(errno) => return Err(to_fault(errno)),
            }
        }
    }
}

impl Staged {
    /// Copies the access list and the user attributes of the file that it replaces.
    pub fn take_attributes(&self, of: &File, mode: u32, path: &WsPath) -> Result<()> {
        copy(of, &self.open(path)?, mode, path)
    }
}

/// Copies the access list and the user attributes, and then sets the mode, which copying an access list changes.
fn copy(from: &File, to: &File, mode: u32, path: &WsPath) -> Result<()> {
    let names = names(from).map_err(|errno| write_fault(errno, path))?;
    let mut has_list = false;
    for name in names.split(|byte| *byte == 0).filter(|name| is_copied(name)) {
        copy_one(from, to, name).map_err(|errno| not_copied(name, errno, path))?;
        has_list |= name == ACCESS_LIST;
    }
    if has_list {
        rustix::fs::fchmod(to, Mode::from_raw_mode(mode))
            .map_err(|errno| write_fault(errno, path))?;
    }
    Ok(())
}

fn is_copied(name: &[u8]) -> bool {
    name == ACCESS_LIST || name.starts_with(USER_PREFIX) && !name.starts_with(b"user.overlay.")
}

fn names(file: impl AsFd) -> DiskResult<Vec<u8>> {
    let mut names = Vec::new();
    // Most files have none.
    let length = match rustix::fs::flistxattr_query(&file) {
        Ok(0) | Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(names),
        Ok(_) => MAX_BYTES,
        Err(errno) => return Err(errno),
    };
    names.resize(length, 0);
    let length = rustix::fs::flistxattr(&file, names.as_mut_slice())?;
    names.truncate(length);
    Ok(names)
}

fn copy_one(from: &File, to: &File, name: &[u8]) -> DiskResult {
    let mut value = vec![0; MAX_BYTES];
    let length = rustix::fs::fgetxattr(from, name, value.as_mut_slice())?;
    rustix::fs::fsetxattr(to, name, value.get(..length).unwrap_or_default(), XattrFlags::empty())
}

fn not_copied(name: &[u8], errno: Errno, path: &WsPath) -> Fault {
    let message = format!(
        "{path} has an attribute ({}) that a file in its place would not have: {errno}. Nothing was \
         changed",
        String::from_utf8_lossy(name)
    );
    Fault::new(FaultCode::WriteRefused, message).about(Subject::Path)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use rustix::fs::{Gid, Uid};

    use super::*;
    use crate::disk::Resolution;

    const SOMEBODY: u32 = 65_534;

    /// Runs `work` in a thread that is an ordinary user, who owns `folder`.
    pub(crate) fn as_ordinary_user(folder: &Path, work: impl FnOnce() + Send) {
        let user = Uid::from_raw(SOMEBODY);
        if rustix::process::geteuid().is_root() {
            rustix::fs::chown(folder, Some(user), Some(Gid::from_raw(SOMEBODY))).unwrap();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if rustix::process::geteuid().is_root() {
                    rustix::thread::set_thread_res_uid(user, user, user).unwrap();
                }
                work();
            });
        });
    }

    fn at(path: &str) -> WsPath {
        WsPath::parse(path).unwrap()
    }

    #[test]
    fn r5_a_read_only_file_and_another_user_s_are_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let by_root = rustix::process::geteuid().is_root();
        fs::write(home.path().join("theirs"), "x").unwrap();
        fs::set_permissions(home.path().join("theirs"), fs::Permissions::from_mode(0o666)).unwrap();
        as_ordinary_user(home.path(), || {
            let disk = Disk::open(home.path(), Resolution::Auto, None).unwrap();
            let refused = |name: &str| {
                let stat = disk.stat(&at(name)).unwrap().unwrap();
                disk.check_replaceable(&at(name), &stat).err().map(|fault| fault.code())
            };
            fs::write(home.path().join("mine"), "x").unwrap();
            assert_eq!(refused("/mine"), None);
            let read_only = fs::Permissions::from_mode(0o444);
            fs::set_permissions(home.path().join("mine"), read_only).unwrap();
            assert_eq!(refused("/mine"), Some(FaultCode::WriteRefused));
            let theirs = by_root.then_some(FaultCode::WriteRefused);
            assert_eq!(refused("/theirs"), theirs);
        });
    }

    #[test]
    fn r5_a_file_in_another_s_place_has_its_access_list_and_attributes() {
        let home = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| File::create(home.path().join(name)).unwrap());
        let set = |name: &[u8], value: &[u8]| {
            rustix::fs::fsetxattr(&from, name, value, XattrFlags::empty())
        };
        if set(b"user.origin", b"http://example.org") == Err(Errno::NOTSUP) {
            eprintln!("skipped: the file system of the temporary folder has no attributes");
            return;
        }
        // Owner rw, one group limited to reading, mask rw, everybody nothing.
        let entry = |tag: u16, bits: u16, id: u32| {
            let mut bytes = [tag.to_le_bytes(), bits.to_le_bytes()].concat();
            bytes.extend_from_slice(&id.to_le_bytes());
            bytes
        };
        let nobody = u32::MAX;
        let list = [
            2u32.to_le_bytes().to_vec(),
            entry(0x01, 6, nobody),
            entry(0x04, 4, nobody),
            entry(0x08, 4, 12_345),
            entry(0x10, 6, nobody),
            entry(0x20, 0, nobody),
        ]
        .concat();
        let has_lists = set(ACCESS_LIST, &list).is_ok();
        copy(&from, &to, 0o660, &at("/from")).unwrap();
        let value = |name: &[u8]| {
            let mut value = vec![0; 999];
            let length = rustix::fs::fgetxattr(&to, name, value.as_mut_slice()).unwrap();
            value.truncate(length);
            value
        };
        assert_eq!(value(b"user.origin"), b"http://example.org");
        if has_lists {
            assert_eq!(value(ACCESS_LIST), list);
            assert_eq!(to.metadata().unwrap().permissions().mode() & 0o777, 0o660);
        }
    }

    #[test]
    fn a_root_that_cannot_be_written_to_is_opened_and_refuses_changes() {
        // The data folder is on another file system than the root.
        let Ok(root) = tempfile::tempdir_in("/dev/shm") else {
            eprintln!("skipped: there is no file system in memory");
            return;
        };
        let data = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "x").unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o555)).unwrap();
        as_ordinary_user(data.path(), || {
            let disk = Disk::open(root.path(), Resolution::Auto, None).unwrap();
            let stage = Stage::open(&disk, data.path(), 7).unwrap();
            assert!(stage.folder_mode().unwrap() & 0o700 == 0o700);
            let refused = stage.check_writable(&disk, &WsPath::root()).unwrap_err();
            assert_eq!(refused.code(), FaultCode::WriteRefused);
        });
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
