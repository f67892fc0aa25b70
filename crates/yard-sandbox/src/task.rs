//! The task of the helper, sent over a socket: its length, and then its fields in the format of `postcard`.
//! Arguments of the helper's process would be visible to every user in `ps`, and could not be longer than 128 KiB.
//! Both ends are the same program, so the format may change at any time.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{CacheLayer, CommandLimits, Mask, ServedSocket, Walls, path_bytes};

/// The server sends this byte when the command may start.
pub(crate) const START: u8 = b'S';
/// The server sends this byte to ask every process to end.
pub(crate) const TERMINATE: u8 = b'T';
/// The server sends this byte to kill every process.
pub(crate) const KILL: u8 = b'K';
/// The argument that makes the helper an idle process that owns a user namespace (see `probe`).
pub(crate) const HOLD_NAMESPACE: &str = "hold-owners";

/// Most bytes of a task, with standard input and scripts.
const MAX_BYTES: u64 = 256 << 20;
/// How many bytes before a task hold its length.
const LENGTH_BYTES: usize = size_of::<u64>();

/// The path of the workspace in the helper, whose current folder is the workspace's handle.
pub(crate) const WORKSPACE: &str = ".";

/// A command to run, as the helper needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) stdin: Vec<u8>,
    pub(crate) scripts: Vec<(OsString, Vec<u8>)>,
    /// The workspace's path on the host, to find out which host paths are in it. It is never opened.
    #[serde(with = "path_bytes")]
    pub(crate) workspace: PathBuf,
    #[serde(with = "path_bytes")]
    pub(crate) shown_at: PathBuf,
    #[serde(with = "path_bytes")]
    pub(crate) folder: PathBuf,
    pub(crate) kind: Kind,
    #[serde(with = "path_bytes")]
    pub(crate) upper: PathBuf,
    #[serde(with = "path_bytes")]
    pub(crate) work: PathBuf,
    /// The command's own folder in the place of `/tmp`; empty without one.
    #[serde(with = "path_bytes")]
    pub(crate) scratch: PathBuf,
    /// The folder that becomes the box's `/tmp`; empty for a `/tmp` in memory.
    #[serde(with = "path_bytes")]
    pub(crate) tmp: PathBuf,
    pub(crate) caches: Vec<CacheLayer>,
    pub(crate) hidden: Vec<OsString>,
    /// The parts of the workspace that the command may not read.
    pub(crate) masked: Vec<Mask>,
    /// More folders that are shown read-only.
    pub(crate) shown: Vec<OsString>,
    /// The walls around the command.
    pub(crate) walls: Walls,
    /// The user namespace that maps owners on disk to the box's user; empty without one.
    #[serde(with = "path_bytes")]
    pub(crate) owners: PathBuf,
    /// The files through which the helper joins its control group.
    pub(crate) cgroup_files: Vec<OsString>,
    /// The user that a helper with root's rights becomes.
    pub(crate) user: Option<u32>,
    /// The standard output is a terminal, which becomes the command's controlling terminal.
    pub(crate) terminal: bool,
    /// Sockets on the box's own loopback device that the server serves.
    pub(crate) sockets: Vec<ServedSocket>,
    pub(crate) limits: CommandLimits,
}

/// Where changes of the workspace go: [`Layer`](crate::Layer) without its folders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    #[default]
    Overlay,
    ReadOnly,
    InPlace,
}

impl Task {
    /// The length of the task and the task.
    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes =
            postcard::to_extend(self, vec![0; LENGTH_BYTES]).map_err(io::Error::other)?;
        let length = (bytes.len() - LENGTH_BYTES) as u64;
        bytes[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        Ok(bytes)
    }

    /// Reads a whole task.
    pub(crate) fn read(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0; LENGTH_BYTES];
        from.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = Vec::new();
        from.take(length).read_to_end(&mut bytes)?;
        postcard::from_bytes(&bytes).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// The folder of everything that the box writes to, apart from its `/tmp`.
    pub(crate) fn layers(&self) -> Option<&Path> {
        let caches = self.caches.first().map(|cache| cache.upper.as_path());
        let upper = (self.kind == Kind::Overlay).then_some(self.upper.as_path());
        upper.or(caches)?.parent()
    }
}

/// The path in the box of a host path: one inside of the workspace moves with it, any other one stays the same.
pub(crate) fn shown_path(task: &Task, host: &Path) -> PathBuf {
    match host.strip_prefix(&task.workspace) {
        Ok(below) if below.as_os_str().is_empty() => task.shown_at.clone(),
        Ok(below) => task.shown_at.join(below),
        Err(_) => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::MaskKind;

    #[test]
    fn a_task_arrives_as_it_was_sent() {
        let task = Task {
            argv: vec!["sh".into(), "-c".into(), OsString::from_vec(vec![0xff, b'x'])],
            env: vec![("A".into(), "b".into())],
            stdin: vec![0; 70_000],
            scripts: vec![("s".into(), b"echo".to_vec())],
            workspace: "/w".into(),
            shown_at: "/workspace".into(),
            scratch: OsString::from_vec(b"/s\xff".to_vec()).into(),
            tmp: "/t".into(),
            caches: vec![CacheLayer {
                at: "cargo/registry".into(),
                upper: "/u".into(),
                ..CacheLayer::default()
            }],
            hidden: vec!["/w/.data".into()],
            masked: [MaskKind::Folder, MaskKind::FileInside, MaskKind::File]
                .map(|kind| Mask { path: "a".into(), kind })
                .to_vec(),
            kind: Kind::InPlace,
            walls: Walls { namespaces: true, landlock: false, seccomp: true },
            user: Some(7),
            terminal: true,
            sockets: vec![
                ServedSocket::Connections(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3_128)),
                ServedSocket::Datagrams(SocketAddrV4::new(Ipv4Addr::new(127, 128, 0, 1), 53)),
            ],
            limits: CommandLimits { file_bytes: u64::MAX, ..CommandLimits::default() },
            ..Task::default()
        };
        let bytes = task.to_bytes().unwrap();
        assert_eq!(Task::read(&bytes[..]).unwrap(), task);
        assert!(!task.walls.landlock);
        for cut in [4, 9, bytes.len() - 1] {
            assert!(Task::read(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn hidden_folders_are_found_where_the_box_shows_them() {
        let task = Task { workspace: "/w".into(), shown_at: "/v".into(), ..Task::default() };
        assert_eq!(shown_path(&task, Path::new("/w/a/b")), Path::new("/v/a/b"));
        assert_eq!(shown_path(&task, Path::new("/w")), Path::new("/v"));
        assert_eq!(shown_path(&task, Path::new("/usr/x")), Path::new("/usr/x"));
    }
}
