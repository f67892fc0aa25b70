//! The filter of system calls: calls that no command needs fail with EPERM, and calls that programs can replace by
//! older ones fail with ENOSYS. No call kills the process.
//!
//! ENOSYS is also the answer to calls whose arguments the filter cannot read (flags behind a pointer, say), and to
//! calls of the x32 numbers or newer than this list.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

/// Calls that are refused whatever their arguments.
const REFUSED: &[i64] = &[
    // Looking into or steering other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // The kernel's own machinery.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_personality,
    // Keyrings, which belong to the user and not to the box.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // What is mounted where, and ways around it.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_mount_setattr,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Names and clocks.
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
];

/// Calls that are refused without namespaces: Landlock restricts neither changes of a file's metadata nor the objects
/// that processes share by number.
const REFUSED_ALONE: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    463, // setxattrat
    466, // removexattrat
    469, // file_setattr
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    // Landlock restricts neither datagrams nor older ways to connect.
    libc::SYS_socket,
];

/// Calls that are refused without namespaces unless the first argument is zero, which means the calling process.
const OWN_ALONE: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// The `ioctl`s that set attributes of a file through any handle of it.
const FILE_ATTRIBUTES: [u64; 2] =
    [0x4008_6602 /* FS_IOC_SETFLAGS */, 0x401c_5820 /* FS_IOC_FSSETXATTR */];

/// Calls that seem not to exist, so that libraries use older ones, whose flags are not behind a pointer.
const ABSENT: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_openat2,
];

/// Calls that set a file's mode, each with the argument that is the mode: a set-uid file would, once landed, run as
/// the server's user. The mode of `open` is checked even if the call makes no file, because libraries then send zero.
/// `mkdir` is not among them: the kernel ignores these bits there, and programs that copy folders send them.
const MODES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
    (libc::SYS_openat, 3),
];

/// Calls that can make a device, each with the argument that is the mode. Every user may make the device number 0.
const DEVICES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// Leaves the device number 0 at the old path of a renamed file.
const RENAME_WHITEOUT: u64 = 4;

/// `open_tree_attr`, the same on all architectures.
const OPEN_TREE_ATTR: i64 = 467;

/// `fchmodat2`, the same on all architectures.
const FCHMODAT2: i64 = 452;

/// The newest call that this list covers: Linux 6.18.
const NEWEST: u32 = 469;

/// `CLONE_NEW*`, each of which is a new namespace.
const NEW_NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    0x80, // CLONE_NEWTIME; for `clone` these bits are the signal of the child's end.
];

/// Keys typed into a terminal by a program, a console's selection pasted by one, and another driver put
/// between a terminal and its reader.
const TERMINAL_INPUT: [u64; 4] = [
    0x5412, // TIOCSTI
    0x541c, // TIOCLINUX
    0x541d, // TIOCCONS
    0x5423, // TIOCSETD
];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The confinement of the command apart from this filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// Namespaces, with every folder shown through a veil that hides the host's sockets: any socket name is harmless.
    Veils,
    /// Namespaces. The filter cannot check the name of a socket, which is behind a pointer.
    Namespaces,
    /// Nothing.
    Nothing,
}

/// Puts the filter over this process and all that it starts.
pub(crate) fn install(around: Around) -> io::Result<()> {
    let invalid = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let program = program(around).map_err(invalid)?;
    seccompiler::apply_filter(&program).map_err(|error| match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
        _ => io::Error::from_raw_os_error(libc::EINVAL),
    })
}

