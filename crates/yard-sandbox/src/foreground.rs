//! Finds out whether the programs in the foreground of a terminal wait for input: `/proc` shows in which system call
//! each of their threads sleeps, and on which files. That a program prints nothing does not mean that it waits.
//!
//! This module only reads. A process that cannot be inspected is a different result from one that does not wait.

#![allow(clippy::disallowed_methods, reason = "the sandbox looks at the processes that it starts")]

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::time::Duration;

use crate::usage;

/// What the programs in the foreground of a terminal do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForegroundState {
    /// One of them sleeps until there is input, and none of them works.
    Input,
    /// The same, with a short timeout, after which it may go on without input.
    Briefly,
    /// They work, or sleep for another reason.
    No,
    /// The processes cannot be inspected.
    Unseen,
}

/// `/dev/tty`: for a program in the foreground this is the terminal in question.
const OWN_TERMINAL: (u32, u32) = (5, 0);
/// Longest timeout of a wait that counts as [`ForegroundState::Briefly`].
const BRIEF: Duration = Duration::from_millis(1_200);
/// Most files of one `poll` or `select` that are checked.
const MAX_FILES: u64 = 1_024;

/// What the programs in the foreground of this terminal do.
pub(crate) fn state(master: impl AsFd, slave: impl AsFd) -> ForegroundState {
    let Ok(group) = rustix::termios::tcgetpgrp(&master) else { return ForegroundState::No };
    let Ok(leader) = rustix::termios::tcgetsid(&master) else { return ForegroundState::No };
    let Ok(terminal) = rustix::fs::fstat(slave) else { return ForegroundState::Unseen };
    let number = |pid: rustix::process::Pid| pid.as_raw_nonzero().get().unsigned_abs();
    let session = usage::with_descendants(number(leader));
    let foreground = session.into_iter().filter(|pid| group_of(*pid) == Some(number(group)));
    let (mut waits, mut briefly, mut unseen) = (false, false, false);
    for thread in foreground.flat_map(threads) {
        match thread.state(terminal.st_rdev) {
            ThreadState::Works => return ForegroundState::No,
            ThreadState::AwaitsTerminal => waits = true,
            ThreadState::AwaitsTerminalBriefly => briefly = true,
            ThreadState::AwaitsSomethingElse => {}
            ThreadState::Unseen => unseen = true,
        }
    }
    match (waits, briefly, unseen) {
        (_, true, _) => ForegroundState::Briefly,
        (true, false, _) => ForegroundState::Input,
        (false, false, true) => ForegroundState::Unseen,
        (false, false, false) => ForegroundState::No,
    }
}

/// What one thread does.
enum ThreadState {
    Works,
    AwaitsTerminal,
    /// With a timeout of at most [`BRIEF`].
    AwaitsTerminalBriefly,
    AwaitsSomethingElse,
    Unseen,
}

/// One thread, with its folder in `/proc`.
struct Thread {
    process: u32,
    folder: String,
}

fn threads(process: u32) -> Vec<Thread> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let named = tasks.flatten().filter_map(|task| task.file_name().into_string().ok());
    named.map(|task| Thread { process, folder: format!("/proc/{process}/task/{task}") }).collect()
}

