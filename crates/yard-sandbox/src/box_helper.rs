//! The helper process, outside of the box: it reads its task, opens what the box shows, gives up root, makes the
//! namespaces and becomes the parent of the box's first process. While that process builds the box, the helper brings
//! up the network; then it waits for the end of the first process.
//!
//! It runs before the program has started any thread, and reads nothing of the environment.

#![allow(clippy::disallowed_methods, reason = "the sandbox is the one place that starts processes")]

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Gid, Uid};
use rustix::net::AddressFamily;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use crate::mounts::Trees;
use crate::network::{SOCKET_V4, SOCKET_V6};
use crate::report::{At as _, Report, Step, StepError};
use crate::task::{HOLD_NAMESPACE, KILL, START, TERMINATE, Task};
use crate::{
    ServedSocket, first_process, group, handles, loopback, process_limits, syscall, usage,
};

/// The user id that the processes of a box see as their own, if the server runs as root.
const SHOWN_USER: u32 = 1000;

/// Runs the helper: called by `main` before anything else when the first argument is
/// [`HELPER`](crate::HELPER). `argument` is the one after it.
pub fn run_helper(argument: Option<&str>) -> ExitCode {
    if argument == Some(HOLD_NAMESPACE) {
        return hold_owner_namespace();
    }
    let Ok(socket) = take_socket() else { return ExitCode::FAILURE };
    match serve(&socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The server may have ended.
            let _ = Report::Broken(error.step, error.errno).send(&socket);
            ExitCode::FAILURE
        }
    }
}

fn take_socket() -> io::Result<UnixStream> {
    syscall::keep_files_from_commands()?;
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(UnixStream::from(socket))
}

/// Waits in a new user namespace until the server has opened it.
fn hold_owner_namespace() -> ExitCode {
    if syscall::unshare(UnshareFlags::NEWUSER).is_err() {
        return ExitCode::FAILURE;
    }
    let reported = rustix::io::write(io::stdout(), b"!");
    let _ = io::stdin().read(&mut [0]);
    if reported.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn serve(socket: &UnixStream) -> Result<(), StepError> {
    let workspace = handles::receive(socket).at(Step::ReadTask)?;
    let task = Task::read(socket).at(Step::ReadTask)?;
    // From here on the workspace is the current folder. A new mount namespace takes that along, which it
    // does not do with a handle; and no path is looked up again.
    rustix::process::fchdir(&workspace).at(Step::Folders)?;
    drop(workspace);
    // The kernel passes sockets out of the box only while fewer files than this limit are in transit between
    // processes of its user: other boxes, whose limit may be lower, must not block this one.
    process_limits::raise_open_files().at(Step::Limits)?;
    group::join(&task.cgroup_files).at(Step::Group)?;
    rustix::process::setsid().at(Step::Session)?;
    if task.walls.namespaces { run_boxed(&task, socket) } else { run_walled(&task, socket) }
}

fn run_boxed(task: &Task, socket: &UnixStream) -> Result<(), StepError> {
    let trees = match task.user {
        Some(user) => {
            let trees = Trees::take(task)?;
            leave_root(user).at(Step::User)?;
            Some(trees)
        }
        None => None,
    };
    let ours = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    die_with_parent(socket).at(Step::Session)?;
    syscall::unshare(
        UnshareFlags::NEWUSER
            | UnshareFlags::NEWNS
            | UnshareFlags::NEWPID
            | UnshareFlags::NEWIPC
            | UnshareFlags::NEWUTS
            | UnshareFlags::NEWNET
            | UnshareFlags::NEWCGROUP,
    )
    .at(Step::Namespaces)?;
    map_user(task, ours).at(Step::Owners)?;
    let (control, to_first) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(Step::Fork)?;
    match syscall::fork().at(Step::Fork)? {
        None => {
            drop(to_first);
            first_process::run_in_namespaces(task, trees, socket, control)
        }
        Some(first) => {
            drop((trees, control));
            // While the first process builds the box. The command cannot start before `supervise` forwards START.
            loopback::bring_up().at(Step::Network)?;
            for served in &task.sockets {
                send_socket(*served, socket).at(Step::Network)?;
            }
            rustix::system::sethostname(b"box").at(Step::Name)?;
            supervise(first, socket, &to_first).at(Step::Fork)
        }
    }
}

/// Makes a socket in the box's own network and sends it to the server; it stays a socket of that network.
fn send_socket(served: ServedSocket, socket: &UnixStream) -> io::Result<()> {
    let made = match served {
        ServedSocket::Connections(address) => loopback::listen(address)?,
        ServedSocket::Datagrams(address) => loopback::datagrams(address)?,
    };
    Report::Opened.send_with(socket, made.as_fd())
}

/// Without namespaces, processes do not end with the first process: this process adopts what the command leaves, and
/// outlives the server for as long as it takes to end all of it.
fn run_walled(task: &Task, socket: &UnixStream) -> Result<(), StepError> {
    let me = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(me)).at(Step::Session)?;
    let (control, to_first) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(Step::Fork)?;
    match syscall::fork().at(Step::Fork)? {
        None => {
            drop(to_first);
            first_process::run_behind_walls(task, socket, control)
        }
        Some(first) => {
            drop(control);
            let supervised = supervise(first, socket, &to_first).at(Step::Fork);
            usage::end_descendants(me);
            supervised
        }
    }
}

