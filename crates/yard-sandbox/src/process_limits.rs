//! The limits of a process of the box that the kernel enforces, and the removal of its capabilities.

#![allow(clippy::disallowed_methods, reason = "the kernel counts processes in a file")]

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::task::Task;

/// Sets the limits of each process. The limits for all processes together are watched from outside.
pub(crate) fn limit(task: &Task) -> io::Result<()> {
    if let Some(seconds) = task.limits.cpu_seconds {
        // At the soft limit the kernel sends SIGXCPU; it kills a process that ignores that one second later.
        set(Resource::Cpu, seconds, seconds.saturating_add(1))?;
    }
    set(Resource::Nofile, task.limits.open_files, task.limits.open_files)?;
    set(Resource::Fsize, task.limits.file_bytes, task.limits.file_bytes)?;
    set(Resource::Core, 0, 0)?;
    set(Resource::Msgqueue, 0, 0)?;
    // The helper, the first process and its second thread count too. Outside of a namespace the limit is for all
    // processes of the user, of which there are at most as many as of all users.
    let others = if task.walls.namespaces { 0 } else { running() };
    let processes = task.limits.processes.saturating_add(3).saturating_add(others);
    set(Resource::Nproc, processes, processes)
}

/// Raises the limit on open files to the highest value that this process may set.
pub(crate) fn raise_open_files() -> io::Result<()> {
    let now = rustix::process::getrlimit(Resource::Nofile);
    let limit = Rlimit { current: now.maximum, maximum: now.maximum };
    Ok(rustix::process::setrlimit(Resource::Nofile, limit)?)
}

/// How many threads this machine runs: `0.10 0.20 0.30 2/345 6789`.
fn running() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let all = text.split(' ').nth(3).and_then(|both| both.split('/').nth(1)?.parse().ok());
    all.unwrap_or(1000)
}

/// Sets a limit, but never above the hard limit of this process.
fn set(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let hard = now.maximum.map_or(hard, |most| most.min(hard));
    let limit = Rlimit { current: Some(soft.min(hard)), maximum: Some(hard) };
    Ok(rustix::process::setrlimit(resource, limit)?)
}

/// Empties every set, the bounding one included.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // The first number that the kernel has no capability for; or none may be dropped, which
            // no_new_privs makes up for.
            Err(Errno::INVAL | Errno::PERM) => break,
            other => other?,
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}