/// The process group: the fifth field, of which the second is a name in parentheses that may hold anything.
fn group_of(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

impl Thread {
    fn state(&self, terminal: u64) -> ThreadState {
        let Ok(stat) = fs::read_to_string(format!("{}/stat", self.folder)) else {
            // The thread has ended.
            return ThreadState::AwaitsSomethingElse;
        };
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        match state {
            Some('S') => {}
            Some('R' | 'D') => return ThreadState::Works,
            _ => return ThreadState::AwaitsSomethingElse,
        }
        let Ok(text) = fs::read_to_string(format!("{}/syscall", self.folder)) else {
            return ThreadState::Unseen;
        };
        match CurrentSyscall::parse(&text) {
            CurrentSyscall::None => ThreadState::Works,
            CurrentSyscall::Other => ThreadState::AwaitsSomethingElse,
            CurrentSyscall::Wait(wait, timeout) => match self.files(&wait) {
                None => ThreadState::Unseen,
                Some(files) if files.iter().any(|file| self.is_terminal(*file, terminal)) => {
                    let is_brief = self.time(timeout).is_some_and(|time| time <= BRIEF);
                    match is_brief {
                        true => ThreadState::AwaitsTerminalBriefly,
                        false => ThreadState::AwaitsTerminal,
                    }
                }
                Some(_) => ThreadState::AwaitsSomethingElse,
            },
        }
    }

    /// The files that it waits to read from; `None` if they cannot be seen.
    fn files(&self, wait: &Wait) -> Option<Vec<u64>> {
        match *wait {
            Wait::Read { file } => Some(vec![file]),
            Wait::Poll { at, count } => {
                let bytes = self.memory(at, count.min(MAX_FILES) * 8)?;
                let one =
                    |entry: &[u8; 8]| u32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
                Some(bytes.as_chunks::<8>().0.iter().map(|entry| u64::from(one(entry))).collect())
            }
            Wait::Select { at: 0, .. } => Some(Vec::new()),
            Wait::Select { at, count } => {
                let count = count.min(MAX_FILES);
                let bytes = self.memory(at, count.div_ceil(8))?;
                let is_set = |file: &u64| bytes[(*file / 8) as usize] >> (*file % 8) & 1 == 1;
                Some((0..count).filter(is_set).collect())
            }
            Wait::Epoll { file } => {
                let text =
                    fs::read_to_string(format!("/proc/{}/fdinfo/{file}", self.process)).ok()?;
                let watched = text.lines().filter_map(|line| line.strip_prefix("tfd:"));
                let number = |line: &str| line.split_whitespace().next()?.parse().ok();
                Some(watched.filter_map(number).collect())
            }
        }
    }

    /// The timeout as a time; `None` without one, or if it cannot be read.
    fn time(&self, timeout: Timeout) -> Option<Duration> {
        match timeout {
            Timeout::None => None,
            Timeout::Millis(millis) => Some(Duration::from_millis(millis)),
            Timeout::InMemory { at, units_per_second } => {
                let bytes = self.memory(at, 16)?;
                let number = |from: usize| {
                    let bytes = bytes.get(from..from + 8)?.try_into().ok()?;
                    u64::try_from(i64::from_ne_bytes(bytes)).ok()
                };
                let nanos = number(8)?.checked_mul(1_000_000_000 / units_per_second)?;
                Some(Duration::from_secs(number(0)?).saturating_add(Duration::from_nanos(nanos)))
            }
        }
    }

    fn memory(&self, at: u64, count: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(count).ok()?];
        let memory = File::open(format!("/proc/{}/mem", self.process)).ok()?;
        memory.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    /// Whether an open file of the process is the terminal.
    fn is_terminal(&self, file: u64, terminal: u64) -> bool {
        let metadata = fs::metadata(format!("/proc/{}/fd/{file}", self.process));
        metadata.is_ok_and(|file| {
            let device = (rustix::fs::major(file.rdev()), rustix::fs::minor(file.rdev()));
            file.rdev() == terminal || device == OWN_TERMINAL
        })
    }
}

/// A system call that may wait for a terminal. `at` is an address in the memory of the process.
#[derive(Debug, PartialEq, Eq)]
enum Wait {
    Read { file: u64 },
    Poll { at: u64, count: u64 },
    Select { at: u64, count: u64 },
    Epoll { file: u64 },
}

/// The system call that a thread is in.
#[derive(Debug, PartialEq, Eq)]
enum CurrentSyscall {
    /// The thread runs.
    None,
    /// One that does not wait for a terminal.
    Other,
    Wait(Wait, Timeout),
}

/// When a system call returns at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timeout {
    /// Not before there is something to read.
    None,
    Millis(u64),
    /// The seconds and the fraction of a second, in these units, are at this address.
    InMemory {
        at: u64,
        units_per_second: u64,
    },
}

