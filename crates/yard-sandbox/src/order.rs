//! What is asked of the box and what it answers, as plain data.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BoxNetwork, Pty, machine, path_bytes};

/// How much holds a command, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing at all: only where the operator configured it.
    Unconfined,
    /// Nothing runs.
    #[default]
    Refuse,
    /// Landlock and seccomp, without namespaces: no layer over the workspace.
    Walls,
    /// Namespaces, a layer over the workspace, Landlock and seccomp.
    Full,
}

impl Level {
    /// One word for people and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unconfined => "unconfined",
            Self::Refuse => "refuse",
            Self::Walls => "walls",
            Self::Full => "full",
        }
    }
}

/// What the operator set.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Commands may run with nothing around them where no wall holds.
    pub allow_unconfined: bool,
    /// A level below this one is no good: nothing runs then.
    pub lowest: Level,
    /// More host folders that every box shows, read-only, where they are (a toolchain, say).
    pub shown: Vec<PathBuf>,
    /// The person's programs. Only at [`Level::Full`].
    pub programs: Programs,
    /// A folder in which boxes are tried out at start, on the file system that layers will lie on.
    pub scratch: PathBuf,
    /// Bytes of memory that all commands together may take, where control groups can be made: a server's
    /// boxes share one machine.
    pub all_memory: Option<u64>,
    /// Which walls stand. All of them, but in tests that try each alone.
    pub walls: Walls,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            allow_unconfined: false,
            lowest: Level::Walls,
            shown: Vec::new(),
            programs: Programs::default(),
            scratch: PathBuf::from("/tmp"),
            all_memory: None,
            walls: Walls::default(),
        }
    }
}

/// What a box gets of the programs that the person runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// Folders and files that it shows, read-only, where they are. None of them is in another one.
    pub shown: Vec<PathBuf>,
    /// What of them is covered, whenever it comes to be there; `*` stands for any name.
    pub masked: Vec<PathBuf>,
    /// Its PATH, and where toolchains are.
    pub environment: Vec<(OsString, OsString)>,
    /// Small files that it shows read-only as `/run/toolyard/<name>`, or where the name says if that is a whole path.
    pub files: Vec<(String, Vec<u8>)>,
    /// Caches of packages that the person has.
    pub caches: Vec<Cache>,
    /// What tells package managers where their caches are, in boxes that have them.
    pub cache_environment: Vec<(OsString, OsString)>,
}

/// A cache of packages that the person has, and that boxes can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// A plain name, for the folder in which a workspace keeps what its commands add to it.
    pub name: String,
    /// Where boxes have it, below [`CACHES`].
    pub at: PathBuf,
    /// Where the person has it.
    pub persons: PathBuf,
}

/// Where boxes have caches of packages.
pub const CACHES: &str = "/run/toolyard/caches";

/// Which walls stand around a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// User, mount, pid, ipc, uts, net and cgroup namespaces.
    pub namespaces: bool,
    /// Landlock's rules over files, signals and abstract sockets.
    pub landlock: bool,
    /// The filter of system calls.
    pub seccomp: bool,
}

impl Default for Walls {
    fn default() -> Self {
        Self { namespaces: true, landlock: true, seccomp: true }
    }
}

