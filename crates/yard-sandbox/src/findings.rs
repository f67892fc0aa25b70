//! The results of a probe, one for each part of a box, with advice about what is missing.

#![allow(clippy::disallowed_methods, reason = "distributions say in files what they switched off")]

use std::fs;
use std::io;
use std::path::Path;

use crate::group::Groups;
use crate::report::{Step, StepError};
use crate::{landlock_wall, system};

/// One line of `toolyard doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of what was checked.
    pub name: &'static str,
    /// Whether it works.
    pub ok: bool,
    /// Whether a lower level is used without it.
    pub needed: bool,
    /// What was found.
    pub found: String,
    /// How to make it work; empty if nothing is missing.
    pub remedy: String,
}

/// The parts of a full box, each with the last step that belongs to it.
const PARTS: [(&str, Step, &str); 4] = [
    ("namespaces", Step::Fork, "user, mount, pid, ipc, uts, net and cgroup, all its own"),
    ("/proc", Step::Proc, "a new one, of the box's processes alone"),
    ("overlay", Step::Overlay, "changes are kept in a layer; the workspace stays as it was"),
    ("full box", Step::Folder, "a command ran in it and came back"),
];

/// The findings of the trial of a full box.
pub(crate) fn full(tried: &io::Result<()>) -> Vec<Finding> {
    let broken = |error: &io::Error| {
        error.get_ref().and_then(|inner| inner.downcast_ref::<StepError>()).map(|error| error.step)
    };
    let mut is_explained = false;
    let finding = |(name, last, fine): (&'static str, Step, &str)| {
        let reached = match tried {
            Ok(()) => true,
            Err(error) => broken(error).is_some_and(|step| step > last),
        };
        let (found, remedy) = match tried {
            Err(error) if !reached && !is_explained => {
                is_explained = true;
                (
                    error.to_string(),
                    remedy(broken(error).filter(|step| *step == Step::Folders).unwrap_or(last)),
                )
            }
            _ if !reached => ("not reached".to_owned(), String::new()),
            _ => (fine.to_owned(), String::new()),
        };
        Finding { name, ok: reached, needed: true, found, remedy }
    };
    PARTS.into_iter().map(finding).collect()
}

/// The findings of the trial of Landlock and seccomp alone.
pub(crate) fn walls(tried: &io::Result<()>) -> Vec<Finding> {
    let version = landlock_wall::version();
    let new_enough = version >= landlock_wall::SCOPES;
    let landlock = Finding {
        name: "Landlock",
        ok: new_enough,
        needed: true,
        found: format!(
            "version {} or newer, {}",
            version as i32,
            if new_enough {
                "which holds files, signals and abstract sockets"
            } else {
                "which is too old to hold signals"
            }
        ),
        remedy: if new_enough {
            ""
        } else {
            "Linux 6.12 or newer, started with landlock among lsm="
        }
        .to_owned(),
    };
    let alone = Finding {
        name: "walls alone",
        ok: tried.is_ok(),
        needed: false,
        found: match tried {
            Ok(()) => {
                "without namespaces a command runs in place: `guarded` asks before it starts, and \
                       undo covers what is neither ignored nor git's own"
                    .to_owned()
            }
            Err(error) => error.to_string(),
        },
        remedy: String::new(),
    };
    vec![landlock, alone]
}

/// Whether control groups count the memory of a command's processes.
pub(crate) fn groups(groups: &Result<Groups, String>) -> Finding {
    let (found, remedy) = match groups {
        Ok(groups) => (groups.description(), String::new()),
        Err(why) => (
            format!("{why}; memory is counted by looking, ten times a second"),
            "run as a systemd service with Delegate=yes, or as root".to_owned(),
        ),
    };
    Finding { name: "control groups", ok: groups.is_ok(), needed: false, found, remedy }
}

/// Whether commands can work on a folder.
pub(crate) fn root(tried: io::Result<()>, root: &Path, data: &Path) -> Finding {
    let kind = |at: &Path| system::file_system(at).unwrap_or_else(|| "unknown".to_owned());
    let (found, remedy) = match &tried {
        Ok(()) => (format!("a command ran on {} ({})", root.display(), kind(root)), String::new()),
        Err(error) => (
            format!("no command runs on {} ({}): {error}", root.display(), kind(root)),
            format!(
                "keep the folder on a file system as ext4, xfs or btrfs, and the data folder (now on {}) \
                 beside it; or run as an ordinary user",
                kind(data)
            ),
        ),
    };
    Finding { name: "this folder", ok: tried.is_ok(), needed: true, found, remedy }
}

