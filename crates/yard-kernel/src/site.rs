//! Where one run of a command takes place: the folders and files that its box shows, what is hidden from it, and
//! what becomes of what it writes. Nothing here starts a process.

use std::ffi::OsString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use yard_core::path::RESERVED_NAME;
use yard_core::{Call, ChatId, Fault, FaultCode, Result, WsPath};
use yard_disk::{CacheUpdate, Caches, Home, RunFolder};
use yard_net::{PROXY_PORT, ProxyConfig};
use yard_sandbox::{
    CommandLimits, CommandSpec, Layer, Level, PersistentFolders, Pty, ServedSocket,
};

use crate::boxed::Boxed;
use crate::masks::Masks;
use crate::run_files::IN_PLACE;
use crate::spilled;
use crate::workspace::Workspace;

/// What of the root no command sees: what no tool shows either.
const OURS: [&str; 2] = [RESERVED_NAME, spilled::FOLDER];
/// Where a box shows the scripts of a command.
const SCRIPTS: &str = "/run/toolyard/";

/// Where programs look for their proxy.
const PROXY_VARIABLES: [&str; 6] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
/// What programs reach without it: servers in their own box. Node looks at these variables only if it is told
/// to.
const DIRECT_VARIABLES: [(&str, &str); 3] =
    [("no_proxy", OWN_BOX), ("NO_PROXY", OWN_BOX), ("NODE_USE_ENV_PROXY", "1")];
const OWN_BOX: &str = "localhost,127.0.0.1,::1";

/// What becomes of what a command writes in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// It stays in a layer, until that lands.
    Layer,
    /// It is written.
    Place,
    /// Nothing can be written; where there are layers they do as well.
    Nothing,
}

/// A command to run.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Variables of its environment, beside the few that every command has.
    pub env: Vec<(OsString, OsString)>,
    /// Files that it can read as `/run/toolyard/<name>`.
    pub scripts: Vec<(String, Vec<u8>)>,
    /// Where it starts.
    pub folder: WsPath,
    /// How long it may take.
    pub wall: Duration,
    /// What it may reach of the web; nothing, without.
    pub reach: Option<ProxyConfig>,
}

/// Why something that a command leaves for the next one will not be there, or soon no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// The caches of packages are full: what this command added is forgotten.
    CachesFull,
    /// What this command added to them could not be moved there, for this reason.
    CachesUnusable(String),
    /// The chat's home is full: a command that adds to it is ended.
    HomeFull,
}

impl Workspace {
    /// How much holds a command here; `None` where there is no box at all.
    pub fn box_level(&self) -> Option<Level> {
        self.boxed.as_ref().map(|boxed| boxed.sandbox().level())
    }

    /// On what commands run here; a fault where none can.
    pub fn ground(&self) -> Result<Ground> {
        match self.box_level() {
            Some(Level::Full) => Ok(Ground::Layer),
            Some(Level::Walls | Level::Unconfined) => Ok(Ground::Place),
            Some(Level::Refuse) | None => Err(no_box()),
        }
    }

    /// Makes a run's folder ready for a command.
    pub(crate) fn prepare(
        &self,
        folder: &RunFolder,
        boxed: &Boxed,
        command: &Command,
        ground: Ground,
        chat: Option<ChatId>,
        call: &Call,
    ) -> Result<Site> {
        folder.begins_after(self.store().head()?)?;
        self.check_root()?;
        let root = PathBuf::from(OsString::from_vec(self.host_root().to_vec()));
        let in_box = boxed.sandbox().level() == Level::Full;
        let masks = Masks::find(self, call)?;
        if let (false, Some(withheld)) = (in_box, masks.first()) {
            return Err(not_masked(withheld));
        }
        let home = chat.filter(|_| in_box).map(|chat| self.homes.of(chat, call.world().now()));
        let home = home.transpose()?;
        let lasting = home.as_ref().map(|home| self.lasting(folder, boxed, home));
        let scratch = if in_box { None } else { Some(folder.scratch(&command.scripts)?) };
        // Nothing can be hidden without a box. What is not there needs not be; nor does what only has the
        // name of something that no tool shows.
        let is_hidden = |name: &&str| {
            in_box || (*name == RESERVED_NAME && self.disk.has_in_root(RESERVED_NAME))
        };
        let hidden = OURS.iter().filter(|name| is_hidden(name)).map(|name| root.join(name));
        if ground == Ground::Place {
            folder.keep(IN_PLACE, b"")?;
        }
        Ok(Site {
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
            most_cached: boxed.keeping.caches_bytes,
            ground,
        })
    }

