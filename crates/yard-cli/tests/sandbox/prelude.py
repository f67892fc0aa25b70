# Said before every case: what an attempt is, and how it tells what came of it. A case prints "ran" when
# it begins, "held" for each attempt that was refused, and "done" at its end.
import os, sys, ctypes, errno, socket, struct, time

E = os.environ
libc = ctypes.CDLL(None, use_errno=True)
print('ran', flush=True)


def held(why):
    print('held', why, flush=True)


def escaped(what):
    print('ESCAPED', what, flush=True)


def check(fine, what):
    held(what) if fine else escaped(what)


# Each must fail as something that was refused or is not there.
def refused(*attempts):
    for attempt in attempts:
        try:
            got = attempt()
        except OSError as error:
            held(error)
        else:
            escaped(repr(got)[:200])


def call(number, *arguments):
    arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    arguments += [ctypes.c_long(0)] * (6 - len(arguments))
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *arguments)
    return got, ctypes.get_errno()


# Written at once: what is buffered would fail where nobody looks.
def put(at, text):
    fd = os.open(at, os.O_WRONLY)
    return os.write(fd, text.encode())


# Each system call, by name and arguments, must answer one of these.
def denied(*calls, wanted=(errno.EPERM, errno.ENOSYS)):
    for name, *arguments in calls:
        got, why = call(NR[name], *arguments)
        check(got == -1 and why in wanted, f'{name} {got} {errno.errorcode.get(why)}')


NR = dict(
    ptrace=101, syslog=103, setuid=105, personality=135, pivot_root=155, chroot=161, acct=163,
    settimeofday=164, mount=165, umount2=166, swapon=167, swapoff=168, reboot=169, sethostname=170,
    iopl=172, ioperm=173, init_module=175, delete_module=176, quotactl=179, clone=56, unshare=272,
    add_key=248, request_key=249, keyctl=250, vmsplice=278, perf_event_open=298, fanotify_init=300,
    name_to_handle_at=303, open_by_handle_at=304, setns=308, process_vm_readv=310,
    process_vm_writev=311, kcmp=312, finit_module=313, bpf=321, userfaultfd=323, kexec_load=246,
    kexec_file_load=320, io_uring_setup=425, io_uring_enter=426, open_tree=428, move_mount=429,
    fsopen=430, fsmount=432, fspick=433, pidfd_open=434, clone3=435, pidfd_getfd=438,
    mount_setattr=442, open_tree_attr=467, modify_ldt=154, ioctl=16, chmod=90, fchmodat=268, fchmodat2=452, openat=257,
    openat2=437, mknodat=259, open=2, creat=85, mknod=133, fchmod=91,
    renameat2=316, capget=125, prctl=157, clock_settime=227,
)