/// The programs that tools start. `listed` has one in each line: its path in the box, a tab, and its version output.
pub(crate) fn programs(listed: &str) -> Finding {
    let missing: Vec<&str> = ["bash", "python3"]
        .into_iter()
        .filter(|name| !listed.contains(&format!("/{name}\t")))
        .collect();
    let mut lines: Vec<&str> = listed.lines().collect();
    lines.sort_unstable_by_key(|line| line.split('\t').next().and_then(|at| at.rsplit('/').next()));
    let found: Vec<String> = lines.iter().filter_map(|line| program(line)).collect();
    let found = found.join(", ");
    let remedy = match missing.as_slice() {
        [] => String::new(),
        missing => {
            format!("install {}, below /usr or a folder that boxes show", missing.join(" and "))
        }
    };
    Finding { name: "programs", ok: missing.is_empty(), needed: false, found, remedy }
}

/// `git 2.39.5 (/usr/bin/git)`, from a line with the path of a program and its version output.
fn program(line: &str) -> Option<String> {
    let (at, output) = line.split_once('\t')?;
    let name = at.rsplit('/').next()?;
    let number = |word: &&str| {
        let word = word.trim_start_matches(['v', 'g', 'o', '"']);
        word.starts_with(|one: char| one.is_ascii_digit()) && word.contains('.')
    };
    let version = output.split([' ', ',', '(']).find(number);
    let version = version.map(|word| word.trim_matches(|one: char| !one.is_ascii_alphanumeric()));
    Some(match version {
        Some(version) => format!("{name} {version} ({at})"),
        None => format!("{name} ({at})"),
    })
}

/// Advice about a part that does not work, by the settings with which distributions and containers disable it.
fn remedy(part: Step) -> String {
    let set =
        |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let advice = match part {
        Step::Folders => {
            "as root, workspaces and data lie on a file system that can show other owners (ext4, \
             xfs, btrfs, tmpfs); or run as an ordinary user"
        }
        Step::Proc => "do not mask /proc: in a container, set systempaths=unconfined",
        Step::Overlay => "Linux 5.11 or newer, and data on a file system with user attributes",
        Step::Fork if set("/proc/sys/kernel/unprivileged_userns_clone", "0") => {
            "sysctl kernel.unprivileged_userns_clone=1"
        }
        Step::Fork if set("/proc/sys/user/max_user_namespaces", "0") => {
            "sysctl user.max_user_namespaces=10000"
        }
        Step::Fork if set("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") => {
            "an AppArmor profile with userns, or sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0"
        }
        Step::Fork => "in a container: let it make user namespaces, and mounts in them",
        _ => "",
    };
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_listed_with_their_versions() {
        let listed = "/usr/bin/python3\tPython 3.11.2\n/usr/bin/bash\tGNU bash, version 5.2.15(1)-release (x86)\n\
                      /usr/local/go/bin/go\tgo version go1.24.1 linux/amd64\n/usr/bin/odd\t\n\
                      /h/.nvm/node\tv22.1.0\n";
        let finding = programs(listed);
        assert_eq!(
            finding.found,
            "bash 5.2.15 (/usr/bin/bash), go go1.24.1 (/usr/local/go/bin/go), node v22.1.0 (/h/.nvm/node), \
             odd (/usr/bin/odd), python3 3.11.2 (/usr/bin/python3)"
        );
        assert!(finding.ok && finding.remedy.is_empty());
        let finding = programs("/usr/bin/bash\tbash\n");
        assert!(!finding.ok && finding.remedy.contains("install python3"), "{finding:?}");
    }

    #[test]
    fn the_first_part_that_failed_says_why_and_the_rest_is_not_reached() {
        let error = io::Error::other(StepError { step: Step::Proc, errno: libc::EPERM });
        let found = full(&Err(error));
        assert_eq!(found.iter().map(|one| one.ok).collect::<Vec<_>>(), [true, false, false, false]);
        assert!(found[1].found.contains("mount a new /proc") && !found[1].remedy.is_empty());
        assert_eq!(found[2].found, "not reached");
        assert!(full(&Ok(())).iter().all(|one| one.ok && one.remedy.is_empty()));
        assert!(full(&Err(io::Error::other("x"))).iter().all(|one| !one.ok));
    }
}
