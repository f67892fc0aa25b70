//! The environment of one run of a command: the folders and files that its box shows and hides, and where its writes go.
//! Nothing here starts a process.

use std::ffi::OsString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use yard_core::path::RESERVED_NAME;
use yard_core::{Call, ChatId, Fault, FaultCode, Remedy, Result, RunId, WsPath};
use yard_disk::{CacheAddition, CacheUpdate, Home, PackageCaches, RunFolder};
use yard_net::{PROXY_PORT, ProxyConfig};
use yard_sandbox::{
    Cache, CacheLayer, CommandLimits, CommandSpec, Layer, Level, PersistentFolders, Pty,
    ServedSocket,
};

use crate::commands::masks::Masks;
use crate::commands::run_files::IN_PLACE;
use crate::virtual_files::command_output;
use crate::workspace::Workspace;
use crate::workspace::command_box::CommandBox;

/// Names in the root that no command sees, because no tool shows them either.
const HIDDEN_NAMES: [&str; 2] = [RESERVED_NAME, command_output::FOLDER];
/// The cache of the package managers for which the person has none.
const OWN_CACHE: &str = "own";
/// The folder in which a box shows the scripts of a command.
const SCRIPTS: &str = "/run/toolyard/";

/// Variables from which programs read the address of their proxy.
const PROXY_VARIABLES: [&str; 6] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
/// Variables for addresses that are reached without the proxy: servers in the same box. Node ignores all of these variables
/// unless `NODE_USE_ENV_PROXY` is set.
const DIRECT_VARIABLES: [(&str, &str); 3] =
    [("no_proxy", OWN_BOX), ("NO_PROXY", OWN_BOX), ("NODE_USE_ENV_PROXY", "1")];
const OWN_BOX: &str = "localhost,127.0.0.1,::1";

/// Where the writes of a command go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// To a layer over the workspace, which lands later.
    Overlay,
    /// To the workspace itself.
    InPlace,
    /// Writing fails.
    ReadOnly,
}

/// A command to run.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The line that it gives to a shell, if it does that: a person is shown this line in place of the arguments.
    pub shell_line: Option<String>,
    /// Variables of its environment, beside the few that every command has.
    pub env: Vec<(OsString, OsString)>,
    /// Files that it can read as `/run/toolyard/<name>`.
    pub scripts: Vec<(String, Vec<u8>)>,
    /// The folder in which it starts.
    pub folder: WsPath,
    /// How long it may take.
    pub wall: Duration,
    /// Decides which hosts it may reach; none if this is not set.
    pub reach: Option<ProxyConfig>,
}

impl Command {
    /// A program with its arguments, and nothing else.
    pub fn new(argv: Vec<OsString>, folder: WsPath, wall: Duration) -> Self {
        let (env, scripts) = (Vec::new(), Vec::new());
        Self { argv, shell_line: None, env, scripts, folder, wall, reach: None }
    }
}

/// A run of a command.
#[derive(Clone, Copy)]
pub struct NewRun<'a> {
    /// Its id.
    pub id: RunId,
    /// What runs, and for how long at most.
    pub command: &'a Command,
    /// Where its writes go.
    pub write_mode: WriteMode,
    /// The chat whose home it has. Without one it has a home that is removed after the run.
    pub chat: Option<ChatId>,
}

/// Why something that a command stored outside of the workspace will not be there for the next command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageWarning {
    /// The package caches are full: what this command added is dropped.
    CachesFull,
    /// What this command added could not be moved to the package caches, for this reason.
    CachesUnusable(String),
    /// The chat's home is full: a command that writes to it is ended.
    HomeFull,
}

impl Workspace {
    /// The confinement of commands here; `None` if there is no box at all.
    pub fn box_level(&self) -> Option<Level> {
        self.commands.boxed.as_ref().map(|boxed| boxed.sandbox().level())
    }

    /// Where the writes of commands go here. A fault if no command can run.
    pub fn write_mode(&self) -> Result<WriteMode> {
        match self.box_level() {
            Some(Level::Full) => Ok(WriteMode::Overlay),
            Some(Level::Walls | Level::Unconfined) => Ok(WriteMode::InPlace),
            Some(Level::Refuse) | None => Err(no_box()),
        }
    }