/// One command to run.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// The program and its arguments; a name without a slash is looked for in `PATH`.
    pub argv: Vec<OsString>,
    /// The environment, over [`default_environment`] and nothing else.
    pub env: Vec<(OsString, OsString)>,
    /// What the command reads from its standard input.
    pub stdin: Vec<u8>,
    /// The terminal that it runs on, and that its words go to; `stdin` is nothing then, and nothing is heard.
    pub terminal: Option<&'a Pty>,
    /// Sockets of the box's own loopback device that are served outside: [`Hear::opened`] gets each, in this
    /// order.
    pub sockets: Vec<ServedSocket>,
    /// Small files that the box shows read-only as `/run/toolyard/<name>`. Only at [`Level::Full`].
    pub scripts: Vec<(String, Vec<u8>)>,
    /// The workspace's folder, open. This handle is what the box shows and what the command works in,
    /// whatever is at `workspace` by then.
    pub root: BorrowedFd<'a>,
    /// The path of the workspace's folder on the host: only to tell which host paths lie in it.
    pub workspace: &'a Path,
    /// Where the box shows it: its real path, or `/workspace`.
    pub shown_at: &'a Path,
    /// Where the command starts, relative to the workspace.
    pub folder: PathBuf,
    /// What becomes of what the command writes.
    pub layer: Layer<'a>,
    /// A folder of the command's own, where it has no private `/tmp`: without namespaces.
    pub scratch: Option<&'a Path>,
    /// What is still there for the next command. Only at [`Level::Full`].
    pub lasting: Option<&'a Lasting>,
    /// Host folders that must not be seen, even below something shown.
    pub hidden: Vec<PathBuf>,
    /// What of the workspace the command may not read. Only at [`Level::Full`].
    pub masked: Vec<Mask>,
    /// What the command may use.
    pub limits: Limits,
}

/// A socket on the loopback device of a box, made before its command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServedSocket {
    /// It listens for connections.
    Connections(SocketAddrV4),
    /// It gets datagrams.
    Datagrams(SocketAddrV4),
}

/// What a command leaves for the next one, besides what it changed in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    /// The folder that the box has as `/tmp`; its home is in it.
    pub tmp: PathBuf,
    /// How many bytes may be in it.
    pub most_bytes: u64,
    /// There are more already: the command may make room, and must not add to it.
    pub is_full: bool,
    /// Its caches of packages. One that is in another comes after it.
    pub caches: Vec<CacheLayer>,
}

/// A cache of packages with a layer for what a command adds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheLayer {
    /// Where the box has it, below [`CACHES`].
    #[serde(with = "path_bytes")]
    pub at: PathBuf,
    /// What earlier commands added.
    #[serde(with = "path_bytes")]
    pub added: PathBuf,
    /// What the person has; empty without.
    #[serde(with = "path_bytes")]
    pub persons: PathBuf,
    /// What this command adds. This folder and the next are in the folder of the run, as those of
    /// [`Layer::Overlay`] are.
    #[serde(with = "path_bytes")]
    pub upper: PathBuf,
    /// Scratch of the overlay.
    #[serde(with = "path_bytes")]
    pub work: PathBuf,
}

/// Something in the workspace that a command may not read: its name is shown, and it cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    /// Where it is, relative to the workspace.
    #[serde(with = "path_bytes")]
    pub path: PathBuf,
    /// What it is.
    pub kind: MaskKind,
}

/// What is masked. What is in a folder that is masked whole comes right behind it in a list, each folder
/// before what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MaskKind {
    /// A file by itself.
    File,
    /// A folder with everything in it.
    Folder,
    /// A folder in such a folder.
    FolderInside,
    /// Anything else in such a folder.
    FileInside,
}

impl MaskKind {
    /// Whether it is in a folder that is masked whole.
    pub fn is_inside(self) -> bool {
        matches!(self, Self::FolderInside | Self::FileInside)
    }
}

/// What becomes of what a command writes in the workspace.
#[derive(Clone, Copy, Debug)]
pub enum Layer<'a> {
    /// It is kept in `upper`; the workspace does not change. Both folders must be there, empty, in the
    /// same parent folder, on a file system that can be an upper layer.
    Overlay {
        /// What was changed.
        upper: &'a Path,
        /// Scratch of the overlay, good for one run: see [`empty_scratch`](super::empty_scratch).
        work: &'a Path,
    },
    /// Nothing can be written.
    ReadOnly,
    /// It is written to the workspace.
    InPlace,
}

