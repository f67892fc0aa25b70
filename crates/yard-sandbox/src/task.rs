//! An order as it goes to the helper: one run of bytes over a socket. Arguments would be visible to
//! everybody in `ps`, and no longer than 128 KiB.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::{CacheLayer, Mask, MaskKind, ServedSocket, Walls};

/// The server's word: the command may start.
pub(super) const START: u8 = b'S';
/// The server's word: ask every process to end.
pub(super) const TERMINATE: u8 = b'T';
/// The server's word: end every process.
pub(super) const KILL: u8 = b'K';
/// The server's order to be an idle owner of a user namespace (see `probe`).
pub(super) const HOLD: &str = "hold-owners";

/// No order is longer: standard input and scripts included.
const LONGEST: u64 = 256 << 20;

/// The workspace, for the helper: it stands in the handle that it was given.
pub(super) const WORKSPACE: &str = ".";

/// What the helper shall do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) argv: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) stdin: Vec<u8>,
    pub(super) scripts: Vec<(OsString, Vec<u8>)>,
    /// The workspace's path on the host, to tell what lies in it. It is never opened.
    pub(super) workspace: PathBuf,
    pub(super) shown_at: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) kind: Kind,
    pub(super) upper: PathBuf,
    pub(super) work: PathBuf,
    /// Its own folder in the place of `/tmp`; empty without one.
    pub(super) scratch: PathBuf,
    /// What the box has as `/tmp`; empty for one that goes with the box.
    pub(super) tmp: PathBuf,
    pub(super) caches: Vec<CacheLayer>,
    pub(super) hidden: Vec<PathBuf>,
    /// What of the workspace the command may not read.
    pub(super) masked: Vec<Mask>,
    /// More folders that are shown read-only.
    pub(super) shown: Vec<PathBuf>,
    /// Namespaces, Landlock, seccomp.
    pub(super) walls: WallBits,
    /// The user namespace that maps owners on disk to the box's user; empty without one.
    pub(super) owners: PathBuf,
    /// Through which the helper comes into its control group.
    pub(super) doors: Vec<PathBuf>,
    /// The user that a helper with root's rights becomes.
    pub(super) user: Option<u32>,
    /// Its standard output is a terminal, to be its own.
    pub(super) terminal: bool,
    /// Sockets of the box's own loopback device that are served outside.
    pub(super) sockets: Vec<ServedSocket>,
    /// `None` is no limit.
    pub(super) cpu_seconds: Option<u64>,
    pub(super) memory_bytes: u64,
    pub(super) processes: u64,
    pub(super) open_files: u64,
    pub(super) file_bytes: u64,
}

/// What becomes of what is written in the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Overlay,
    ReadOnly,
    InPlace,
}

/// [`Walls`] with a default of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WallBits(pub(super) u64);

impl WallBits {
    pub(super) fn of(walls: Walls) -> Self {
        let bits = [walls.namespaces, walls.landlock, walls.seccomp];
        Self(bits.iter().rev().fold(0, |all, bit| all << 1 | u64::from(*bit)))
    }

    pub(super) fn walls(self) -> Walls {
        Walls { namespaces: self.0 & 1 != 0, landlock: self.0 & 2 != 0, seccomp: self.0 & 4 != 0 }
    }
}