    /// The box for a command that writes there. A fault if there is none, or if nothing would keep it from writing.
    pub(crate) fn box_for(&self, write_mode: WriteMode) -> Result<&CommandBox> {
        let boxed = self.commands.boxed.as_ref().ok_or_else(no_box)?;
        if write_mode == WriteMode::ReadOnly && boxed.sandbox().level() == Level::Unconfined {
            return Err(not_read_only());
        }
        Ok(boxed)
    }

    /// Prepares the folder of a run for a command.
    pub(crate) fn prepare(
        &self,
        folder: &RunFolder,
        boxed: &CommandBox,
        new: &NewRun<'_>,
        call: &Call,
    ) -> Result<RunEnvironment> {
        let NewRun { command, write_mode, chat, .. } = *new;
        folder.begins_after(self.store().head()?)?;
        self.check_root()?;
        let root = PathBuf::from(OsString::from_vec(self.host_root().to_vec()));
        let in_box = boxed.sandbox().level() == Level::Full;
        let masks = Masks::find(self, call)?;
        if let (false, Some(withheld)) = (in_box, masks.first()) {
            return Err(not_masked(withheld));
        }
        let home =
            chat.filter(|_| in_box).map(|chat| self.commands.homes.of(chat, call.world().now()));
        let home = home.transpose()?;
        let lasting = home.as_ref().map(|home| self.lasting(folder, boxed, home));
        let scratch = if in_box { None } else { Some(folder.scratch(&command.scripts)?) };
        // Without a full box only the reserved folder is hidden, and only if it exists.
        let is_hidden = |name: &&str| {
            in_box || (*name == RESERVED_NAME && self.disk.has_in_root(RESERVED_NAME))
        };
        let hidden = HIDDEN_NAMES.iter().filter(|name| is_hidden(name)).map(|name| root.join(name));
        if write_mode == WriteMode::InPlace {
            folder.write_file(IN_PLACE, b"")?;
        }
        Ok(RunEnvironment {
            masks,
            handle: self.disk.root_handle()?,
            hidden: hidden.collect(),
            shown_at: boxed.shown_at.clone().unwrap_or_else(|| root.clone()),
            root,
            upper: folder.upper(),
            work: folder.work(),
            scratch,
            lasting: lasting.transpose()?,
            home,
            cache_limit: boxed.keeping.caches_bytes,
            write_mode,
        })
    }

    /// The folders that last beyond a run: those of the chat's home, and the package caches.
    fn lasting(
        &self,
        folder: &RunFolder,
        boxed: &CommandBox,
        home: &Home,
    ) -> Result<PersistentFolders> {
        Ok(PersistentFolders {
            tmp: home.tmp(),
            most_bytes: boxed.keeping.home_bytes,
            is_full: home.was_full(),
            caches: self.cache_layers(folder, boxed.sandbox().caches())?,
        })
    }

    /// Makes the layers of the package caches for a run, the outermost cache first.
    fn cache_layers(&self, folder: &RunFolder, persons: &[Cache]) -> Result<Vec<CacheLayer>> {
        let (name, at) = (OWN_CACHE.to_owned(), PathBuf::new());
        let own = Cache { name, persons: at.clone(), at };
        let layers = std::iter::once(&own).chain(persons).map(|cache| {
            let folders = self.commands.package_caches.folders(folder, &cache.name)?;
            Ok(CacheLayer {
                at: cache.at.clone(),
                added: folders.added,
                persons: cache.persons.clone(),
                upper: folders.upper,
                work: folders.work,
            })
        });
        layers.collect()
    }
}

/// Everything about a run that does not depend on the command itself.
pub(crate) struct RunEnvironment {
    /// An open handle of the root.
    handle: OwnedFd,
    pub(crate) root: PathBuf,
    shown_at: PathBuf,
    hidden: Vec<PathBuf>,
    /// The files that its caller may not read.
    pub(crate) masks: Masks,
    pub(crate) upper: PathBuf,
    work: PathBuf,
    /// A folder of the run with its scripts, if there is no full box that could show them at a path of their own.
    scratch: Option<PathBuf>,
    pub(crate) lasting: Option<PersistentFolders>,
    pub(crate) home: Option<Home>,
    /// Most bytes of the package caches.
    cache_limit: u64,
    pub(crate) write_mode: WriteMode,
}

