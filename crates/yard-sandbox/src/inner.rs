//! The helper outside of the box: reads its order, takes hold of what the box shows, leaves root, makes
//! the namespaces and stays as the parent of the box's first process: it brings up the network while that
//! one builds the rest, and waits for its end.
//!
//! It runs before anything in the program started a thread, and reads nothing of the environment.

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

use super::mounts::Trees;
use super::network::{SOCKET_V4, SOCKET_V6};
use super::report::{At as _, Report, Step, Trouble};
use super::task::{HOLD, KILL, START, TERMINATE, Task};
use super::{ServedSocket, capacity, first, group, handles, loopback, syscall, usage};

/// The user that a box of root's sees itself as.
const SHOWN_USER: u32 = 1000;

/// Runs the helper: called by `main` before anything else when the first argument is
/// [`HELPER`](super::HELPER). `word` is the argument after it.
pub fn inner(word: Option<&str>) -> ExitCode {
    if word == Some(HOLD) {
        return hold_owners();
    }
    let Ok(socket) = take_socket() else { return ExitCode::FAILURE };
    match serve(&socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            // A server that is gone needs no report.
            let _ = Report::Broken(trouble.step, trouble.errno).send(&socket);
            ExitCode::FAILURE
        }
    }
}

fn take_socket() -> io::Result<UnixStream> {
    syscall::keep_files_from_commands()?;
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(UnixStream::from(socket))
}

/// Waits in a new user namespace until the server has taken hold of it.
fn hold_owners() -> ExitCode {
    if syscall::unshare(UnshareFlags::NEWUSER).is_err() {
        return ExitCode::FAILURE;
    }
    let told = rustix::io::write(io::stdout(), b"!");
    let _ = io::stdin().read(&mut [0]);
    if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn serve(socket: &UnixStream) -> Result<(), Trouble> {
    let workspace = handles::receive(socket).at(Step::Order)?;
    let task = Task::read(socket).at(Step::Order)?;
    // From here on the workspace is the current folder. A new mount namespace takes that along, which it
    // does not do with a handle; and no path is looked up again.
    rustix::process::fchdir(&workspace).at(Step::Folders)?;
    drop(workspace);
    // Sockets are handed out of the box only while fewer files than this are on their way between processes of
    // its user: other boxes, which may have fewer open, must not keep this one from it.
    capacity::raise_open_files().at(Step::Limits)?;
    group::come_in(&task.doors).at(Step::Group)?;
    rustix::process::setsid().at(Step::Session)?;
    if task.walls.namespaces { boxed(&task, socket) } else { walled(&task, socket) }
}

fn boxed(task: &Task, socket: &UnixStream) -> Result<(), Trouble> {
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
    let (words, to_first) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(Step::Fork)?;
    match syscall::fork().at(Step::Fork)? {
        None => {
            drop(to_first);
            first::in_namespaces(task, trees, socket, words)
        }
        Some(first) => {
            drop((trees, words));
            // Meanwhile: the command does not start before its word comes by here.
            loopback::bring_up().at(Step::Network)?;
            for served in &task.sockets {
                hand_out(*served, socket).at(Step::Network)?;
            }
            rustix::system::sethostname(b"box").at(Step::Name)?;
            accompany(first, socket, &to_first).at(Step::Fork)
        }
    }
}

/// Makes a socket in the box's own network, and hands it out: it stays what it is there.
fn hand_out(served: ServedSocket, socket: &UnixStream) -> io::Result<()> {
    let made = match served {
        ServedSocket::Connections(address) => loopback::listen(address)?,
        ServedSocket::Datagrams(address) => loopback::datagrams(address)?,
    };
    Report::Opened.send_with(socket, made.as_fd())
}

/// Without namespaces nothing ends with its first process: what is left of the command falls to this
/// one, which outlives the server for as long as it takes to end all of them.
fn walled(task: &Task, socket: &UnixStream) -> Result<(), Trouble> {
    let me = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(me)).at(Step::Session)?;
    let (words, to_first) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(Step::Fork)?;
    match syscall::fork().at(Step::Fork)? {
        None => {
            drop(to_first);
            first::behind_walls(task, socket, words)
        }
        Some(first) => {
            drop(words);
            let accompanied = accompany(first, socket, &to_first).at(Step::Fork);
            usage::end_descendants(me);
            accompanied
        }
    }
}

/// Leaves uid 0 before anything is unshared: the limit on processes does not bind root.
fn leave_root(user: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    // A process that changed its user is not dumpable, and /proc/self is then root's.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    Ok(())
}

/// After the user is changed, which clears it; a parent that died before is seen by the socket.
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

/// Waits for the end of the first process, and hands on what the server says meanwhile. A server that
/// is gone means the end.
fn accompany(first: Pid, socket: &UnixStream, to_first: &OwnedFd) -> io::Result<()> {
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
            listening = hand_on(handle.as_fd(), socket, to_first)?;
        }
    }
}

/// Makes a socket in the box's own network and hands it out; whether there may be another word.
fn answer_with_socket(family: AddressFamily, socket: &UnixStream) -> io::Result<bool> {
    let made = loopback::socket(family);
    // The kernel may refuse to hand it out while too many files are on their way between processes.
    let sent = made.and_then(|made| Report::NewSocket(0).send_with(socket, made.as_fd()));
    if let Err(error) = sent {
        Report::NewSocket(error.raw_os_error().unwrap_or(libc::EIO)).send(socket)?;
    }
    Ok(true)
}

/// Hands one word on; whether there may be another.
fn hand_on(first: BorrowedFd<'_>, mut socket: &UnixStream, to_first: &OwnedFd) -> io::Result<bool> {
    let mut word = [0];
    match socket.read(&mut word) {
        Ok(1) if matches!(word[0], START | TERMINATE) => {
            // A first process that is gone needs no word.
            let _ = rustix::io::write(to_first, &word);
            Ok(true)
        }
        Ok(1) if word[0] == SOCKET_V4 => answer_with_socket(AddressFamily::INET, socket),
        Ok(1) if word[0] == SOCKET_V6 => answer_with_socket(AddressFamily::INET6, socket),
        Ok(1) if word[0] != KILL => Ok(true),
        _ => {
            rustix::process::pidfd_send_signal(first, Signal::KILL)?;
            Ok(false)
        }
    }
}
