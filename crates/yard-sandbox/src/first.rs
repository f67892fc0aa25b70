//! The first process of a box: builds what the box shows, raises the walls around itself, starts the
//! command behind them and reaps whatever it leaves. Its end is the end of every process of the box.

#![allow(clippy::disallowed_methods, reason = "the sandbox is the one place that starts processes")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use rustix::fs::MemfdFlags;
use rustix::process::{DumpableBehavior, Signal, WaitOptions};

use super::filter::Around;
use super::mounts::Trees;
use super::report::{At as _, Report, Step, Trouble};
use super::task::{START, Task, WORKSPACE};
use super::{Exit, capacity, filter, landlocked, mounts, syscall};

/// Runs the command in the namespaces that the parent made.
pub(super) fn in_namespaces(
    task: &Task,
    trees: Option<Trees>,
    socket: &UnixStream,
    words: OwnedFd,
) -> Result<(), Trouble> {
    die_with_parent().at(Step::Session)?;
    let trees = match trees {
        Some(trees) => trees,
        None => Trees::take(task)?,
    };
    let built = mounts::build(task, trees)?;
    let start = task.shown_at.join(&task.folder);
    confine(task, if built.hides_sockets { Around::Veils } else { Around::Namespaces })?;
    // Behind the namespace, whatever is left ends with this process.
    let exit = run(task, &start, words)?;
    finish(exit, socket)
}

/// Runs the command behind Landlock and seccomp alone.
pub(super) fn behind_walls(
    task: &Task,
    socket: &UnixStream,
    words: OwnedFd,
) -> Result<(), Trouble> {
    die_with_parent().at(Step::Session)?;
    confine(task, Around::Nothing)?;
    // This process stands in the workspace.
    let exit = run(task, &Path::new(WORKSPACE).join(&task.folder), words)?;
    finish(exit, socket)
}

