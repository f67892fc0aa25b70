//! The escapes that are tried, a row each: its name, which walls must hold it when they stand alone, and
//! what it does (after `prelude.py`). With all walls standing, every row must hold.

/// Held by the namespaces alone.
pub(crate) const N: u8 = 1;
/// Held by Landlock and seccomp alone.
pub(crate) const W: u8 = 2;

/// One attempt.
pub(crate) struct Case(pub(crate) &'static str, pub(crate) u8, pub(crate) &'static str);

pub(crate) const CASES: &[Case] = &[
    // Files.
    Case("read a file outside", N | W, "refused(lambda: open(E['SECRET']).read())"),
    Case("write a file outside", N | W, "refused(lambda: open(E['SECRET'], 'w').write('x'))"),
    Case("make a file outside", N | W, "refused(lambda: open(E['OUTSIDE'] + '/new', 'w'))"),
    Case("list a folder outside", N | W, "refused(lambda: os.listdir(E['OUTSIDE']))"),
    Case("climb out by dots", N | W, "refused(lambda: open('../outside/secret').read())"),
    Case(
        "follow a link out",
        N | W,
        "refused(lambda: open('planted').read(), lambda: open('planted', 'w'))",
    ),
    Case("link a file in", N | W, "refused(lambda: os.link(E['SECRET'], 'mine'))"),
    Case("rename a file in", N | W, "refused(lambda: os.rename(E['SECRET'], 'mine'))"),
    Case("remove a file outside", N | W, "refused(lambda: os.unlink(E['SECRET']))"),
    Case("truncate a file outside", N | W, "refused(lambda: os.truncate(E['SECRET'], 0))"),
    Case(
        "a link made in the box is no way out",
        N | W,
        "os.path.lexists('out') or os.symlink(E['SECRET'], 'out')\nrefused(lambda: open('out').read())",
    ),
    Case("passwords of the host", N | W, "refused(lambda: open('/etc/shadow').read())"),
    Case(
        "people of the host",
        N,
        "names = [line.split(':')[0] for line in open('/etc/passwd')]\n\
         check(names == ['root', 'user', 'nobody'], names)",
    ),
    Case(
        "homes, state and sockets of the host",
        N | W,
        "refused(*[lambda at=at: os.listdir(at) for at in \
         ['/root', '/home', '/var', '/var/run', '/srv', '/mnt', '/boot', '/sys', '/media']])",
    ),
    Case(
        "the root shows what it should",
        N,
        "extra = set(os.listdir('/')) - set('bin sbin lib lib32 lib64 libx32 usr opt etc dev proc \
         run tmp'.split()) - {E['WORKSPACE'].split('/')[1]}\ncheck(not extra, extra)\n\
         check(os.listdir('/run') == ['toolyard'], os.listdir('/run'))",
    ),
    Case(
        "write to the system",
        N | W,
        "refused(*[lambda at=at: open(at + '/planted', 'w') for at in \
         ['/usr', '/usr/bin', '/usr/lib', '/etc', '/', '/opt', '/run', '/dev', '/etc/ssl']])",
    ),
    Case(
        "change the system's files",
        N | W,
        "refused(lambda: open('/usr/bin/env', 'ab'), lambda: open('/usr/bin/env', 'r+b'), \
         lambda: open('/etc/ld.so.cache', 'ab'))",
    ),
    Case(
        "change what is said about a file outside",
        N | W,
        "refused(lambda: os.chmod(E['SECRET'], 0o777), lambda: os.utime(E['SECRET'], (1, 1)), \
         lambda: os.setxattr(E['SECRET'], 'user.x', b'x'), lambda: os.chown(E['SECRET'], -1, -1))",
    ),
    Case("what is hidden below the workspace", N, "refused(lambda: open('.data/secret').read())"),
    Case(
        "a folder that is hidden cannot be moved or uncovered",
        N,
        "refused(lambda: os.rename('.data', 'data'), lambda: os.rmdir('.data'), \
         lambda: open('.data/x', 'w'))",
    ),
    Case("give a file away", N | W, "refused(lambda: os.chown('file', 12345, 12345))"),
    Case(
        "a file that runs as its owner, without a name at first",
        W,
        "TMP = 0o20200000\n\
         for mode in (0o4755, 0o2755, 0o6755):\n\
         \x20   refused(lambda: os.open('.', TMP | os.O_WRONLY, mode), \\\n\
         \x20           lambda: os.open('.', TMP | os.O_RDWR | os.O_EXCL, mode), \\\n\
         \x20           lambda: os.open('n', os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), \\\n\
         \x20           lambda: os.open('n', os.O_CREAT | os.O_DIRECTORY | os.O_WRONLY, mode), \\\n\
         \x20           lambda: os.mknod('n', 0o100000 | mode), lambda: os.mknod('n', 0o10000 | mode))\n\
         \x20   denied(('openat', -100, b'n', os.O_CREAT | os.O_WRONLY, mode), \\\n\
         \x20          ('open', b'n', os.O_CREAT | os.O_WRONLY, mode), ('open', b'.', TMP | os.O_WRONLY, mode), \\\n\
         \x20          ('creat', b'n', mode), \\\n\
         \x20          ('mknod', b'n', 0o100000 | mode, 0), ('mknodat', -100, b'n', 0o100000 | mode, 0), \\\n\
         \x20          ('chmod', b'file', mode), ('fchmod', 0, mode), ('fchmodat', -100, b'file', mode), \\\n\
         \x20          ('fchmodat2', -100, b'file', mode, 0), ('openat2', -100, b'n', 0, 0))\n\
         \x20   os.mkdir('folder%o' % mode, mode)\n\
         \x20   check(os.stat('folder%o' % mode).st_mode & 0o6000 == 0, 'a folder without them')\n\
         \x20   os.rmdir('folder%o' % mode)\n\
         check(not os.path.lexists('n') and os.stat('file').st_mode & 0o6000 == 0, 'nothing came to be')",
    ),
    Case(
        "a file with the rights of root",
        N | W,
        "caps = struct.pack('<IIIII', 0x02000001, 1 << 7, 0, 0, 0)\n\
         refused(lambda: os.setxattr('file', 'security.capability', caps), \
         lambda: os.setxattr('file', 'security.capability', struct.pack('<IIIIII', 0x03000001, 1 << 7, 0, 0, 0, 0)))",
    ),
    Case(
        "a device of no number",
        W,
        "refused(lambda: os.mknod('w', 0o20600, 0), lambda: os.mknod('w', 0o60600, 0))\n\
         open('from', 'w').close()\n\
         denied(('mknod', b'w', 0o20600, 0), ('mknodat', -100, b'w', 0o20600, 0), \
         ('renameat2', -100, b'from', -100, b'to', 4))\n\
         check(not os.path.lexists('w') and not os.path.lexists('to'), 'none came to be')",
    ),
    Case(
        "a file that runs as its owner",
        W,
        "open('s', 'w').close()\n\
         refused(lambda: os.chmod('s', 0o4755), lambda: os.chmod('s', 0o2755), \
         lambda: os.open('t', os.O_CREAT | os.O_WRONLY, 0o4755), lambda: os.mknod('u', 0o104755))\n\
         denied(('fchmodat2', -100, b's', 0o4755, 0), ('openat2', -100, b's', 0, 0))\n\
         check(all(os.stat(f).st_mode & 0o6000 == 0 for f in os.listdir('.') if f in 'stu'), 'modes')",
    ),
    // Devices.
    Case(
        "make devices",
        N | W,
        "refused(lambda: os.mknod('disk', 0o60600, os.makedev(254, 0)), \
         lambda: os.mknod('mem', 0o20600, os.makedev(1, 1)))",
    ),
    Case(
        "devices of the host",
        N | W,
        "refused(*[lambda at=at: os.open('/dev/' + at, os.O_RDWR) for at in 'mem kmem kmsg port vda \
         sda nvme0n1 kvm fuse tty tty0 console ptmx pts/0 pts/ptmx net/tun loop0 vsock uinput'.split()])",
    ),
    Case(
        "/dev shows what it should",
        N,
        "extra = set(os.listdir('/dev')) - set('null zero full random urandom fd stdin stdout stderr \
         shm'.split())\ncheck(not extra, extra)\ncheck(not os.listdir('/dev/shm'), 'shm')",
    ),
    Case(
        "type into a terminal",
        W,
        "denied(('ioctl', 0, 0x5412, b'x'), ('ioctl', 0, 0x541c, b'x'), wanted=(errno.EPERM,))\n\
         denied(('ioctl', 0, 0x5412 | 1 << 32, b'x'), wanted=(errno.EPERM,))",
    ),
    Case("the server's terminal", N | W, "refused(lambda: os.open('/dev/tty', os.O_RDWR))"),
    // /proc.
    Case(
        "processes of the host are not seen",
        N | W,
        "refused(lambda: os.listdir('/proc/' + E['VICTIM']))\n\
         own = [int(p) for p in os.listdir('/proc') if p.isdigit()] if os.access('/proc', os.R_OK) and \
         os.path.exists('/proc/self') and E['NAMESPACES'] == '1' else []\ncheck(max(own or [0]) < 100, own)",
    ),
    Case(
        "the first process is closed",
        N,
        "refused(lambda: open('/proc/1/environ').read(), lambda: open('/proc/1/mem', 'r+b'), \
         lambda: os.listdir('/proc/1/fd'), lambda: os.listdir('/proc/1/root'), \
         lambda: os.readlink('/proc/1/exe'), lambda: open('/proc/1/maps').read(1))",
    ),
    Case(
        "roots and folders in /proc lead nowhere else",
        N | W,
        "refused(*[lambda at=at: open('/proc/' + at + E['SECRET']).read() for at in \
         ['self/root', 'self/cwd/..', 'thread-self/root', '1/root', '1/cwd', '2/root']])",
    ),
    Case(
        "settings of the kernel",
        N | W,
        "refused(*[lambda at=at: put('/proc/' + at, '1') for at in \
         ['sys/kernel/core_pattern', 'sys/kernel/hostname', 'sys/vm/drop_caches', \
         'sys/net/ipv4/ip_forward', 'sys/kernel/modprobe', 'irq/0/smp_affinity']])",
    ),
    Case(
        "keys and memory of the kernel",
        N | W,
        "for at in ['sysrq-trigger', 'kcore', 'keys', 'key-users', 'kallsyms', 'timer_list']:\n    \
         try: check(open('/proc/' + at, 'rb').read(64) == b'', at)\n    \
         except OSError as error: held(error)",
    ),
    Case(
        "a new map of users",
        N | W,
        "refused(lambda: put('/proc/self/uid_map', '0 0 1'), \
         lambda: put('/proc/self/setgroups', 'allow'))",
    ),
    Case(
        "be spared when memory runs out",
        N | W,
        "refused(lambda: put('/proc/self/oom_score_adj', '-1000'))",
    ),
    Case(
        "mounts do not name the host's folders",
        N,
        "text = open('/proc/self/mountinfo').read()\ncheck('/layers' not in text and '/outside' not in \
         text, text)\ncheck(open('/proc/self/cgroup').read().count('toolyard-') == 0, 'cgroup')",
    ),
    // Processes.
    Case(
        "signal a process of the host",
        N | W,
        "refused(lambda: os.kill(int(E['VICTIM']), 15), lambda: os.kill(int(E['VICTIM']), 9), \
         lambda: os.kill(int(E['VICTIM']), 0), lambda: os.kill(int(E['SERVER']), 0), \
         lambda: os.killpg(int(E['VICTIM']), 15))",
    ),
    Case(
        "take hold of a process of the host",
        N,
        "refused(lambda: os.pidfd_open(int(E['VICTIM'])), lambda: os.sched_setaffinity(int(E['VICTIM']), {0}))",
    ),
    Case(
        "end the first process",
        N,
        "os.kill(1, 9)\nos.kill(1, 15)\ntime.sleep(0.05)\nheld('still here')",
    ),
    Case(
        "trace",
        W,
        "denied(('ptrace', 0, 0, 0, 0), ('ptrace', 16, 1, 0, 0), ('ptrace', 0x4206, 1, 0, 0))",
    ),
    Case(
        "read and write another's memory",
        N | W,
        "b = ctypes.create_string_buffer(64)\nv = ctypes.byref((ctypes.c_size_t * 2)(ctypes.addressof(b), 64))\n\
         other = 1 if E['NAMESPACES'] == '1' else int(E['VICTIM'])\n\
         denied(('process_vm_readv', other, v, 1, v, 1, 0), ('process_vm_writev', other, v, 1, v, 1, 0))",
    ),
    Case("take another's files", W, "denied(('pidfd_getfd', 0, 0, 0), ('kcmp', 1, 1, 0, 0, 0))"),
    Case(
        "become somebody else",
        N,
        "refused(lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgid(0), \
         lambda: os.setgroups([0]), lambda: os.setuid(12345))",
    ),
    Case(
        "no new privileges, no capabilities",
        N | W,
        "check(libc.prctl(39, 0, 0, 0, 0) == 1, 'no_new_privs')\n\
         head = struct.pack('Ii', 0x20080522, 0)\ndata = ctypes.create_string_buffer(24)\n\
         call(NR['capget'], head, data)\ncheck(data.raw == bytes(24), data.raw)\n\
         bounding = [c for c in range(41) if libc.prctl(23, c, 0, 0, 0) == 1]\n\
         check(E['NAMESPACES'] == '0' or not bounding, bounding)",
    ),
    Case(
        "programs that run as root",
        N,
        "check(os.statvfs('/usr').f_flag & os.ST_NOSUID, 'nosuid')\n\
         check(os.statvfs('.').f_flag & (os.ST_NOSUID | os.ST_NODEV) == os.ST_NOSUID | os.ST_NODEV, 'nodev')",
    ),
    Case(
        "limits cannot be raised",
        N | W,
        "import resource\n\
         def higher(which):\n    soft, hard = resource.getrlimit(which)\n    \
         try: resource.setrlimit(which, (hard + 1, hard + 1))\n    except ValueError as e: raise OSError(1, e)\n\
         refused(lambda: higher(resource.RLIMIT_NOFILE), lambda: higher(resource.RLIMIT_CPU), \
         lambda: higher(resource.RLIMIT_FSIZE), lambda: os.nice(-5), \
         lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))",
    ),
    Case(
        "open files of the server",
        N | W,
        "import fcntl\nfor fd in range(3, 512):\n    try: fcntl.fcntl(fd, fcntl.F_GETFD)\n    \
         except OSError: continue\n    escaped(fd)\nheld('none')",
    ),
    Case(
        "the environment of the server",
        N | W,
        "known = 'PATH HOME TMPDIR LANG USER LOGNAME TERM GREETING SECRET OUTSIDE WORKSPACE VICTIM \
         SERVER PORT UDP_PORT NAMESPACES ABSTRACT LC_CTYPE'.split()\n\
         extra = [name for name in E if name not in known]\ncheck(not extra, extra)",
    ),
    // Sockets.
    Case(
        "dial a server of the host",
        N | W,
        "refused(lambda: socket.create_connection(('127.0.0.1', int(E['PORT'])), 2), \
         lambda: socket.create_connection(('localhost', int(E['PORT'])), 2))",
    ),
    Case(
        "a datagram to the host",
        N | W,
        "try: socket.socket(2, 2).sendto(b'x', ('127.0.0.1', int(E['UDP_PORT'])))\n\
         except OSError as error: held(error)\nheld('or sent into the void')",
    ),
    Case(
        "dial without dialling",
        N | W,
        "refused(lambda: socket.socket(2, 1).sendto(b'x', 0x20000000, ('127.0.0.1', int(E['PORT']))))",
    ),
    Case("dial a named socket outside", N | W, "refused(lambda: dial(E['OUTSIDE'] + '/stream'))"),
    Case("dial a named socket in the workspace", N | W, "refused(lambda: dial('stream'))"),
    Case(
        "send to a named socket in the workspace",
        N | W,
        "refused(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', 'datagram'), \
         lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, 'datagram'))",
    ),
    Case(
        "turn one of a pair to the host",
        N | W,
        "for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n    \
         for name in ('datagram', 'stream', '\\0' + E['ABSTRACT']):\n        \
         refused(lambda: pair(kind).connect(name))\n        \
         if kind in (2, 3): refused(lambda: pair(kind).sendto(b'x', name), lambda: \
         pair(kind).sendmsg([b'x'], [], 0, name))\n        \
         else:\n            try: pair(kind).sendto(b'x', name)\n            except OSError: pass",
    ),
    Case("dial an abstract socket", N | W, "refused(lambda: dial('\\0' + E['ABSTRACT']))"),
    Case(
        "sockets of other families",
        W,
        "for family in range(64):\n    if family in (1, 2, 10, 16): continue\n    \
         for kind in (1, 2, 3, 5):\n        refused(lambda: socket.socket(family, kind, 0))",
    ),
    Case("a vsock", W, "refused(lambda: socket.socket(40, 1, 0), lambda: socket.socket(40, 2, 0))"),
    Case(
        "packets and raw sockets",
        N | W,
        "refused(lambda: socket.socket(17, 3, 768), lambda: socket.socket(2, 3, 1), \
         lambda: socket.socket(2, 3, 255), lambda: socket.socket(10, 3, 58))",
    ),
    Case(
        "netlink beyond routes",
        W,
        "refused(*[lambda p=p: socket.socket(16, 3, p) for p in range(1, 24)])",
    ),
    Case(
        "no network but its own",
        N,
        "names = [line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line]\n\
         check(names == ['lo'] or set(names) <= {'lo', 'sit0', 'ip6tnl0', 'tunl0', 'gre0', 'erspan0', \
         'gretap0', 'ip_vti0', 'ip6_vti0', 'ip6gre0'}, names)\n\
         refused(lambda: socket.create_connection(('192.0.2.1', 9), 1))",
    ),
    Case(
        "names and shared memory of the host",
        N,
        "check(socket.gethostname() == 'box', socket.gethostname())\n\
         for kind in ('shm', 'sem', 'msg'):\n    \
         check(len(open('/proc/sysvipc/' + kind).readlines()) == 1, kind)",
    ),
    // System calls.
    Case(
        "mount",
        N | W,
        "denied(('mount', b'none', b'/tmp', b'tmpfs', 0, 0), ('umount2', b'/tmp', 2), \
         ('open_tree', -100, b'/', 1), ('open_tree_attr', -100, b'/', 1, 0, 0), ('move_mount', -100, b'/tmp', -100, b'/usr', 0), \
         ('fsopen', b'tmpfs', 0), ('fspick', -100, b'/', 0), ('mount_setattr', -100, b'/', 0, \
         bytes(32), 32), ('pivot_root', b'.', b'.'), ('mount', b'none', b'/', 0, 4096 | 32, 0))",
    ),
    Case("another root", N | W, "denied(('chroot', b'.'))"),
    Case(
        "new namespaces",
        W,
        "denied(*[('unshare', flag) for flag in (0x20000, 0x80, 0x2000000, 0x4000000, 0x8000000, \
         0x10000000, 0x20000000, 0x40000000, 0x7e020000)])\n\
         denied(*[('clone', flag | 17, 0, 0, 0, 0) for flag in (0x20000, 0x2000000, 0x4000000, \
         0x8000000, 0x10000000, 0x20000000, 0x40000000)], wanted=(errno.EPERM,))",
    ),
    Case(
        "a call whose flags cannot be seen",
        W,
        "denied(('clone3', bytes(88), 88), wanted=(errno.ENOSYS,))",
    ),
    Case(
        "join namespaces",
        N | W,
        "denied(('setns', 0, 0), wanted=(errno.EPERM, errno.EINVAL, errno.EBADF))\n\
         for name in ('mnt', 'user', 'net', 'pid'):\n    \
         refused(lambda: os.open(f\"/proc/{E['VICTIM']}/ns/{name}\", os.O_RDONLY))",
    ),
    Case(
        "rings",
        W,
        "denied(('io_uring_setup', 8, bytes(120)), ('io_uring_enter', 0, 0, 0, 0, 0, 0), \
         wanted=(errno.ENOSYS,))",
    ),
    Case(
        "programs in the kernel",
        W,
        "denied(('bpf', 0, bytes(64), 64), ('perf_event_open', bytes(112), 0, -1, -1, 0), \
         ('userfaultfd', 0), ('userfaultfd', 1), ('fanotify_init', 0, 0))",
    ),
    Case(
        "modules and other kernels",
        N | W,
        "denied(('init_module', bytes(8), 8, b''), ('finit_module', 0, b'', 0), ('delete_module', b'x', 0), \
         ('kexec_load', 0, 0, 0, 0), ('kexec_file_load', 0, 0, 0, b'', 0), ('reboot', 0, 0, 0, 0))",
    ),
    Case(
        "keyrings",
        W,
        "denied(('keyctl', 0, -3, 0), ('keyctl', 1, 0), ('keyctl', 11, -4, 0, 0), \
         ('add_key', b'user', b'x', b'y', 1, -3), ('request_key', b'user', b'x', 0, -3))",
    ),
    Case(
        "clocks, names, swap, quotas and logs of the machine",
        N | W,
        "denied(('settimeofday', bytes(16), 0), ('clock_settime', 0, bytes(16)), ('sethostname', b'x', 1), \
         ('swapon', b'file', 0), ('swapoff', b'file'), ('acct', b'file'), ('syslog', 3, bytes(8), 8),)\n\
         check(E['NAMESPACES'] == '0' or socket.gethostname() == 'box', 'name')",
    ),
    Case(
        "handles instead of paths",
        W,
        "denied(('open_by_handle_at', -100, bytes(32), 0), ('name_to_handle_at', -100, b'file', bytes(64), \
         bytes(8), 0))",
    ),
    Case(
        "ports and segments of the processor",
        W,
        "denied(('quotactl', 0x800002, b'/dev/vda', 0, 0), ('iopl', 3), ('ioperm', 0x60, 1, 1), ('modify_ldt', 0, 0, 0), ('personality', 0x40000))",
    ),
    Case(
        "calls of the 32-bit numbers",
        W,
        "import mmap\ncode = mmap.mmap(-1, 4096, prot=7)\n\
         code.write(bytes.fromhex('53b81400000031dbcd805bc3'))\n\
         at = ctypes.addressof(ctypes.c_char.from_buffer(code))\n\
         got = ctypes.CFUNCTYPE(ctypes.c_int)(at)()\ncheck(got in (-1, -38), got)",
    ),
    Case(
        "calls of the x32 numbers, and unknown ones",
        W,
        "for number in (0x40000000 | 39, 0x40000000 | 165, 0x40000000 | 519, 470, 500, 1000, 2**31 - 1):\n    \
         got, why = call(number)\n    check(got == -1 and why == errno.ENOSYS, (number, got, why))",
    ),
];

/// Words that cases share.
pub(crate) const WORDS: &str = "\
def dial(name):\n    \
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)\n    \
    s.settimeout(2)\n    s.connect(name)\n    s.send(b'x')\n\
def pair(kind):\n    \
    return socket.socketpair(socket.AF_UNIX, kind)[0]\n";
