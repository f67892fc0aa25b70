//! The five system calls that no safe wrapper has: a recursive change of mounts, a fork of this process
//! before it has threads, leaving namespaces, a signal to every process of a namespace, and keeping open
//! files from a command. No other file of the workspace is `unsafe`.

#![allow(unsafe_code, reason = "no safe wrapper has these calls; each says why it is sound")]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// `struct mount_attr`, as the kernel has it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// How the mounts of a tree shall be.
#[derive(Clone, Copy, Default)]
pub(crate) struct TreeAttributes<'a> {
    /// `MOUNT_ATTR_*` to set.
    pub(crate) set: u64,
    /// The owners on disk are shown as this user namespace maps them.
    pub(crate) mapped_by: Option<BorrowedFd<'a>>,
    /// Changes reach this tree only.
    pub(crate) private: bool,
    /// Whether mounts below the tree's root are meant too.
    pub(crate) recursive: bool,
}

/// Changes the mounts of the tree whose root is `tree`.
pub(crate) fn mount_setattr(tree: impl AsFd, wanted: TreeAttributes<'_>) -> io::Result<()> {
    let mut attr = MountAttr { set: wanted.set, ..MountAttr::default() };
    if let Some(namespace) = wanted.mapped_by {
        attr.set |= libc::MOUNT_ATTR_IDMAP;
        attr.user_namespace = namespace.as_raw_fd() as u64;
    }
    if wanted.private {
        attr.propagation = libc::MS_PRIVATE;
    }
    let mut flags = libc::AT_EMPTY_PATH;
    if wanted.recursive {
        flags |= libc::AT_RECURSIVE;
    }
    // SAFETY: the path is an empty C string, `attr` is alive and as long as the size says, and the
    // kernel only reads it.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Becomes two processes; the child gets `None`. For the helper, which has one thread.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the helper is called before anything in it started a thread, so no lock is held by one
    // that the child lacks. Were there others, the child could wait for ever, and the server ends it.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Leaves namespaces of this process for new ones.
pub(crate) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    let namespaces = namespaces.difference(UnshareFlags::FILES);
    // SAFETY: unsound only with `FILES`, which no caller can ask for.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }?;
    Ok(())
}

/// Keeps the files that this process inherited, apart from its three streams, from the processes that it starts.
pub(crate) fn keep_files_from_commands() -> io::Result<()> {
    // SAFETY: sets a flag on descriptors and closes none, so every owner's descriptor stays valid.
    let done = unsafe { libc::close_range(3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC as i32) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends SIGTERM to every process of this pid namespace apart from its first. Fails unless this process is the first,
/// because outside of a namespace the signal would reach every process of the machine.
pub(crate) fn terminate_all() -> io::Result<()> {
    if rustix::process::getpid() != Pid::INIT {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // SAFETY: takes two numbers and touches no memory of ours.
    let done = unsafe { libc::kill(-1, libc::SIGTERM) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
