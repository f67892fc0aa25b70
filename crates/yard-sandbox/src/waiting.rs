//! Whether the programs in the foreground of a terminal wait for somebody to type: which of their threads
//! sleep in which system call, and on what, as `/proc` tells it. Silence says nothing here.
//!
//! It only looks. A process that cannot be looked at is told apart from one that does not wait.

#![allow(clippy::disallowed_methods, reason = "the sandbox looks at the processes that it starts")]

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::time::Duration;

use super::usage;

/// What the programs in the foreground do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// One of them sleeps until somebody types, and none of them works.
    Input,
    /// The same, but it goes on by itself in a moment if nobody does: it may be about to do something.
    Briefly,
    /// They work, or sleep for another reason.
    No,
    /// It cannot be seen.
    Unseen,
}

/// `/dev/tty`, which is whatever terminal its opener has: theirs is this one.
const OWN_TERMINAL: (u32, u32) = (5, 0);
/// Who waits no longer than this may be about to do something by itself.
const BRIEF: Duration = Duration::from_millis(1_200);
/// More than this many at a time are not looked through.
const MOST_FILES: u64 = 1_024;

/// What those in the foreground of this terminal wait for.
pub(super) fn for_input(master: impl AsFd, slave: impl AsFd) -> Waiting {
    let Ok(group) = rustix::termios::tcgetpgrp(&master) else { return Waiting::No };
    let Ok(leader) = rustix::termios::tcgetsid(&master) else { return Waiting::No };
    let Ok(terminal) = rustix::fs::fstat(slave) else { return Waiting::Unseen };
    let number = |pid: rustix::process::Pid| pid.as_raw_nonzero().get().unsigned_abs();
    let everybody = usage::with_descendants(number(leader));
    let foreground = everybody.into_iter().filter(|pid| group_of(*pid) == Some(number(group)));
    let (mut waits, mut briefly, mut unseen) = (false, false, false);
    for thread in foreground.flat_map(threads) {
        match thread.waits_for(terminal.st_rdev) {
            Waits::Works => return Waiting::No,
            Waits::ForTerminal => waits = true,
            Waits::ForTerminalBriefly => briefly = true,
            Waits::ForSomethingElse => {}
            Waits::Unseen => unseen = true,
        }
    }
    match (waits, briefly, unseen) {
        (_, true, _) => Waiting::Briefly,
        (true, false, _) => Waiting::Input,
        (false, false, true) => Waiting::Unseen,
        (false, false, false) => Waiting::No,
    }
}

/// What one thread does.
enum Waits {
    Works,
    ForTerminal,
    /// For a moment only.
    ForTerminalBriefly,
    ForSomethingElse,
    Unseen,
}

/// One thread, by its place in `/proc`.
struct Thread {
    process: u32,
    at: String,
}

fn threads(process: u32) -> Vec<Thread> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let named = tasks.flatten().filter_map(|task| task.file_name().into_string().ok());
    named.map(|task| Thread { process, at: format!("/proc/{process}/task/{task}") }).collect()
}

