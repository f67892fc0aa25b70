//! Control groups, by which the kernel bounds the memory and the number of all processes of a command together. Where
//! this user may not make groups, `usage` measures instead.
//!
//! A group is removed when its command has ended; the groups of a killed server are removed by the next one. On a
//! server the groups are nested: the server's group bounds all its commands together, and the group of each workspace
//! inside of it those of the workspace.

#![allow(clippy::disallowed_methods, reason = "control groups are folders of the kernel's")]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::CommandLimits;
use crate::group_folders::{of_version_one, of_version_two};

const PREFIX: &str = "toolyard-";

/// Where groups can be made.
pub(crate) struct Groups {
    version: Version,
    /// One folder for version 2; those of memory and of processes for version 1.
    homes: Vec<PathBuf>,
    /// Whether they belong to one workspace, and are removed with it.
    is_of_workspace: bool,
}

/// Numbers the groups of this process, of whichever sandbox.
static NEXT: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

/// The group of one command; removed when dropped.
pub(crate) struct Group {
    version: Version,
    folders: Vec<PathBuf>,
}

impl Groups {
    /// Finds a folder where groups can be made, by making one; removes stale groups.
    pub(crate) fn find() -> Result<Self, String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut why = "no control groups are mounted".to_owned();
        for (version, homes) in [
            (Version::One, of_version_one(&mounts, &own)),
            (Version::Two, of_version_two(&mounts, &own)),
        ] {
            let Some(homes) = homes else { continue };
            let groups = Self { version, homes, is_of_workspace: false };
            match groups.try_out() {
                Ok(()) => return Ok(groups),
                Err(error) => {
                    why =
                        format!("a group cannot be made in {}: {error}", groups.homes[0].display())
                }
            }
        }
        Err(why)
    }

    /// The version and the folder, for messages.
    pub(crate) fn description(&self) -> String {
        let version = if self.version == Version::One { 1 } else { 2 };
        format!("version {version}, {}", self.homes[0].display())
    }

    /// The same, inside of a group that bounds the memory of all groups of this process together. A later process
    /// removes that group.
    pub(crate) fn bounded_together(self, memory_bytes: u64) -> Result<Self, String> {
        let name = format!("{PREFIX}{}", std::process::id());
        let homes = self.make_inner(&name, memory_bytes).map_err(|error| {
            let home = self.homes[0].display();
            format!("all commands together cannot be bounded in {home}: {error}")
        })?;
        Ok(Self { version: self.version, homes, is_of_workspace: false })
    }

    /// Groups for the commands of one workspace, with a bound on their memory together. They are removed when the
    /// result is dropped.
    pub(crate) fn of_workspace(&self, memory_bytes: u64) -> io::Result<Self> {
        let homes = self.make_inner(&numbered("workspace-"), memory_bytes)?;
        Ok(Self { version: self.version, homes, is_of_workspace: true })
    }

    /// Makes a group that bounds the memory of all groups that will be in it.
    fn make_inner(&self, name: &str, memory_bytes: u64) -> io::Result<Vec<PathBuf>> {
        let homes: Vec<PathBuf> = self.homes.iter().map(|home| home.join(name)).collect();
        homes.iter().try_for_each(|home| match fs::create_dir(home) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        })?;
        bound(self.version, &homes[0], memory_bytes)?;
        Ok(homes)
    }

    fn try_out(&self) -> io::Result<()> {
        for home in &self.homes {
            sweep(home);
        }
        if self.version == Version::Two {
            delegate(&self.homes[0])?;
        }
        self.make()?.limit(&CommandLimits::default())
    }

    /// Makes an empty group.
    pub(crate) fn make(&self) -> io::Result<Group> {
        let name = numbered(PREFIX);
        let mut group = Group { version: self.version, folders: Vec::new() };
        for home in &self.homes {
            let folder = home.join(&name);
            fs::create_dir(&folder)?;
            group.folders.push(folder);
        }
        Ok(group)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        if self.is_of_workspace {
            // One that a dying process is still in is swept at the next start.
            self.homes.iter().for_each(|home| drop(fs::remove_dir(home)));
        }
    }
}

/// A name that no other group of this process has.
fn numbered(prefix: &str) -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}{}-{number}", std::process::id())
}

impl Group {
    /// Sets its limits.
    pub(crate) fn limit(&self, limits: &CommandLimits) -> io::Result<()> {
        let memory = limits.memory_bytes.to_string();
        // The two processes of the helper count too, and the thread that listens.
        let processes = limits.processes.saturating_add(3).to_string();
        match self.version {
            Version::One => {
                fs::write(self.folders[0].join("memory.limit_in_bytes"), memory)?;
                fs::write(self.folders[1].join("pids.max"), processes)
            }
            Version::Two => {
                // Older kernels have no swap to limit, or do not end a group as a whole: then the next
                // look does.
                let _ = fs::write(self.folders[0].join("memory.swap.max"), "0");
                let _ = fs::write(self.folders[0].join("memory.oom.group"), "1");
                fs::write(self.folders[0].join("memory.max"), memory)?;
                fs::write(self.folders[0].join("pids.max"), processes)
            }
        }
    }

