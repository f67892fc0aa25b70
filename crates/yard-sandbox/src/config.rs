//! How the operator configured the sandbox, as plain data.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

yard_core::spelled_enum! {
    /// How strictly commands are confined, from the weakest level to the strongest.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Level {
        /// Not at all: only if the operator configured it.
        Unconfined = "unconfined",
        /// No command runs.
        #[default]
        Refuse = "refuse",
        /// By Landlock and seccomp, without namespaces, and so without an overlay over the workspace.
        Walls = "walls",
        /// By namespaces, Landlock and seccomp, with an overlay over the workspace.
        Full = "full",
    }
}

/// The configuration of the sandbox.
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// Commands may run unconfined where no wall works.
    pub allow_unconfined: bool,
    /// The lowest level at which commands run.
    pub lowest: Level,
    /// More host folders that every box shows read-only under the same path (a toolchain, say).
    pub shown: Vec<PathBuf>,
    /// The person's programs. Only at [`Level::Full`].
    pub programs: Programs,
    /// A folder in which boxes are tried at start, on the file system of the overlays.
    pub scratch: PathBuf,
    /// Bytes of memory that all commands of the server together may take, where control groups can be made.
    pub all_memory: Option<u64>,
    /// The walls in use. Only tests leave one out, to test each wall alone.
    pub walls: Walls,
}

impl Default for SandboxConfig {
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

/// The person's own programs, as far as a box gets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// Folders and files that it shows read-only under the same path. None of them is inside of another one.
    pub shown: Vec<PathBuf>,
    /// Paths inside of them that are hidden, also if they are made later; `*` stands for any name.
    pub masked: Vec<PathBuf>,
    /// `PATH`, and the variables that say where toolchains are.
    pub environment: Vec<(OsString, OsString)>,
    /// Small files that it shows read-only as `/run/toolyard/<name>`, or at the name if that is an absolute path.
    pub files: Vec<(String, Vec<u8>)>,
    /// The person's caches of packages.
    pub caches: Vec<Cache>,
    /// The variables that say where caches are, for boxes that have them.
    pub cache_environment: Vec<(OsString, OsString)>,
}

/// A cache of packages of the person's, which boxes can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// A plain name, for the folder in which a workspace stores what its commands add to the cache.
    pub name: String,
    /// Its path in boxes, below [`CACHES`].
    pub at: PathBuf,
    /// Its path on the host.
    pub persons: PathBuf,
}

/// The folder of all caches of packages, in a box.
pub const CACHES: &str = "/run/toolyard/caches";

/// The walls around a command.
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