impl Timeout {
    /// Reads an argument that is a number of milliseconds; a negative one means no timeout.
    fn from_millis(argument: Option<u64>) -> Self {
        // The kernel takes the lower half of the register.
        match argument.map(|argument| argument as u32 as i32).map(u64::try_from) {
            Some(Ok(millis)) => Self::Millis(millis),
            _ => Self::None,
        }
    }

    /// Reads an argument that is the address of a time.
    fn at(argument: Option<u64>, units_per_second: u64) -> Self {
        match argument {
            Some(at) if at != 0 => Self::InMemory { at, units_per_second },
            _ => Self::None,
        }
    }
}

impl CurrentSyscall {
    /// Parses `number argument argument ...`, the text of `/proc/PID/task/TID/syscall`.
    fn parse(text: &str) -> Self {
        if text.trim() == "running" {
            return Self::None;
        }
        let mut fields = text.split_whitespace();
        let call: Option<i64> = fields.next().and_then(|field| field.parse().ok());
        let mut argument = || {
            let digits = fields.next()?.strip_prefix("0x")?;
            u64::from_str_radix(digits, 16).ok()
        };
        let (Some(call), Some(first), Some(second)) = (call, argument(), argument()) else {
            return Self::Other;
        };
        let (third, fourth, fifth) = (argument(), argument(), argument());
        let poll = Wait::Poll { at: first, count: second };
        let select = Wait::Select { at: second, count: first };
        let epoll = Wait::Epoll { file: first };
        match call {
            libc::SYS_read | libc::SYS_readv => {
                Self::Wait(Wait::Read { file: first }, Timeout::None)
            }
            libc::SYS_ppoll => Self::Wait(poll, Timeout::at(third, NANOS)),
            libc::SYS_pselect6 => Self::Wait(select, Timeout::at(fifth, NANOS)),
            libc::SYS_epoll_pwait => Self::Wait(epoll, Timeout::from_millis(fourth)),
            libc::SYS_epoll_pwait2 => Self::Wait(epoll, Timeout::at(fourth, NANOS)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => Self::Wait(poll, Timeout::from_millis(third)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => Self::Wait(select, Timeout::at(fifth, MICROS)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => Self::Wait(epoll, Timeout::from_millis(fourth)),
            _ => Self::Other,
        }
    }
}

/// Units of the fraction of a second in the times of system calls.
const NANOS: u64 = 1_000_000_000;
#[cfg(target_arch = "x86_64")]
const MICROS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_call_of_a_thread_is_parsed() {
        let parse = CurrentSyscall::parse;
        let read = format!("{} 0x0 0x7ffd 0x400 0x0 0x0 0x0 0x7ffc 0x7f1c", libc::SYS_read);
        assert_eq!(parse(&read), CurrentSyscall::Wait(Wait::Read { file: 0 }, Timeout::None));
        let select = || Wait::Select { at: 0x7ffd, count: 1 };
        let for_ever = format!("{} 0x1 0x7ffd 0x0 0x0", libc::SYS_pselect6);
        assert_eq!(parse(&for_ever), CurrentSyscall::Wait(select(), Timeout::None));
        let brief = format!("{} 0x1 0x7ffd 0x0 0x0 0x7ffe 0x0", libc::SYS_pselect6);
        let timeout = Timeout::InMemory { at: 0x7ffe, units_per_second: NANOS };
        assert_eq!(parse(&brief), CurrentSyscall::Wait(select(), timeout));
        for (millis, timeout) in [
            ("0x64", Timeout::Millis(100)),
            ("0xffffffff", Timeout::None),
            ("0xffffffffffffffff", Timeout::None),
        ] {
            let epoll = format!("{} 0x3 0x7ffd 0x10 {millis} 0x0 0x8", libc::SYS_epoll_pwait);
            assert_eq!(parse(&epoll), CurrentSyscall::Wait(Wait::Epoll { file: 3 }, timeout));
        }
        assert_eq!(parse("running"), CurrentSyscall::None);
        for other in ["-1 0x7ffd 0x7f1c", "", "x", "61 0xffffffff", "0 zz 0x0"] {
            assert_eq!(parse(other), CurrentSyscall::Other, "{other}");
        }
    }
}