/// The process group: the fifth field, of which the second is a name in parentheses that may hold anything.
fn group_of(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

impl Thread {
    fn waits_for(&self, terminal: u64) -> Waits {
        let Ok(stat) = fs::read_to_string(format!("{}/stat", self.at)) else {
            // It is gone, and waits for nothing any more.
            return Waits::ForSomethingElse;
        };
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        match state {
            Some('S') => {}
            Some('R' | 'D') => return Waits::Works,
            _ => return Waits::ForSomethingElse,
        }
        let Ok(told) = fs::read_to_string(format!("{}/syscall", self.at)) else {
            return Waits::Unseen;
        };
        match Asleep::parse(&told) {
            Parsed::Running => Waits::Works,
            Parsed::Elsewhere => Waits::ForSomethingElse,
            Parsed::In(asleep, until) => match self.files(&asleep) {
                None => Waits::Unseen,
                Some(files) if files.iter().any(|file| self.is(*file, terminal)) => {
                    let is_brief = self.longest(until).is_some_and(|longest| longest <= BRIEF);
                    if is_brief { Waits::ForTerminalBriefly } else { Waits::ForTerminal }
                }
                Some(_) => Waits::ForSomethingElse,
            },
        }
    }

    /// What it waits to read from; `None` if that cannot be seen.
    fn files(&self, asleep: &Asleep) -> Option<Vec<u64>> {
        match *asleep {
            Asleep::Reading { file } => Some(vec![file]),
            Asleep::Polling { at, count } => {
                let bytes = self.memory(at, count.min(MOST_FILES) * 8)?;
                let one =
                    |entry: &[u8; 8]| u32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
                Some(bytes.as_chunks::<8>().0.iter().map(|entry| u64::from(one(entry))).collect())
            }
            Asleep::Selecting { at: 0, .. } => Some(Vec::new()),
            Asleep::Selecting { at, count } => {
                let count = count.min(MOST_FILES);
                let bytes = self.memory(at, count.div_ceil(8))?;
                let is_set = |file: &u64| bytes[(*file / 8) as usize] >> (*file % 8) & 1 == 1;
                Some((0..count).filter(is_set).collect())
            }
            Asleep::Listening { file } => {
                let text =
                    fs::read_to_string(format!("/proc/{}/fdinfo/{file}", self.process)).ok()?;
                let watched = text.lines().filter_map(|line| line.strip_prefix("tfd:"));
                let number = |line: &str| line.split_whitespace().next()?.parse().ok();
                Some(watched.filter_map(number).collect())
            }
        }
    }

    /// How long it waits at most; `None` is for ever, or cannot be seen.
    fn longest(&self, until: Until) -> Option<Duration> {
        match until {
            Until::Ready => None,
            Until::Millis(millis) => Some(Duration::from_millis(millis)),
            Until::Told { at, a_second } => {
                let bytes = self.memory(at, 16)?;
                let number = |from: usize| {
                    let bytes = bytes.get(from..from + 8)?.try_into().ok()?;
                    u64::try_from(i64::from_ne_bytes(bytes)).ok()
                };
                let nanos = number(8)?.checked_mul(1_000_000_000 / a_second)?;
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
    fn is(&self, file: u64, terminal: u64) -> bool {
        let found = fs::metadata(format!("/proc/{}/fd/{file}", self.process));
        found.is_ok_and(|found| {
            let device = (rustix::fs::major(found.rdev()), rustix::fs::minor(found.rdev()));
            found.rdev() == terminal || device == OWN_TERMINAL
        })
    }
}

/// In which call a thread sleeps that may be about a terminal.
#[derive(Debug, PartialEq, Eq)]
enum Asleep {
    Reading { file: u64 },
    Polling { at: u64, count: u64 },
    Selecting { at: u64, count: u64 },
    Listening { file: u64 },
}

#[derive(Debug, PartialEq, Eq)]
enum Parsed {
    Running,
    /// In another call, or in none.
    Elsewhere,
    In(Asleep, Until),
}

/// When a call returns at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// When there is something to read.
    Ready,
    Millis(u64),
    /// Seconds and parts of one, of which so many are a second, stand at this place in memory.
    Told {
        at: u64,
        a_second: u64,
    },
}

impl Until {
    /// Of an argument that is a number of milliseconds; a negative one is for ever.
    fn millis(argument: Option<u64>) -> Self {
        // The kernel takes the lower half of the register.
        match argument.map(|argument| argument as u32 as i32).map(u64::try_from) {
            Some(Ok(millis)) => Self::Millis(millis),
            _ => Self::Ready,
        }
    }

    /// Of an argument that says where the time stands.
    fn told(argument: Option<u64>, a_second: u64) -> Self {
        match argument {
            Some(at) if at != 0 => Self::Told { at, a_second },
            _ => Self::Ready,
        }
    }
}

impl Asleep {
    /// Reads `number argument argument ...`, as the kernel tells it.
    fn parse(text: &str) -> Parsed {
        if text.trim() == "running" {
            return Parsed::Running;
        }
        let mut words = text.split_whitespace();
        let call: Option<i64> = words.next().and_then(|word| word.parse().ok());
        let mut argument = || {
            let word = words.next()?.strip_prefix("0x")?;
            u64::from_str_radix(word, 16).ok()
        };
        let (Some(call), Some(first), Some(second)) = (call, argument(), argument()) else {
            return Parsed::Elsewhere;
        };
        let (third, fourth, fifth) = (argument(), argument(), argument());
        let polling = Self::Polling { at: first, count: second };
        let selecting = Self::Selecting { at: second, count: first };
        let listening = Self::Listening { file: first };
        match call {
            libc::SYS_read | libc::SYS_readv => {
                Parsed::In(Self::Reading { file: first }, Until::Ready)
            }
            libc::SYS_ppoll => Parsed::In(polling, Until::told(third, NANOS)),
            libc::SYS_pselect6 => Parsed::In(selecting, Until::told(fifth, NANOS)),
            libc::SYS_epoll_pwait => Parsed::In(listening, Until::millis(fourth)),
            libc::SYS_epoll_pwait2 => Parsed::In(listening, Until::told(fourth, NANOS)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => Parsed::In(polling, Until::millis(third)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => Parsed::In(selecting, Until::told(fifth, MICROS)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => Parsed::In(listening, Until::millis(fourth)),
            _ => Parsed::Elsewhere,
        }
    }
}

/// Parts of a second in which system calls are told times.
const NANOS: u64 = 1_000_000_000;
#[cfg(target_arch = "x86_64")]
const MICROS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_understood() {
        let read = format!("{} 0x0 0x7ffd 0x400 0x0 0x0 0x0 0x7ffc 0x7f1c", libc::SYS_read);
        assert_eq!(Asleep::parse(&read), Parsed::In(Asleep::Reading { file: 0 }, Until::Ready));
        let select = format!("{} 0x1 0x7ffd 0x0 0x0", libc::SYS_pselect6);
        let selecting = Asleep::Selecting { at: 0x7ffd, count: 1 };
        assert_eq!(Asleep::parse(&select), Parsed::In(selecting, Until::Ready));
        let brief = format!("{} 0x1 0x7ffd 0x0 0x0 0x7ffe 0x0", libc::SYS_pselect6);
        let selecting = Asleep::Selecting { at: 0x7ffd, count: 1 };
        let until = Until::Told { at: 0x7ffe, a_second: NANOS };
        assert_eq!(Asleep::parse(&brief), Parsed::In(selecting, until));
        for (millis, until) in [
            ("0x64", Until::Millis(100)),
            ("0xffffffff", Until::Ready),
            ("0xffffffffffffffff", Until::Ready),
        ] {
            let epoll = format!("{} 0x3 0x7ffd 0x10 {millis} 0x0 0x8", libc::SYS_epoll_pwait);
            assert_eq!(Asleep::parse(&epoll), Parsed::In(Asleep::Listening { file: 3 }, until));
        }
        assert_eq!(Asleep::parse("running"), Parsed::Running);
        for other in ["-1 0x7ffd 0x7f1c", "", "x", "61 0xffffffff", "0 zz 0x0"] {
            assert_eq!(Asleep::parse(other), Parsed::Elsewhere, "{other}");
        }
    }
}