    /// What a command leaves for the next one of its chat, whose home this is.
    fn lasting(&self, folder: &RunFolder, boxed: &Boxed, home: &Home) -> Result<PersistentFolders> {
        Ok(PersistentFolders {
            tmp: home.tmp(),
            most_bytes: boxed.keeping.home_bytes,
            is_full: home.was_full(),
            caches: self.caches.lay(folder, boxed.sandbox().caches())?,
        })
    }
}

/// Where a command runs: everything of its order that is not the command's.
pub(crate) struct Site {
    /// The workspace's folder, open.
    handle: OwnedFd,
    pub(crate) root: PathBuf,
    shown_at: PathBuf,
    hidden: Vec<PathBuf>,
    /// What its caller may not read.
    pub(crate) masks: Masks,
    pub(crate) upper: PathBuf,
    work: PathBuf,
    /// A folder of its own, with its scripts, where no box could show them in a place of their own.
    scratch: Option<PathBuf>,
    pub(crate) lasting: Option<PersistentFolders>,
    pub(crate) home: Option<Home>,
    /// How many bytes the caches of packages may have.
    most_cached: u64,
    pub(crate) ground: Ground,
}

impl Site {
    /// Keeps what the command added to the caches of packages, now that it is over.
    pub(crate) fn keep_caches(&self, caches: &Caches) -> Option<NotKept> {
        match caches.keep(&self.lasting.as_ref()?.caches, self.most_cached) {
            Ok(CacheUpdate::Kept) => None,
            Ok(CacheUpdate::NoRoom) => Some(NotKept::CachesFull),
            Err(fault) => Some(NotKept::CachesUnusable(fault.message().to_owned())),
        }
    }

    pub(crate) fn order<'a>(
        &'a self,
        command: &Command,
        limits: CommandLimits,
        sockets: Vec<ServedSocket>,
        terminal: Option<&'a Pty>,
    ) -> CommandSpec<'a> {
        let layer = match self.ground {
            Ground::Layer => Layer::Overlay { upper: &self.upper, work: &self.work },
            Ground::Place => Layer::InPlace,
            Ground::Nothing => Layer::ReadOnly,
        };
        let (argv, scripts) = match &self.scratch {
            None => (command.argv.clone(), command.scripts.clone()),
            Some(scratch) => (with_scripts_in(scratch, &command.argv), Vec::new()),
        };
        CommandSpec {
            argv,
            env: with_way_out(command),
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

/// The command's own environment, and where its way out is, if it has one. What the command names itself
/// stays as it is.
fn with_way_out(command: &Command) -> Vec<(OsString, OsString)> {
    let mut env = command.env.clone();
    if command.reach.is_some() {
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        let is_own = |name: &str| command.env.iter().any(|(own, _)| own == name);
        let proxies = PROXY_VARIABLES.map(|name| (name, proxy.as_str()));
        let ours = proxies.into_iter().chain(DIRECT_VARIABLES);
        env.extend(
            ours.filter(|(name, _)| !is_own(name)).map(|(name, value)| (name.into(), value.into())),
        );
    }
    env
}

/// The same words, with scripts named where they are.
fn with_scripts_in(scratch: &Path, argv: &[OsString]) -> Vec<OsString> {
    let words = argv.iter().map(|word| {
        let script = word.to_str().and_then(|word| word.strip_prefix(SCRIPTS));
        script.map_or_else(|| word.clone(), |name| scratch.join(name).into_os_string())
    });
    words.collect()
}

/// There is no box at all.
pub(crate) fn no_box() -> Fault {
    let message = "commands cannot be run here, because nothing would hold them. Ask the person to run \
                   `toolyard doctor`, which says what is missing and how to get it";
    Fault::new(FaultCode::Unavailable, message)
}

/// Files would have to be masked, and cannot be.
fn not_masked(withheld: &WsPath) -> Fault {
    let message = format!(
        "you may not read {withheld}, and nothing here would keep a command from reading it: files are \
         masked only in a full box (`toolyard doctor`). Work with the file tools"
    );
    Fault::new(FaultCode::Denied, message)
}

/// Nothing would keep a command from writing.
pub(crate) fn not_held() -> Fault {
    let message = "this chat is in plan mode, and nothing here would keep a command from writing: \
                   the operator lets commands run unconfined. Look with the file tools";
    Fault::new(FaultCode::Unavailable, message)
}
