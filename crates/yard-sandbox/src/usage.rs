//! Measures the resources that a command's processes use, from outside of the box, and kills its processes where no
//! namespace does.

#![allow(clippy::disallowed_methods, reason = "the sandbox counts the processes that it starts")]

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};

/// Most processes of a tree that are listed, far above the limits.
const MAX_PROCESSES: usize = 20_000;
/// How often the remaining processes are killed before giving up. Each round takes a millisecond.
const KILL_ROUNDS: usize = 2_000;

/// The resources that a tree of processes uses.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pids: Vec<u32>,
    /// The sum of their resident memory, in which shared memory is counted more than once.
    resident: u64,
    /// The processor time of all of them, including those that ended.
    pub(crate) cpu: Duration,
}

impl Usage {
    /// How many there are.
    pub(crate) fn processes(&self) -> u64 {
        self.pids.len() as u64
    }
}

/// Measures the descendants of a process.
pub(crate) fn measure(pid: u32) -> Usage {
    let mut used = Usage { pids: descendants(pid), ..Usage::default() };
    let mut ticks = 0;
    for pid in &used.pids {
        let Some((cpu, pages)) = stat(*pid) else { continue };
        ticks += cpu;
        used.resident += pages * rustix::param::page_size() as u64;
    }
    used.cpu = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1));
    used
}

/// Whether their memory is above the limit. Shared memory is divided among its users only if that may matter, because
/// it takes the kernel a while.
pub(crate) fn exceeds_memory(used: &Usage, limit: u64) -> bool {
    used.resident > limit
        && used.pids.iter().filter_map(|pid| proportional(*pid)).sum::<u64>() > limit
}

/// A process and all below it.
pub(crate) fn with_descendants(root: u32) -> Vec<u32> {
    let mut all = descendants(root);
    all.push(root);
    all
}

fn descendants(root: u32) -> Vec<u32> {
    let mut found: Vec<u32> = children(root);
    let mut next = 0;
    while next < found.len() && found.len() < MAX_PROCESSES {
        let more = children(found[next]);
        found.extend(more);
        next += 1;
    }
    found
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Ticks of the processor (with those of reaped children) and resident pages.
fn stat(pid: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything; after it, the third field is the first.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<i64>().ok());
    let ticks: i64 = (14..=17).filter_map(number).sum();
    Some((ticks.max(0).unsigned_abs(), number(24)?.max(0).unsigned_abs()))
}

fn proportional(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Free bytes of the file system that a folder is on.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Kills every descendant of this process, which adopts those whose parent has ended.
pub(crate) fn end_descendants(me: Pid) {
    let me = me.as_raw_nonzero().get().unsigned_abs();
    for _ in 0..KILL_ROUNDS {
        reap();
        let left = descendants(me);
        if left.is_empty() {
            return;
        }
        // Stopped first, so that none starts another while the rest is ended.
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in left.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?)) {
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn reap() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}