impl RunEnvironment {
    /// Moves what the command added to the package caches, after it has ended. Returns a warning if it was dropped.
    pub(crate) fn store_caches(&self, caches: &PackageCaches) -> Option<StorageWarning> {
        let additions = self.lasting.as_ref()?.caches.iter().map(|layer| CacheAddition {
            added: &layer.added,
            upper: &layer.upper,
            hides: !layer.persons.as_os_str().is_empty(),
        });
        match caches.keep(&additions.collect::<Vec<_>>(), self.cache_limit) {
            Ok(CacheUpdate::Kept) => None,
            Ok(CacheUpdate::NoRoom) => Some(StorageWarning::CachesFull),
            Err(fault) => Some(StorageWarning::CachesUnusable(fault.message().to_owned())),
        }
    }

    pub(crate) fn order<'a>(
        &'a self,
        command: &Command,
        limits: CommandLimits,
        sockets: Vec<ServedSocket>,
        terminal: Option<&'a Pty>,
    ) -> CommandSpec<'a> {
        let layer = match self.write_mode {
            WriteMode::Overlay => Layer::Overlay { upper: &self.upper, work: &self.work },
            WriteMode::InPlace => Layer::InPlace,
            WriteMode::ReadOnly => Layer::ReadOnly,
        };
        let (argv, scripts) = match &self.scratch {
            None => (command.argv.clone(), command.scripts.clone()),
            Some(scratch) => (with_scripts_in(scratch, &command.argv), Vec::new()),
        };
        CommandSpec {
            argv,
            env: with_proxy(command),
            stdin: Vec::new(),
            terminal,
            sockets,
            scripts,
            root: self.handle.as_fd(),
            workspace: &self.root,
            shown_at: &self.shown_at,
            folder: PathBuf::from(OsString::from_vec(command.folder.relative().to_vec())),
            layer,
            scratch: self.scratch.as_deref(),
            lasting: self.lasting.as_ref(),
            hidden: self.hidden.clone(),
            masked: self.masks.for_box(),
            limits,
        }
    }
}

/// The command's variables, with those for its proxy if it has one. A variable that the command sets itself is not
/// replaced.
fn with_proxy(command: &Command) -> Vec<(OsString, OsString)> {
    let mut env = command.env.clone();
    if command.reach.is_some() {
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        let is_own = |name: &str| command.env.iter().any(|(own, _)| own == name);
        let proxies = PROXY_VARIABLES.map(|name| (name, proxy.as_str()));
        let added = proxies.into_iter().chain(DIRECT_VARIABLES);
        env.extend(
            added
                .filter(|(name, _)| !is_own(name))
                .map(|(name, value)| (name.into(), value.into())),
        );
    }
    env
}

/// The arguments, with paths of scripts replaced by those in the scratch folder.
fn with_scripts_in(scratch: &Path, argv: &[OsString]) -> Vec<OsString> {
    let replaced = argv.iter().map(|argument| {
        let script = argument.to_str().and_then(|argument| argument.strip_prefix(SCRIPTS));
        script.map_or_else(|| argument.clone(), |name| scratch.join(name).into_os_string())
    });
    replaced.collect()
}

/// The fault if there is no box at all.
pub(crate) fn no_box() -> Fault {
    let message = "commands cannot be run here, because nothing would hold them";
    Fault::new(FaultCode::Unavailable, message).with_remedy(Remedy::DiagnoseBox)
}

/// The fault if files would have to be masked and cannot be.
fn not_masked(withheld: &WsPath) -> Fault {
    let message = format!(
        "you may not read {withheld}, and nothing here would keep a command from reading it: files are \
         masked only in a full box. Work with the file tools"
    );
    Fault::new(FaultCode::Denied, message).with_remedy(Remedy::DiagnoseBox)
}

/// The fault if nothing would prevent a command from writing.
fn not_read_only() -> Fault {
    let message = "this chat is in plan mode, and nothing here would keep a command from writing: \
                   the operator lets commands run unconfined. Look with the file tools";
    Fault::new(FaultCode::Unavailable, message)
}
