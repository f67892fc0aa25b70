//! The parts of the host that every box shows, read-only: what programs need to run, and nothing that reveals people,
//! the state of other programs or secrets of this machine.

#![allow(clippy::disallowed_methods, reason = "the table of mounts is a file")]

use std::fs;
use std::path::{Path, PathBuf};

/// The user id, on the host, of the boxes of a server that runs as root: it owns no files, and no account has it.
pub(crate) const BOX_USER: u32 = 65_333;

/// Folders (or links to such) with programs and libraries.
pub(crate) const FOLDERS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"];

/// The entries of `/etc` that libraries and interpreters read, without accounts and names of machines: those are
/// generated below.
pub(crate) const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "magic",
    "magic.mime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "perl",
    "pki",
    "protocols",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "services",
    "shells",
    "ssl",
    "terminfo",
    "timezone",
];

/// Devices that give nothing away.
pub(crate) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// The controlling terminal of a process, shown in boxes that have a terminal.
pub(crate) const OWN_TERMINAL: &str = "tty";

/// Links of `/dev`.
pub(crate) const DEVICE_LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// The entries of `/proc` that describe the host and not the box, shown as empty files.
pub(crate) const MASKED: &[&str] =
    &["keys", "key-users", "kcore", "kallsyms", "sysrq-trigger", "timer_list"];

/// The generated files of `/etc`: the box has one user, whichever user runs the server.
pub(crate) fn made_up(uid: u32, gid: u32) -> [(&'static str, String); 5] {
    let passwd = format!(
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n\
         user:x:{uid}:{gid}:user:/tmp/home:/bin/sh\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    );
    let group = format!("root:x:0:\nuser:x:{gid}:\nnogroup:x:65534:\n");
    let hosts = "127.0.0.1 localhost box\n::1 localhost box\n".to_owned();
    // If nothing listens there, every lookup fails at once.
    let resolver = "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n".to_owned();
    let hostname = "box\n".to_owned();
    [
        ("passwd", passwd),
        ("group", group),
        ("hosts", hosts),
        ("hostname", hostname),
        ("resolv.conf", resolver),
    ]
}

/// The host paths that match a path in which `*` stands for any name. A path without `*` is returned even if it does
/// not exist.
pub(crate) fn matches(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        if part.as_os_str() != "*" {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let folders = found.iter().filter_map(|folder| fs::read_dir(folder).ok());
        found = folders.flat_map(|entries| entries.flatten().map(|entry| entry.path())).collect();
    }
    found
}

/// The type of the file system that a folder is on, from the table of mounts: that of the last mount with the longest
/// mount point above the folder.
pub(crate) fn file_system(folder: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let folder = fs::canonicalize(folder).ok()?;
    let kinds = mounts.lines().filter_map(|line| {
        let (about, kind) = line.split_once(" - ")?;
        let place = Path::new(about.split(' ').nth(4)?);
        let kind = kind.split(' ').next()?;
        folder.starts_with(place).then(|| (place.as_os_str().len(), kind.to_owned()))
    });
    kinds.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_found_where_a_star_stands() {
        let temp = tempfile::tempdir().unwrap();
        let at = |path: &str| temp.path().join(path);
        for folder in ["a/1/x", "a/2/x", "b"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let mut found = matches(&at("a/*/x/y"));
        found.sort();
        assert_eq!(found, [at("a/1/x/y"), at("a/2/x/y")]);
        assert_eq!(matches(&at("no/such")), [at("no/such")]);
        assert_eq!(matches(&at("no/*/such")), [] as [PathBuf; 0]);
    }
}
