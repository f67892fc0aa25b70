//! How much memory this machine has for commands: three quarters of all, or of the limit of this process's control
//! group, whichever is less. The rest is for the person and for the server.

#![allow(clippy::disallowed_methods, reason = "the kernel reports memory in files")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// The memory of a machine that does not report how much it has.
const UNKNOWN: u64 = 4 << 30;

static FOR_COMMANDS: LazyLock<u64> = LazyLock::new(|| {
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let all = [of_machine, of_group()].into_iter().flatten().min();
    three_quarters(all.unwrap_or(UNKNOWN))
});

/// Bytes for all commands together.
pub(crate) fn memory_for_commands() -> u64 {
    *FOR_COMMANDS
}

fn three_quarters(bytes: u64) -> u64 {
    bytes / 4 * 3
}

/// `MemTotal:       24585848 kB`.
fn total(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let count: u64 = rest.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(count.saturating_mul(1 << 10))
}

fn of_group() -> Option<u64> {
    least_limit(&crate::group_folders::memory_home()?)
}

/// The least limit of a group and those above it.
fn least_limit(home: &Path) -> Option<u64> {
    let limits = home.ancestors().filter_map(|folder| {
        let files = ["memory.max", "memory.limit_in_bytes"].map(|name| folder.join(name));
        let text = files.iter().find_map(|file| fs::read_to_string(file).ok())?;
        // A group without a limit says `max`.
        text.trim().parse().ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_in_bytes() {
        let text = "MemTotal:       24585848 kB\nMemFree:         6542128 kB\n";
        assert_eq!(total(text), Some(24_585_848 << 10));
        assert_eq!(total("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn the_least_limit_of_a_group_and_those_above_it_counts() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("service/worker");
        fs::create_dir_all(&group).unwrap();
        assert_eq!(least_limit(&group), None);
        fs::write(group.join("memory.max"), "max\n").unwrap();
        fs::write(root.path().join("service/memory.max"), "1000\n").unwrap();
        fs::write(root.path().join("memory.max"), "4000\n").unwrap();
        assert_eq!(least_limit(&group), Some(1000));
        let one = root.path().join("one");
        fs::create_dir(&one).unwrap();
        fs::write(one.join("memory.limit_in_bytes"), "9223372036854771712\n").unwrap();
        assert_eq!(least_limit(&one), Some(4000));
    }

    #[test]
    fn commands_get_three_quarters_of_this_machine_at_most() {
        let text = fs::read_to_string("/proc/meminfo").unwrap();
        let memory = memory_for_commands();
        assert!(memory > 0 && memory <= three_quarters(total(&text).unwrap()));
    }
}