/// Gives up uid 0 before namespaces are made, because root is not bound by the limit on processes.
fn leave_root(user: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    // A process that changed its user is not dumpable, and /proc/self is then root's.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    Ok(())
}

/// Makes the kernel kill this process with its parent. Called after the user was changed, which clears the setting. A
/// parent that ended before has closed the socket.
fn die_with_parent(socket: &UnixStream) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut ready = [PollFd::new(socket, PollFlags::HUP)];
    poll(&mut ready, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    if ready[0].revents().contains(PollFlags::HUP) {
        return Err(io::Error::from_raw_os_error(libc::EPIPE));
    }
    Ok(())
}

fn map_user(task: &Task, (uid, gid): (u32, u32)) -> io::Result<()> {
    let (shown_uid, shown_gid) = match task.user {
        Some(_) => (SHOWN_USER, SHOWN_USER),
        None => (uid, gid),
    };
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{shown_uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{shown_gid} {gid} 1"))
}

/// Waits for the end of the first process, and forwards what the server sends meanwhile. When the server is gone, the
/// first process is killed.
fn supervise(first: Pid, socket: &UnixStream, to_first: &OwnedFd) -> io::Result<()> {
    let handle = rustix::process::pidfd_open(first, PidfdFlags::empty())?;
    let mut listening = true;
    loop {
        let mut ready = [
            PollFd::new(&handle, PollFlags::IN),
            PollFd::from_borrowed_fd(
                socket.as_fd(),
                if listening { PollFlags::IN } else { PollFlags::empty() },
            ),
        ];
        match poll(&mut ready, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        if !ready[0].revents().is_empty() {
            rustix::process::waitpid(Some(first), WaitOptions::empty())?;
            return Ok(());
        }
        if listening && !ready[1].revents().is_empty() {
            listening = forward(handle.as_fd(), socket, to_first)?;
        }
    }
}

/// Makes a socket in the box's own network and sends it to the server; returns true, as [`forward`] does.
fn send_new_socket(family: AddressFamily, socket: &UnixStream) -> io::Result<bool> {
    let made = loopback::socket(family);
    // The kernel may refuse to pass it on while too many files are in transit between processes.
    let sent = made.and_then(|made| Report::NewSocket(0).send_with(socket, made.as_fd()));
    if let Err(error) = sent {
        Report::NewSocket(error.raw_os_error().unwrap_or(libc::EIO)).send(socket)?;
    }
    Ok(true)
}

/// Handles one byte of the server; returns whether further ones may follow.
fn forward(first: BorrowedFd<'_>, mut socket: &UnixStream, to_first: &OwnedFd) -> io::Result<bool> {
    let mut byte = [0];
    match socket.read(&mut byte) {
        Ok(1) if matches!(byte[0], START | TERMINATE) => {
            // The first process may have ended.
            let _ = rustix::io::write(to_first, &byte);
            Ok(true)
        }
        Ok(1) if byte[0] == SOCKET_V4 => send_new_socket(AddressFamily::INET, socket),
        Ok(1) if byte[0] == SOCKET_V6 => send_new_socket(AddressFamily::INET6, socket),
        Ok(1) if byte[0] != KILL => Ok(true),
        _ => {
            rustix::process::pidfd_send_signal(first, Signal::KILL)?;
            Ok(false)
        }
    }
}