    /// Adds a process, if it cannot join by itself.
    pub(crate) fn add_process(&self, pid: u32) -> io::Result<()> {
        match self.version {
            Version::One => Ok(()),
            Version::Two => fs::write(self.folders[0].join("cgroup.procs"), pid.to_string()),
        }
    }

    /// The files through which a process joins by itself ([`join`]).
    pub(crate) fn join_files(&self) -> Vec<OsString> {
        match self.version {
            Version::One => self.folders.iter().map(|folder| folder.join("tasks").into()).collect(),
            Version::Two => Vec::new(),
        }
    }

    /// Whether the kernel had to end a process because the group had no more memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(self.folders[0].join(file)).unwrap_or_default();
        let kills = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.is_some_and(|count| count.trim() != "0")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            // A group that a dying process is still in is swept at the next start.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Moves this process, which has one thread, into a group. Moving another process waits for an RCU grace period, which
/// takes longer than all the rest of making a box; a thread that moves itself does not wait. Version 2 moves whole
/// processes only.
pub(crate) fn join(cgroup_files: &[OsString]) -> io::Result<()> {
    cgroup_files.iter().try_for_each(|file| fs::write(file, "0"))
}

/// Bounds the memory of all groups in a folder.
fn bound(version: Version, folder: &Path, memory_bytes: u64) -> io::Result<()> {
    let memory = memory_bytes.to_string();
    match version {
        Version::One => {
            // Newer kernels always count nested groups, and may refuse this setting.
            let _ = fs::write(folder.join("memory.use_hierarchy"), "1");
            fs::write(folder.join("memory.limit_in_bytes"), memory)
        }
        Version::Two => {
            fs::write(folder.join("cgroup.subtree_control"), "+memory +pids")?;
            let _ = fs::write(folder.join("memory.swap.max"), "0");
            fs::write(folder.join("memory.max"), memory)
        }
    }
}

/// Removes the groups of servers that have ended. A group with processes in it cannot be removed.
fn sweep(home: &Path) {
    let Ok(entries) = fs::read_dir(home) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let server = rest.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(server).exists() {
            remove_with_inner(&entry.path(), INNER_LEVELS);
        }
    }
}

/// The groups of workspaces are in a server's, and those of commands in these.
const INNER_LEVELS: usize = 2;

/// Removes a group and those in it, so many levels down.
fn remove_with_inner(group: &Path, levels: usize) {
    if levels > 0 {
        let inside = fs::read_dir(group).into_iter().flatten().flatten();
        for inner in inside.map(|entry| entry.path()).filter(|path| path.is_dir()) {
            remove_with_inner(&inner, levels - 1);
        }
    }
    let _ = fs::remove_dir(group);
}

/// Passes the controllers on to nested groups. A group of version 2 that has processes cannot do that, so a server
/// that is alone in its group moves into a nested one.
fn delegate(home: &Path) -> io::Result<()> {
    let controllers = fs::read_to_string(home.join("cgroup.controllers"))?;
    let has = |name| controllers.split_whitespace().any(|one| one == name);
    if !has("memory") || !has("pids") {
        return Err(io::Error::other(
            "its controllers of memory and of processes are not passed on",
        ));
    }
    let control = home.join("cgroup.subtree_control");
    if fs::write(&control, "+memory +pids").is_ok() {
        return Ok(());
    }
    let me = std::process::id().to_string();
    if fs::read_to_string(home.join("cgroup.procs"))?.trim() != me {
        return Err(io::Error::other("other processes are in it too"));
    }
    let leaf = home.join("server");
    match fs::create_dir(&leaf) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => fs::write(leaf.join("cgroup.procs"), me)?,
    }
    fs::write(&control, "+memory +pids")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_groups_of_a_server_are_in_one_that_is_bounded() {
        // Only root, or who was given a group, can make any.
        let Ok(groups) = Groups::find() else { return };
        let groups = groups.bounded_together(64 << 20).unwrap();
        let group = groups.make().unwrap();
        assert!(group.folders[0].starts_with(&groups.homes[0]));
        let files = ["memory.max", "memory.limit_in_bytes"].map(|file| groups.homes[0].join(file));
        let limit = files.iter().find_map(|file| fs::read_to_string(file).ok()).unwrap();
        assert_eq!(limit.trim(), (64_u64 << 20).to_string());
        drop(group);
        groups.homes.iter().for_each(|home| fs::remove_dir(home).unwrap());
    }

    #[test]
    fn groups_of_a_workspace_are_in_the_servers_and_go_with_it() {
        let Ok(groups) = Groups::find() else { return };
        // Not the group that the server's own test makes in this process.
        let homes = groups.make_inner(&numbered(PREFIX), 64 << 20).unwrap();
        let server = Groups { version: groups.version, homes, is_of_workspace: false };
        let workspace = server.of_workspace(32 << 20).unwrap();
        let home = workspace.homes[0].clone();
        assert!(home.starts_with(&server.homes[0]));
        let group = workspace.make().unwrap();
        assert!(group.folders[0].starts_with(&home));
        drop(group);
        drop(workspace);
        assert!(!home.exists());
        server.homes.iter().for_each(|home| fs::remove_dir(home).unwrap());
    }
}