/// What a command may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From start to end.
    pub wall: Duration,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Seconds of processor time, of all its processes together, if they are bounded.
    pub cpu_seconds: Option<u64>,
    /// Memory of all its processes together.
    pub memory_bytes: u64,
    /// Memory that it shares with other commands, to be named where that ends it.
    pub shared_memory: Option<SharedMemory>,
    /// Processes and threads at a time.
    pub processes: u64,
    /// Open files of a process.
    pub open_files: u64,
    /// The largest file.
    pub file_bytes: u64,
    /// Everything that it wrote into the layer.
    pub written_bytes: u64,
}

impl Default for Limits {
    /// Limits that fit this machine.
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(3_600),
            grace: Duration::from_secs(2),
            cpu_seconds: None,
            memory_bytes: machine::memory_for_commands(),
            shared_memory: None,
            processes: 4_096,
            open_files: 4096,
            file_bytes: 4 << 30,
            written_bytes: 8 << 30,
        }
    }
}

/// Memory that commands share, on a server: its boxes are on one machine. It is kept where control groups can be
/// made ([`Wish::all_memory`], [`Sandbox::of_workspace`](super::Sandbox::of_workspace)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// Bytes for all commands of one workspace together.
    pub workspace_bytes: u64,
    /// Bytes for all commands of the server together.
    pub all_bytes: u64,
}

/// Hears what a command says while it runs. An error ends the command and is what the run answers.
pub trait Hear {
    /// Called once, while the box is being made: the command starts only after this has been done. An
    /// error means that it never does.
    fn starts(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// The box made the next of its sockets.
    fn opened(&mut self, socket: OwnedFd) -> io::Result<()> {
        drop(socket);
        Ok(())
    }
    /// The network of the box, if it has one of its own.
    fn has_network(&mut self, network: BoxNetwork) {
        drop(network);
    }
    /// The sockets by which connections and datagrams of the box come, while another one can be taken.
    fn listening(&mut self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
    /// Something waits on one of those sockets.
    fn accept(&mut self) {}
    /// Bytes of its standard output.
    fn stdout(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Bytes of its standard error.
    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// How a command ended. By then no process of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What became of the command itself.
    pub exit: Exit,
    /// Why it was ended, if it was.
    pub stopped: Option<Stopped>,
    /// From the order to the end.
    pub took: Duration,
}

impl Ended {
    /// The code that a shell would see: 128 and the signal's number if a signal ended it.
    pub fn code(&self) -> i32 {
        match self.exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
        }
    }
}

/// What became of the command itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// It ended with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Why a command was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Out of wall time: its own, or the call's deadline.
    Wall,
    /// The call was cancelled.
    Cancelled,
    /// All its processes together took too much memory.
    Memory,
    /// Out of processor time.
    Cpu,
    /// Too many processes, where nothing but looking bounds them; elsewhere one more is just refused.
    Processes,
    /// It wrote too much.
    Written,
    /// The file system below the layer was about to be full.
    DiskFull,
    /// It put too much into its home and `/tmp`.
    HomeFull,
}

impl Stopped {
    /// Every reason.
    pub const ALL: [Stopped; 8] = [
        Self::Wall,
        Self::Cancelled,
        Self::Memory,
        Self::Cpu,
        Self::Processes,
        Self::Written,
        Self::DiskFull,
        Self::HomeFull,
    ];

    /// One word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cancelled => "cancelled",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Processes => "processes",
            Self::Written => "written",
            Self::DiskFull => "disk-full",
            Self::HomeFull => "home-full",
        }
    }

    /// The reason of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }
}

/// One line of `toolyard doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked for, in a word or three.
    pub name: &'static str,
    /// Whether it is to be had.
    pub ok: bool,
    /// Whether the level falls without it.
    pub needed: bool,
    /// What was found.
    pub found: String,
    /// How to get it; empty where there is nothing to get.
    pub remedy: String,
}

/// What every command finds in its environment unless the order says otherwise.
pub fn default_environment() -> Vec<(OsString, OsString)> {
    [
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", "/tmp/home"),
        ("TMPDIR", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("USER", "user"),
        ("LOGNAME", "user"),
        ("TERM", "dumb"),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value.into()))
    .collect()
}