fn program(around: Around) -> Result<BpfProgram, seccompiler::BackendError> {
    let named_sockets = around == Around::Veils;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let bit = |flag: &i32| both(0, *flag as u64, *flag as u64);
    let namespaces = NEW_NAMESPACES.iter().map(bit).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_unshare, namespaces);
    let namespaces = NEW_NAMESPACES[..7].iter().map(bit).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_clone, namespaces);
    let typed = TERMINAL_INPUT.iter().map(|code| all(&[(1, SeccompCmpOp::Eq, *code)]));
    rules.insert(libc::SYS_ioctl, typed.collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_socket, sockets(named_sockets)?);
    rules.insert(libc::SYS_socketpair, pairs(named_sockets)?);
    for (call, mode) in MODES {
        rules.insert(*call, modes(*mode)?);
    }
    for (call, mode) in DEVICES {
        rules.entry(*call).or_default().extend(devices(*mode)?);
    }
    rules.insert(libc::SYS_renameat2, vec![both(4, RENAME_WHITEOUT, RENAME_WHITEOUT)?]);
    if around == Around::Nothing {
        rules.extend(REFUSED_ALONE.iter().map(|call| (*call, Vec::new())));
        for call in OWN_ALONE {
            rules.insert(*call, vec![all(&[(0, SeccompCmpOp::Ne, 0)])?]);
        }
        for code in FILE_ATTRIBUTES {
            rules.entry(libc::SYS_ioctl).or_default().push(all(&[(1, SeccompCmpOp::Eq, code)])?);
        }
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        std::env::consts::ARCH.try_into()?,
    )?;
    let rest: BpfProgram = filter.try_into()?;
    Ok(prologue().into_iter().chain(rest).collect())
}

/// Families by an allow-list: a vsock, say, passes through a network namespace.
fn sockets(named: bool) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let other: Vec<_> =
        families.iter().map(|family| (0, SeccompCmpOp::Ne, *family as u64)).collect();
    // Of netlink only what lists interfaces and addresses.
    let netlink = [
        (0, SeccompCmpOp::Eq, libc::AF_NETLINK as u64),
        (2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE as u64),
    ];
    let mut rules = vec![all(&other)?, all(&netlink)?];
    if !named {
        rules.push(all(&[(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64)])?);
    }
    Ok(rules)
}

/// A pair of stream sockets cannot be reconnected. A datagram or raw socket can send to any name, so it is refused
/// where names are not allowed.
fn pairs(named: bool) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = vec![all(&[(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)])?];
    if !named {
        rules.push(both(1, 0xf, libc::SOCK_DGRAM as u64)?);
        rules.push(both(1, 0xf, libc::SOCK_RAW as u64)?);
    }
    Ok(rules)
}

/// Matches a mode with the set-uid or set-gid bit.
fn modes(mode: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let bits = [libc::S_ISUID, libc::S_ISGID].map(u64::from);
    bits.into_iter().map(|bit| both(mode, bit, bit)).collect()
}

/// Matches the mode of a character or block device.
fn devices(mode: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let kinds = [libc::S_IFCHR, libc::S_IFBLK].map(u64::from);
    kinds.into_iter().map(|kind| both(mode, u64::from(libc::S_IFMT), kind)).collect()
}

/// Holds when all of these do. The kernel reads these arguments as 32 bits, and so does the filter.
fn all(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = |(argument, operator, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)
}

/// Holds when the bits of `mask` are those of `value`.
fn both(argument: u8, mask: u64, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    all(&[(argument, SeccompCmpOp::MaskedEq(mask), value)])
}

/// Runs before the rules, which would kill on a foreign architecture and allow numbers that are not in their list.
fn prologue() -> Vec<sock_filter> {
    let refuse = |errno: i32| statement(0x06, 0x0005_0000 | errno as u32);
    let mut program = vec![
        statement(0x20, 4), // load the architecture
        jump(0x15, ARCHITECTURE, 1, 0),
        refuse(libc::EPERM),
        statement(0x20, 0), // load the number
        jump(0x25, NEWEST, 0, 1),
        refuse(libc::ENOSYS),
    ];
    for call in ABSENT {
        program.push(jump(0x15, *call as u32, 0, 1));
        program.push(refuse(libc::ENOSYS));
    }
    program
}

fn statement(code: u16, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_fits_into_the_kernels_bounds_and_knows_its_calls() {
        for around in [Around::Veils, Around::Namespaces, Around::Nothing] {
            let program = program(around).unwrap();
            assert!((100..4096).contains(&program.len()), "{} instructions", program.len());
        }
        assert!(REFUSED.iter().chain(ABSENT).all(|call| *call <= i64::from(NEWEST)));
    }
}
