//! Where control groups are mounted, and which of them this process is in. Nothing here makes or changes one.

#![allow(clippy::disallowed_methods, reason = "the kernel lists control groups in files")]

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the group whose memory this process counts to.
pub(crate) fn memory_home() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let two = || of_version_two(&mounts, &own)?.into_iter().next();
    of_controller(&mounts, &own, "memory").or_else(two)
}

/// Where controllers of version 1 are mounted, and this process is.
pub(crate) fn of_version_one(mounts: &str, own: &str) -> Option<Vec<PathBuf>> {
    Some(vec![of_controller(mounts, own, "memory")?, of_controller(mounts, own, "pids")?])
}

/// Where one controller of version 1 is mounted, and this process is.
fn of_controller(mounts: &str, own: &str, controller: &str) -> Option<PathBuf> {
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let names = parts.nth(1)?;
        let path = parts.next()?;
        names.split(',').any(|name| name == controller).then(|| path.to_owned())
    };
    let path = own.lines().find_map(of_line)?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let options = kind.clone().nth(2)?;
        let fits = kind.next()? == "cgroup" && options.split(',').any(|name| name == controller);
        fits.then(|| home_in(place, &path)).flatten()
    })
}

/// Where version 2 is mounted, and this process is.
pub(crate) fn of_version_two(mounts: &str, own: &str) -> Option<Vec<PathBuf>> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let home = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        kind.starts_with("cgroup2 ").then(|| home_in(place, path)).flatten()
    })?;
    Some(vec![home])
}

/// The folder of a group, from the fields of a mount: its root is the fourth, its place the fifth.
fn home_in(place: &str, path: &str) -> Option<PathBuf> {
    let fields: Vec<&str> = place.split(' ').collect();
    let (root, at) = (fields.get(3)?, fields.get(4)?);
    let below = Path::new(path).strip_prefix(root).ok()?;
    Some(Path::new(at).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_found_in_either_version() {
        let one = "31 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                   35 25 0:32 /inner /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
        let own = "8:pids:/inner/a\n4:memory:/b\n0::/\n";
        let homes = of_version_one(one, own).unwrap();
        assert_eq!(homes, ["/sys/fs/cgroup/memory/b", "/sys/fs/cgroup/pids/a"].map(PathBuf::from));
        let two = "31 25 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            of_version_two(two, "0::/user/x\n").unwrap(),
            [PathBuf::from("/sys/fs/cgroup/user/x")]
        );
        assert_eq!(of_version_one(two, own), None);
    }
}
