//! What a caller asks the sandbox to run, and with what: plain data.

use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Pty, machine, path_bytes};

/// One command to run.
#[derive(Clone, Debug)]
pub struct CommandSpec<'a> {
    /// The program and its arguments; a name without a slash is looked up in `PATH`.
    pub argv: Vec<OsString>,
    /// The environment, over [`default_environment`] and nothing else.
    pub env: Vec<(OsString, OsString)>,
    /// The bytes of its standard input.
    pub stdin: Vec<u8>,
    /// The terminal that it runs on and writes to. Then `stdin` is not used, and the listener gets no output.
    pub terminal: Option<&'a Pty>,
    /// Sockets on the box's own loopback device that the server serves. The listener gets each
    /// ([`CommandListener::opened`](crate::CommandListener::opened)), in this order.
    pub sockets: Vec<ServedSocket>,
    /// Small files that the box shows read-only as `/run/toolyard/<name>`. Only at
    /// [`Level::Full`](crate::Level::Full).
    pub scripts: Vec<(String, Vec<u8>)>,
    /// The workspace's folder. The box shows what this handle is open on, even if another folder is at `workspace` by
    /// then.
    pub root: BorrowedFd<'a>,
    /// The path of the workspace's folder on the host: used only to find out which host paths are in it.
    pub workspace: &'a Path,
    /// Where the box shows it: its real path, or `/workspace`.
    pub shown_at: &'a Path,
    /// Where the command starts, relative to the workspace.
    pub folder: PathBuf,
    /// Where the command's changes of the workspace go.
    pub layer: Layer<'a>,
    /// A folder of the command's own in the place of `/tmp`, for commands without namespaces.
    pub scratch: Option<&'a Path>,
    /// The folders that the next command finds again. Only at [`Level::Full`](crate::Level::Full).
    pub lasting: Option<&'a PersistentFolders>,
    /// Host folders that the box hides, even inside of a folder that it shows.
    pub hidden: Vec<PathBuf>,
    /// The parts of the workspace that the command may not read. Only at [`Level::Full`](crate::Level::Full).
    pub masked: Vec<Mask>,
    /// The resources that the command may use.
    pub limits: CommandLimits,
}

/// A socket on the loopback device of a box, made before its command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServedSocket {
    /// A listening TCP socket.
    Connections(SocketAddrV4),
    /// A UDP socket.
    Datagrams(SocketAddrV4),
}

/// Folders that a command shares with the commands after it, besides the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentFolders {
    /// The folder that the box has as `/tmp`; its home is in it.
    pub tmp: PathBuf,
    /// How many bytes `tmp` may hold.
    pub most_bytes: u64,
    /// `tmp` holds more already: the command may remove files, and must not add to it.
    pub is_full: bool,
    /// Its caches of packages. A cache inside of another one comes after it.
    pub caches: Vec<CacheLayer>,
}

/// A cache of packages with a layer for what a command adds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheLayer {
    /// Its path in the box, below [`CACHES`](crate::CACHES).
    #[serde(with = "path_bytes")]
    pub at: PathBuf,
    /// The folder with what earlier commands added.
    #[serde(with = "path_bytes")]
    pub added: PathBuf,
    /// The person's own cache on the host; empty without one.
    #[serde(with = "path_bytes")]
    pub persons: PathBuf,
    /// The folder for what this command adds. It and `work` are in the folder of the run, as those of
    /// [`Layer::Overlay`] are.
    #[serde(with = "path_bytes")]
    pub upper: PathBuf,
    /// The scratch folder of the overlay.
    #[serde(with = "path_bytes")]
    pub work: PathBuf,
}

/// An entry of the workspace that a command may not read: its name is shown, and it cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    /// Its path, relative to the workspace.
    #[serde(with = "path_bytes")]
    pub path: PathBuf,
    /// What is masked.
    pub kind: MaskKind,
}

/// What a mask covers. In a list, the entries of a masked folder follow it directly, each folder before its own
/// entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MaskKind {
    /// A single file.
    File,
    /// A folder with everything in it.
    Folder,
    /// A folder inside of a masked folder.
    FolderInside,
    /// Any other entry inside of a masked folder.
    FileInside,
}

impl MaskKind {
    /// Whether it is inside of a masked folder.
    pub fn is_inside(self) -> bool {
        matches!(self, Self::FolderInside | Self::FileInside)
    }
}

/// Where a command's changes of the workspace go.
#[derive(Clone, Copy, Debug)]
pub enum Layer<'a> {
    /// To `upper`; the workspace does not change. Both folders must exist, be empty, have the same parent folder, and
    /// be on a file system that can be an upper layer.
    Overlay {
        /// The changes.
        upper: &'a Path,
        /// The scratch folder of the overlay, for one run: see [`empty_scratch`](crate::empty_scratch).
        work: &'a Path,
    },
    /// Nowhere: the workspace is read-only.
    ReadOnly,
    /// To the workspace itself.
    InPlace,
}

/// The resources that a command may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Time from start to end.
    pub wall: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Seconds of processor time of all its processes together, if they are bounded.
    pub cpu_seconds: Option<u64>,
    /// Memory of all its processes together.
    pub memory_bytes: u64,
    /// Memory that it shares with other commands, for the message if that ends it.
    pub shared_memory: Option<SharedMemory>,
    /// Processes and threads at a time.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes that it writes into its layers.
    pub written_bytes: u64,
}

impl Default for CommandLimits {
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

/// Memory that the commands of a server share. It is enforced where control groups can be made
/// ([`SandboxConfig::all_memory`](crate::SandboxConfig::all_memory),
/// [`Sandbox::of_workspace`](crate::Sandbox::of_workspace)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedMemory {
    /// Bytes for all commands of one workspace together.
    pub workspace_bytes: u64,
    /// Bytes for all commands of the server together.
    pub all_bytes: u64,
}

/// The environment of every command, which a command's own variables override.
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