impl Task {
    /// The whole order, its length first.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(vec![0; 8]);
        out.list(&self.argv, |out, word| out.text(word));
        out.list(&self.env, |out, (name, value)| {
            out.text(name);
            out.text(value);
        });
        out.bytes(&self.stdin);
        out.list(&self.scripts, |out, (name, body)| {
            out.text(name);
            out.bytes(body);
        });
        let paths = [&self.workspace, &self.shown_at, &self.folder, &self.upper, &self.work];
        for path in paths.into_iter().chain([&self.owners, &self.scratch, &self.tmp]) {
            out.text(path.as_os_str());
        }
        out.list(&self.caches, |out, cache| {
            for path in [&cache.at, &cache.added, &cache.persons, &cache.upper, &cache.work] {
                out.text(path.as_os_str());
            }
        });
        out.list(&self.hidden, |out, path| out.text(path.as_os_str()));
        out.list(&self.masked, |out, mask| {
            out.number(mask.kind as u64);
            out.text(mask.path.as_os_str());
        });
        out.list(&self.shown, |out, path| out.text(path.as_os_str()));
        out.list(&self.doors, |out, path| out.text(path.as_os_str()));
        out.number(self.kind as u64);
        out.number(self.walls.0);
        out.number(self.user.map_or(u64::MAX, u64::from));
        out.number(self.terminal.into());
        out.list(&self.sockets, |out, socket| {
            let (kind, address) = match socket {
                ServedSocket::Connections(address) => (0, address),
                ServedSocket::Datagrams(address) => (1, address),
            };
            for number in [kind, u64::from(address.ip().to_bits()), address.port().into()] {
                out.number(number);
            }
        });
        out.number(self.cpu_seconds.unwrap_or(u64::MAX));
        for number in [self.memory_bytes, self.processes, self.open_files] {
            out.number(number);
        }
        out.number(self.file_bytes);
        let length = (out.0.len() - 8) as u64;
        out.0[..8].copy_from_slice(&length.to_le_bytes());
        out.0
    }

    /// Reads the whole order.
    pub(super) fn read(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0; 8];
        from.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = Vec::new();
        from.take(length).read_to_end(&mut bytes)?;
        let mut rest = Reader(&bytes);
        rest.task().ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn text(&mut self, text: &OsStr) {
        self.bytes(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.number(items.len() as u64);
        for one in items {
            item(self, one);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn task(&mut self) -> Option<Task> {
        let argv = self.list(Self::text)?;
        let env = self.list(|from| Some((from.text()?, from.text()?)))?;
        let stdin = self.bytes()?;
        let scripts = self.list(|from| Some((from.text()?, from.bytes()?)))?;
        Some(Task {
            argv,
            env,
            stdin,
            scripts,
            workspace: self.path()?,
            shown_at: self.path()?,
            folder: self.path()?,
            upper: self.path()?,
            work: self.path()?,
            owners: self.path()?,
            scratch: self.path()?,
            tmp: self.path()?,
            caches: self.list(Self::cache)?,
            hidden: self.list(Self::path)?,
            masked: self.list(Self::mask)?,
            shown: self.list(Self::path)?,
            doors: self.list(Self::path)?,
            kind: self.kind()?,
            walls: WallBits(self.number()?),
            user: u32::try_from(self.number()?).ok(),
            terminal: self.number()? != 0,
            sockets: self.list(Self::socket)?,
            cpu_seconds: Some(self.number()?).filter(|seconds| *seconds < u64::MAX),
            memory_bytes: self.number()?,
            processes: self.number()?,
            open_files: self.number()?,
            file_bytes: self.number()?,
        })
    }

    fn socket(&mut self) -> Option<ServedSocket> {
        let (kind, ip) = (self.number()?, u32::try_from(self.number()?).ok()?);
        let port = u16::try_from(self.number()?).ok()?;
        let address = SocketAddrV4::new(Ipv4Addr::from_bits(ip), port);
        match kind {
            0 => Some(ServedSocket::Connections(address)),
            1 => Some(ServedSocket::Datagrams(address)),
            _ => None,
        }
    }

    fn kind(&mut self) -> Option<Kind> {
        match self.number()? {
            0 => Some(Kind::Overlay),
            1 => Some(Kind::ReadOnly),
            2 => Some(Kind::InPlace),
            _ => None,
        }
    }

    fn mask(&mut self) -> Option<Mask> {
        let kind = match self.number()? {
            0 => MaskKind::File,
            1 => MaskKind::Folder,
            2 => MaskKind::FolderInside,
            3 => MaskKind::FileInside,
            _ => return None,
        };
        Some(Mask { kind, path: self.path()? })
    }

    fn cache(&mut self) -> Option<CacheLayer> {
        let (at, added, persons) = (self.path()?, self.path()?, self.path()?);
        Some(CacheLayer { at, added, persons, upper: self.path()?, work: self.path()? })
    }

    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }

    fn text(&mut self) -> Option<OsString> {
        self.bytes().map(OsString::from_vec)
    }

    fn path(&mut self) -> Option<PathBuf> {
        self.text().map(PathBuf::from)
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| item(self)).collect()
    }
}

impl Task {
    /// The folder in which everything is that the box writes to, but for its `/tmp`.
    pub(super) fn layers(&self) -> Option<&Path> {
        let caches = self.caches.first().map(|cache| cache.upper.as_path());
        let upper = (self.kind == Kind::Overlay).then_some(self.upper.as_path());
        upper.or(caches)?.parent()
    }
}

/// Where the box shows a host path that lies in the workspace; any other path stays where it is.
pub(super) fn shown_path(task: &Task, host: &Path) -> PathBuf {
    match host.strip_prefix(&task.workspace) {
        Ok(below) if below.as_os_str().is_empty() => task.shown_at.clone(),
        Ok(below) => task.shown_at.join(below),
        Err(_) => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_arrives_as_it_was_sent() {
        let task = Task {
            argv: vec!["sh".into(), "-c".into(), OsString::from_vec(vec![0xff, b'x'])],
            env: vec![("A".into(), "b".into())],
            stdin: vec![0; 70_000],
            scripts: vec![("s".into(), b"echo".to_vec())],
            workspace: "/w".into(),
            shown_at: "/workspace".into(),
            scratch: "/s".into(),
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
            walls: WallBits::of(Walls { namespaces: true, landlock: false, seccomp: true }),
            user: Some(7),
            terminal: true,
            sockets: vec![
                ServedSocket::Connections(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3_128)),
                ServedSocket::Datagrams(SocketAddrV4::new(Ipv4Addr::new(127, 128, 0, 1), 53)),
            ],
            file_bytes: u64::MAX,
            ..Task::default()
        };
        let bytes = task.to_bytes();
        assert_eq!(Task::read(&bytes[..]).unwrap(), task);
        assert!(!task.walls.walls().landlock);
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