fn die_with_parent() -> io::Result<()> {
    // Away from the parent's process group, which `kill 0` of a command would otherwise reach.
    rustix::process::setsid()?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Raises every wall around this process, which needs nothing more than to start one other and to wait.
fn confine(task: &Task, around: Around) -> Result<(), Trouble> {
    let walls = task.walls;
    capacity::limit(task).at(Step::Limits)?;
    capacity::drop_capabilities().at(Step::Capabilities)?;
    rustix::thread::set_no_new_privs(true).at(Step::Capabilities)?;
    if walls.landlock {
        landlocked::restrict(task).at(Step::Landlock)?;
    }
    if walls.seccomp {
        filter::install(around).at(Step::Seccomp)?;
    }
    // The command has the same user: what is dumpable it could write to through /proc.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Step::Capabilities)
}

enum Came {
    ToAnEnd(Exit),
    NotStarted(i32),
}

fn finish(came: Came, socket: &UnixStream) -> Result<(), Trouble> {
    let report = match came {
        Came::ToAnEnd(exit) => Report::Ended(exit),
        Came::NotStarted(errno) => Report::NotStarted(errno),
    };
    report.send(socket).at(Step::Session)
}

fn run(task: &Task, start: &Path, words: OwnedFd) -> Result<Came, Trouble> {
    let stdin = standard_input(&task.stdin).at(Step::Input)?;
    rustix::process::chdir(start).at(Step::Folder)?;
    wait_for_start(&words);
    let started = match task.terminal {
        true => start_on_terminal(task),
        false => command(task)
            .and_then(|mut command| Ok(command.stdin(stdin).process_group(0).spawn()?.id())),
    };
    let child = match started {
        Ok(child) => child,
        Err(error) => return Ok(Came::NotStarted(error.raw_os_error().unwrap_or(libc::EIO))),
    };
    let namespaces = task.walls.namespaces;
    thread::spawn(move || obey(&words, namespaces, child));
    let exit = reap_until(child).at(Step::Session)?;
    Ok(Came::ToAnEnd(exit))
}

/// Everything is ready by then: the server may still be writing down that the command starts. It has no
/// other word before this one, and one that is gone has none.
fn wait_for_start(words: &OwnedFd) {
    let mut word = [0];
    loop {
        match rustix::io::read(words, &mut word) {
            Ok(1) if word[0] == START => return,
            Err(rustix::io::Errno::INTR) => {}
            _ => std::process::exit(1),
        }
    }
}

fn command(task: &Task) -> io::Result<Command> {
    let (program, arguments) =
        task.argv.split_first().ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    let mut command = Command::new(find_program(program, &task.env)?);
    command.arg0(program);
    command.args(arguments).env_clear().envs(task.env.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Starts the command as the leader of a session of its own, whose terminal is this process's standard
/// output. Called before this process has threads.
fn start_on_terminal(task: &Task) -> io::Result<u32> {
    let (told, tells) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    match syscall::fork()? {
        None => {
            drop(told);
            let errno = become_leader(task).raw_os_error().unwrap_or(libc::EIO);
            let _ = rustix::io::write(&tells, &errno.to_le_bytes());
            std::process::exit(1)
        }
        Some(leader) => {
            drop(tells);
            let mut errno = [0; 4];
            // The pipe closes when the command takes the place of the child.
            match File::from(told).read_exact(&mut errno) {
                Ok(()) => Err(io::Error::from_raw_os_error(i32::from_le_bytes(errno))),
                Err(_) => Ok(leader.as_raw_nonzero().get().unsigned_abs()),
            }
        }
    }
}

/// Returns only if the command cannot take this process's place.
fn become_leader(task: &Task) -> io::Error {
    let become_it = || -> io::Result<io::Error> {
        rustix::process::setsid()?;
        let terminal = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::process::ioctl_tiocsctty(&terminal)?;
        Ok(command(task)?.stdin(Stdio::from(terminal)).exec())
    };
    become_it().unwrap_or_else(|error| error)
}

/// Looked up here: a program with a path is started without copying this process first.
fn find_program(name: &OsStr, env: &[(OsString, OsString)]) -> io::Result<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_bytes());
    let folders = path.unwrap_or_default().split(|byte| *byte == b':');
    let candidates = folders.map(|folder| Path::new(OsStr::from_bytes(folder)).join(name));
    let runs =
        |at: &PathBuf| at.is_file() && rustix::fs::access(at, rustix::fs::Access::EXEC_OK).is_ok();
    candidates.into_iter().find(runs).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
}

/// The bytes as a file that nobody else has; nothing, where there are none.
fn standard_input(bytes: &[u8]) -> io::Result<Stdio> {
    if bytes.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = File::from(rustix::fs::memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

/// Waits for the command's end and reaps what it orphaned meanwhile.
fn reap_until(child: u32) -> io::Result<Exit> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().unsigned_abs() == child => {
                let status = ExitStatus::from_raw(status.as_raw());
                return Ok(match (status.code(), status.signal()) {
                    (Some(code), _) => Exit::Code(code),
                    (None, signal) => Exit::Signal(signal.unwrap_or(libc::SIGKILL)),
                });
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Hands on the server's word to end. A parent that is gone ends everything.
fn obey(words: &OwnedFd, namespaces: bool, group: u32) {
    let mut word = [0];
    loop {
        match rustix::io::read(words, &mut word) {
            Ok(1) => ask_to_end(namespaces, group),
            Err(rustix::io::Errno::INTR) => {}
            _ => std::process::exit(1),
        }
    }
}

/// In a namespace "everybody" is the box; outside of one it would be everybody.
fn ask_to_end(namespaces: bool, group: u32) {
    let group = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    // Whoever is gone already needs no asking.
    let _ = match group {
        Some(_) if namespaces => syscall::terminate_all(),
        Some(group) => rustix::process::kill_process_group(group, Signal::TERM).map_err(Into::into),
        None => Ok(()),
    };
}
