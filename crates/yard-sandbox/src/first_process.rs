//! The first process of a box: it builds the box's file system, raises the walls around itself, starts the command
//! behind them and reaps the processes that the command orphans. Every process of the box ends with it.

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

use crate::filter::Around;
use crate::mounts::Trees;
use crate::report::{At as _, Report, Step, StepError};
use crate::task::{START, Task, WORKSPACE};
use crate::{Exit, filter, landlock_wall, mounts, process_limits, syscall};

/// Runs the command in the namespaces that the helper made.
pub(crate) fn run_in_namespaces(
    task: &Task,
    trees: Option<Trees>,
    socket: &UnixStream,
    control: OwnedFd,
) -> Result<(), StepError> {
    die_with_parent().at(Step::Session)?;
    let trees = match trees {
        Some(trees) => trees,
        None => Trees::take(task)?,
    };
    let built = mounts::build(task, trees)?;
    let start = task.shown_at.join(&task.folder);
    confine(task, if built.hides_sockets { Around::Veils } else { Around::Namespaces })?;
    // The processes that the command leaves end with this one, the first of their namespace.
    run(task, &start, control)?.send(socket).at(Step::Session)
}

/// Runs the command behind Landlock and seccomp alone.
pub(crate) fn run_behind_walls(
    task: &Task,
    socket: &UnixStream,
    control: OwnedFd,
) -> Result<(), StepError> {
    die_with_parent().at(Step::Session)?;
    confine(task, Around::Nothing)?;
    // The workspace is the current folder of this process.
    run(task, &Path::new(WORKSPACE).join(&task.folder), control)?.send(socket).at(Step::Session)
}

fn die_with_parent() -> io::Result<()> {
    // Leaves the parent's process group, which `kill 0` of a command would otherwise reach.
    rustix::process::setsid()?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Raises every wall around this process, which from now on only starts the command and waits.
fn confine(task: &Task, around: Around) -> Result<(), StepError> {
    let walls = task.walls;
    process_limits::limit(task).at(Step::Limits)?;
    process_limits::drop_capabilities().at(Step::Capabilities)?;
    rustix::thread::set_no_new_privs(true).at(Step::Capabilities)?;
    if walls.landlock {
        landlock_wall::restrict(task).at(Step::Landlock)?;
    }
    if walls.seccomp {
        filter::install(around).at(Step::Seccomp)?;
    }
    // The command runs as the same user, and could write to a dumpable process through /proc.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Step::Capabilities)
}

/// Runs the command to its end, or reports why it could not be started.
fn run(task: &Task, start: &Path, control: OwnedFd) -> Result<Report, StepError> {
    let stdin = standard_input(&task.stdin).at(Step::Input)?;
    rustix::process::chdir(start).at(Step::Folder)?;
    wait_for_start(&control);
    let started = match task.terminal {
        true => start_on_terminal(task),
        false => command(task)
            .and_then(|mut command| Ok(command.stdin(stdin).process_group(0).spawn()?.id())),
    };
    let child = match started {
        Ok(child) => child,
        Err(error) => return Ok(Report::NotStarted(error.raw_os_error().unwrap_or(libc::EIO))),
    };
    let namespaces = task.walls.namespaces;
    thread::spawn(move || forward_terminations(&control, namespaces, child));
    let exit = wait_and_reap(child).at(Step::Session)?;
    Ok(Report::Ended(exit))
}

/// Waits for the server, which may still be recording that the command starts. It sends nothing else before START; if
/// it has ended, this process ends.
fn wait_for_start(control: &OwnedFd) {
    let mut byte = [0];
    loop {
        match rustix::io::read(control, &mut byte) {
            Ok(1) if byte[0] == START => return,
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

/// Starts the command as the leader of a new session, whose terminal is this process's standard output. Called
/// before this process has threads.
fn start_on_terminal(task: &Task) -> io::Result<u32> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    match syscall::fork()? {
        None => {
            drop(reader);
            let errno = exec_as_leader(task).raw_os_error().unwrap_or(libc::EIO);
            let _ = rustix::io::write(&writer, &errno.to_le_bytes());
            std::process::exit(1)
        }
        Some(leader) => {
            drop(writer);
            let mut errno = [0; 4];
            // The pipe closes when the child executes the command.
            match File::from(reader).read_exact(&mut errno) {
                Ok(()) => Err(io::Error::from_raw_os_error(i32::from_le_bytes(errno))),
                Err(_) => Ok(leader.as_raw_nonzero().get().unsigned_abs()),
            }
        }
    }
}

/// Replaces this process by the command, as the leader of a session. Returns only if that fails.
fn exec_as_leader(task: &Task) -> io::Error {
    let exec = || -> io::Result<io::Error> {
        rustix::process::setsid()?;
        let terminal = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::process::ioctl_tiocsctty(&terminal)?;
        Ok(command(task)?.stdin(Stdio::from(terminal)).exec())
    };
    exec().unwrap_or_else(|error| error)
}

/// Looks a program up in `PATH`. The standard library starts a program that has a path without copying this process.
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

/// The bytes as a file in memory; `/dev/null` for none.
fn standard_input(bytes: &[u8]) -> io::Result<Stdio> {
    if bytes.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = File::from(rustix::fs::memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

/// Waits for the command's end, and reaps the processes that it orphaned.
fn wait_and_reap(child: u32) -> io::Result<Exit> {
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

/// Ends the command when the server asks for it. When the helper is gone, this process ends, and with it the box.
fn forward_terminations(control: &OwnedFd, namespaces: bool, group: u32) {
    let mut byte = [0];
    loop {
        match rustix::io::read(control, &mut byte) {
            Ok(1) => terminate(namespaces, group),
            Err(rustix::io::Errno::INTR) => {}
            _ => std::process::exit(1),
        }
    }
}

/// Sends SIGTERM: in a namespace to every process of the box, outside of one to the command's process group.
fn terminate(namespaces: bool, group: u32) {
    let group = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    // The processes may have ended already.
    let _ = match group {
        Some(_) if namespaces => syscall::terminate_all(),
        Some(group) => rustix::process::kill_process_group(group, Signal::TERM).map_err(Into::into),
        None => Ok(()),
    };
}
