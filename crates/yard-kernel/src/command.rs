//! Commands: run in the box, each on a layer of its own over the workspace. A run changes nothing; what is
//! in its layer afterwards lands by `op/land.rs`, is kept until a person has decided, or is dropped.
//!
//! Where there are walls and no layers a command runs in place: what it changes is changed, and is
//! recorded by `op/import.rs` when it is over.
//!
//! A run is a folder (`disk/layer.rs`). One that a crash leaves without a mark that somebody waits for it
//! was interrupted: the next opening removes it, and the audit chain says so.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use yard_core::path::RESERVED_NAME;
use yard_core::{Call, ChatId, Fault, FaultCode, Result, RunId, WsPath};
use yard_disk::{Added, Caches, Capture, Home, Keeping, RunFolder, Said};
use yard_net::{HostTraffic, PROXY_PORT, Proxy, Reach};
use yard_sandbox::{
    Ended, Exit, Hear, Lasting, Layer, Level, Limits, Order, Pty, Sandbox, ServedSocket, Stopped,
};
use yard_store::AuditEntry;

use crate::box_sockets::BoxSockets;
use crate::boxed::{Boxed, TerminalLimits};
use crate::masks::Masks;
use crate::output;
use crate::ports;
use crate::refs::{self, Moved, note_rewound};
use crate::spilled;
use crate::store_fault::store_fault;
use crate::terminal;
use crate::workspace::Workspace;

/// What it said is kept under these names.
const STDOUT: &str = "stdout";
const STDERR: &str = "stderr";
/// As long as git may think about all refs that a command moved.
const QUESTIONS_MILLIS: i64 = 20_000;
const AN_HOUR: Duration = Duration::from_secs(3_600);
/// Says how a run ended.
pub(crate) const ENDED: &str = "ended";
/// Says how many files were masked.
const MASKED: &str = "masked";
/// Says what a command did with the hosts that it asked for, line by line.
const HOSTS: &str = "hosts";
/// What of the root no command sees: what no tool shows either.
const OURS: [&str; 2] = [RESERVED_NAME, spilled::FOLDER];
/// Says that a person is asked about a run.
const WAITING: &str = "waiting";
/// Says that a run changes the workspace itself.
const IN_PLACE: &str = "in-place";
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
    pub reach: Option<Reach>,
}

/// A command that ran to its end, whichever that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub ended: Ended,
    /// What it said.
    pub stdout: Said,
    /// What it complained of.
    pub stderr: Said,
    /// The hosts that it asked for, and what came of each.
    pub hosts: Vec<HostTraffic>,
    /// How many files of the workspace it could not read, because its caller may not.
    pub masked: u64,
    /// What will not be there for the next command.
    pub not_kept: Vec<NotKept>,
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

    /// Runs a command to its end, with the home of a chat; without one, with a home that goes with it. `starts`
    /// is done while the box is being made, and the command starts after it: what must be durable by then is
    /// nothing that it waits for twice.
    pub fn run(
        &self,
        run: RunId,
        command: &Command,
        ground: Ground,
        chat: Option<ChatId>,
        call: &Call,
        starts: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Ran> {
        let boxed = self.boxed.as_ref().ok_or_else(no_box)?;
        if ground == Ground::Nothing && boxed.sandbox().level() == Level::Unconfined {
            return Err(not_held());
        }
        output::trim(self)?;
        let folder = self.runs.begin(run, &self.disk)?;
        let sockets = (boxed.sandbox().level() == Level::Full).then(|| {
            let terminals = chat.map(|chat| ports::of_chat(&self.port_sockets, chat).ports);
            BoxSockets::new(Proxy::new(command.reach.clone(), call), terminals.unwrap_or_default())
        });
        let mut ear = Ear::new(&folder, boxed.keeping.stream_bytes, sockets, starts);
        let site = self.prepare(&folder, boxed, command, ground, chat, call);
        let ran = match site.and_then(|site| self.run_at(&site, &folder, command, call, &mut ear)) {
            Ok(end) => self
                .over(run, &folder, ear, end)
                .and_then(|ran| self.note_reading(&ran, call).map(|()| ran)),
            Err(fault) => {
                ear.sockets.iter().for_each(|sockets| drop(sockets.end()));
                Err(ear.refused.unwrap_or(fault))
            }
        };
        self.spills.sweep(&boxed.keeping, call.world().now(), Some(run));
        ran.inspect_err(|_| self.runs.remove(run))
    }

    fn run_at(
        &self,
        site: &Site,
        folder: &RunFolder,
        command: &Command,
        call: &Call,
        ear: &mut Ear<'_>,
    ) -> Result<End> {
        let boxed = self.boxed.as_ref().ok_or_else(no_box)?;
        let limits = Limits { wall: command.wall, ..boxed.limits };
        let sockets = ear.sockets.as_ref().map(BoxSockets::wanted).unwrap_or_default();
        let order = site.order(command, limits, sockets, None);
        let sandbox = boxed.sandbox();
        let ended = sandbox.run(&order, call, ear).map_err(|error| {
            let kind = sandbox.unfit_file_system(&error, &site.root);
            not_run(command, &error, kind)
        })?;
        if site.ground == Ground::Layer {
            // The command is over, and its caller's time may be: this is looked at all the same.
            let after = Call::new(call.shared_world());
            let asking = after.clone().within_millis(QUESTIONS_MILLIS);
            let asks = |moved: &Moved| {
                // No overlay takes up the scratch of another.
                let work = asking.check().and_then(|()| folder.another_work());
                work.is_ok_and(|work| {
                    let layer = Layer::Overlay { upper: &site.upper, work: &work };
                    let order = Order { layer, lasting: None, ..order.clone() };
                    is_forward(sandbox, order, moved, &asking)
                })
            };
            note_rewound(self, folder, &after, asks)?;
        }
        let mut not_kept: Vec<NotKept> = site.keep_caches(&self.caches).into_iter().collect();
        if self.is_home_full(site, &ended)? {
            not_kept.push(NotKept::HomeFull);
        }
        Ok(End { ended, masked: site.masks.files(), not_kept })
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
        folder.begins_after(self.store().head().map_err(store_fault)?)?;
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

    /// Whether the home of a command that is over is full, noted for the next one.
    fn is_home_full(&self, site: &Site, ended: &Ended) -> Result<bool> {
        let (Some(home), Some(lasting)) = (&site.home, &site.lasting) else { return Ok(false) };
        let is_full = match ended.stopped == Some(Stopped::HomeFull) {
            true => true,
            false if home.was_full() => home.size()? > lasting.most_bytes,
            false => return Ok(false),
        };
        home.note_full(is_full)?;
        Ok(is_full)
    }

    /// What a command leaves for the next one of its chat, whose home this is.
    fn lasting(&self, folder: &RunFolder, boxed: &Boxed, home: &Home) -> Result<Lasting> {
        Ok(Lasting {
            tmp: home.tmp(),
            most_bytes: boxed.keeping.home_bytes,
            is_full: home.was_full(),
            caches: self.caches.lay(folder, boxed.sandbox().caches())?,
        })
    }

    /// Notes what the caller of a command could read, where all that it said is kept.
    fn note_reading(&self, ran: &Ran, call: &Call) -> Result<()> {
        let is_kept = ran.stdout.whole.is_some() || ran.stderr.whole.is_some();
        match call.reading() {
            Some(reading) if is_kept => self.spills.note(ran.run, &reading.note()),
            _ => Ok(()),
        }
    }

    /// Keeps how a command ended and what it said.
    fn over(&self, run: RunId, folder: &RunFolder, ear: Ear<'_>, end: End) -> Result<Ran> {
        let End { ended, masked, not_kept } = end;
        let Ear { out, err, sockets, .. } = ear;
        let hosts = sockets.map(|sockets| sockets.end()).unwrap_or_default();
        if !hosts.is_empty() {
            let lines: String = hosts.iter().map(HostTraffic::to_line).collect();
            folder.keep(HOSTS, lines.as_bytes())?;
        }
        let (stdout, stderr) = (out.finish(run, &self.spills), err.finish(run, &self.spills));
        stdout.keep(folder, STDOUT)?;
        stderr.keep(folder, STDERR)?;
        if masked > 0 {
            folder.keep(MASKED, masked.to_string().as_bytes())?;
        }
        folder.keep(ENDED, told(&ended).as_bytes())?;
        Ok(Ran { run, ended, stdout, stderr, hosts, masked, not_kept })
    }

    /// What terminals may use here.
    pub fn terminal_limits(&self) -> TerminalLimits {
        self.boxed.as_ref().map_or_else(TerminalLimits::default, |boxed| boxed.terminals)
    }

    /// How many bytes a command may write here.
    pub(crate) fn most_written(&self) -> u64 {
        self.boxed.as_ref().map_or(u64::MAX, |boxed| boxed.limits.written_bytes)
    }

    /// How much of what commands say is kept here.
    pub(crate) fn keeping(&self) -> Keeping {
        self.boxed.as_ref().map_or_else(Keeping::default, |boxed| boxed.keeping)
    }

    /// A run that is over and whose changes are kept.
    pub fn ran(&self, run: RunId) -> Result<Ran> {
        let folder = self.runs.find(run)?.ok_or_else(|| interrupted(run))?;
        let ended = folder.kept(ENDED)?.and_then(|text| ended_of(&text));
        let ended = ended.ok_or_else(|| interrupted(run))?;
        let said = |stream| Said::kept(&folder, stream, run, &self.spills);
        let (stdout, stderr) = (said(STDOUT)?, said(STDERR)?);
        let masked = folder.kept(MASKED)?.and_then(|text| String::from_utf8(text).ok());
        let masked = masked.and_then(|text| text.parse().ok()).unwrap_or(0);
        let hosts = folder.kept(HOSTS)?.and_then(|text| String::from_utf8(text).ok());
        let hosts = hosts.unwrap_or_default().lines().filter_map(HostTraffic::from_line).collect();
        Ok(Ran { run, ended, stdout, stderr, hosts, masked, not_kept: Vec::new() })
    }

    /// Where the whole of what a run said is, stream by stream, as far as it is kept.
    pub fn kept_output(&self, run: RunId) -> Vec<WsPath> {
        [STDOUT, STDERR, terminal::LOG]
            .iter()
            .filter_map(|stream| self.spills.find(run, stream))
            .collect()
    }

    /// Makes sure that a run, with what it changed, is there until somebody has decided about it.
    pub fn keep_run(&self, run: RunId) -> Result<()> {
        let folder = self.runs.find(run)?.ok_or_else(|| interrupted(run))?;
        if folder.kept(WAITING)?.is_none() {
            folder.keep(WAITING, b"")?;
        }
        folder.flush()
    }

    /// Forgets a run, with what it changed.
    pub fn drop_run(&self, run: RunId) {
        self.runs.remove(run);
    }

    /// Forgets every run that waits for a person's word, with what it changed.
    pub(crate) fn drop_waiting_runs(&self) -> Result<()> {
        for run in self.runs.all()? {
            let folder = self.runs.find(run)?;
            if folder.map(|folder| folder.kept(WAITING)).transpose()?.flatten().is_some() {
                self.runs.remove(run);
            }
        }
        self.runs.settle();
        Ok(())
    }

    /// The runs that somebody waited for an hour ago, and may wait for still. Younger ones may be about to
    /// be asked for.
    pub fn waiting_runs(&self) -> Vec<RunId> {
        let runs = self.runs.all().unwrap_or_default().into_iter();
        let is_waiting = |run: &RunId| {
            let folder = self.runs.find(*run).ok().flatten();
            folder
                .is_some_and(|folder| matches!(folder.age(WAITING), Ok(Some(age)) if age > AN_HOUR))
        };
        runs.filter(is_waiting).collect()
    }

    /// Removes what commands left that a crash interrupted. The caller is alone with the workspace.
    pub(crate) fn sweep_runs(&self, call: &Call) -> Result<()> {
        for run in self.runs.all()? {
            let Some(folder) = self.runs.find(run)? else { continue };
            if folder.kept(WAITING)?.is_some() {
                continue;
            }
            let is_terminal = folder.kept(terminal::NOTE)?.is_some();
            if is_terminal && folder.kept(terminal::TOLD)?.is_some() {
                continue;
            }
            // It landed, and only its folder was left.
            let step = folder.landing_as()?.map(|step| self.store().step(step));
            if step.transpose().map_err(store_fault)?.flatten().is_some() {
                self.runs.remove(run);
                continue;
            }
            let became = match folder.kept(IN_PLACE)? {
                None => "nothing of what it changed was kept",
                Some(_) => "what it had changed by then is on disk, and in no step of its own",
            };
            let entry = AuditEntry {
                at: call.world().now(),
                actor: "toolyard".to_owned(),
                action: "interrupted".to_owned(),
                detail: format!("run {run}: {became}"),
            };
            self.record_audit(&entry)?;
            match is_terminal {
                true if folder.kept(ENDED)?.is_some() => {}
                true => folder.keep(ENDED, terminal::INTERRUPTED)?,
                false => self.runs.remove(run),
            }
        }
        self.forget_old_terminals()
    }
}

/// Asks git, on the layer of a command that is over, whether a ref was moved forward.
fn is_forward(sandbox: &Sandbox, over: Order<'_>, moved: &Moved, call: &Call) -> bool {
    let Some(argv) = moved.question() else { return false };
    let env = refs::SURROUNDINGS.map(|(name, value)| (name.into(), value.into())).to_vec();
    let wall = Duration::from_millis(QUESTIONS_MILLIS.unsigned_abs());
    let limits = Limits { wall, ..over.limits };
    let (scripts, folder) = (Vec::new(), PathBuf::new());
    let order = Order { argv, env, scripts, folder, limits, sockets: Vec::new(), ..over };
    let ended = sandbox.run(&order, call, &mut Deaf);
    ended.is_ok_and(|ended| ended.exit == Exit::Code(0))
}

/// How a run ended, before anything of it is kept.
struct End {
    ended: Ended,
    masked: u64,
    not_kept: Vec<NotKept>,
}

/// Where a command runs: everything of its order that is not the command's.
pub(crate) struct Site {
    /// The workspace's folder, open.
    handle: OwnedFd,
    root: PathBuf,
    shown_at: PathBuf,
    hidden: Vec<PathBuf>,
    /// What its caller may not read.
    pub(crate) masks: Masks,
    upper: PathBuf,
    work: PathBuf,
    /// A folder of its own, with its scripts, where no box could show them in a place of their own.
    scratch: Option<PathBuf>,
    lasting: Option<Lasting>,
    home: Option<Home>,
    /// How many bytes the caches of packages may have.
    most_cached: u64,
    ground: Ground,
}

impl Site {
    /// Keeps what the command added to the caches of packages, now that it is over.
    pub(crate) fn keep_caches(&self, caches: &Caches) -> Option<NotKept> {
        match caches.keep(&self.lasting.as_ref()?.caches, self.most_cached) {
            Ok(Added::Kept) => None,
            Ok(Added::NoRoom) => Some(NotKept::CachesFull),
            Err(fault) => Some(NotKept::CachesUnusable(fault.message().to_owned())),
        }
    }

    pub(crate) fn order<'a>(
        &'a self,
        command: &Command,
        limits: Limits,
        sockets: Vec<ServedSocket>,
        terminal: Option<&'a Pty>,
    ) -> Order<'a> {
        let layer = match self.ground {
            Ground::Layer => Layer::Overlay { upper: &self.upper, work: &self.work },
            Ground::Place => Layer::InPlace,
            Ground::Nothing => Layer::ReadOnly,
        };
        let (argv, scripts) = match &self.scratch {
            None => (command.argv.clone(), command.scripts.clone()),
            Some(scratch) => (with_scripts_in(scratch, &command.argv), Vec::new()),
        };
        Order {
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

/// Hears nothing.
pub(crate) struct Deaf;

impl Hear for Deaf {
    fn stdout(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn stderr(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// Hears a command.
struct Ear<'a> {
    out: Capture<'a>,
    err: Capture<'a>,
    starts: &'a mut dyn FnMut() -> Result<()>,
    /// The sockets of its box that are served here, where it has a network of its own.
    sockets: Option<BoxSockets>,
    /// Why the command did not start.
    refused: Option<Fault>,
}

impl<'a> Ear<'a> {
    fn new(
        folder: &'a RunFolder,
        room: u64,
        sockets: Option<BoxSockets>,
        starts: &'a mut dyn FnMut() -> Result<()>,
    ) -> Self {
        let stream = |name| Capture::new(folder, name, room);
        let (out, err) = (stream(STDOUT), stream(STDERR));
        Self { out, err, starts, sockets, refused: None }
    }
}

impl Hear for Ear<'_> {
    fn starts(&mut self) -> io::Result<()> {
        (self.starts)().map_err(|fault| {
            let words = io::Error::other(fault.message().to_owned());
            self.refused = Some(fault);
            words
        })
    }

    fn opened(&mut self, socket: OwnedFd) -> io::Result<()> {
        match &mut self.sockets {
            Some(sockets) => sockets.opened(socket),
            None => Ok(()),
        }
    }

    fn listening(&mut self) -> Vec<BorrowedFd<'_>> {
        self.sockets.as_ref().map(BoxSockets::listening).unwrap_or_default()
    }

    fn accept(&mut self) {
        self.sockets.iter().for_each(BoxSockets::accept);
    }

    fn stdout(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.take(bytes);
        Ok(())
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.err.take(bytes);
        Ok(())
    }
}

/// How a run ended, as its folder says it: what became of it, why, and after how many milliseconds.
pub(crate) fn told(ended: &Ended) -> String {
    let mut text = match ended.exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    };
    let why = ended.stopped.map_or("-", Stopped::word);
    let _ = write!(text, " {why} {}", ended.took.as_millis());
    text
}

pub(crate) fn ended_of(text: &[u8]) -> Option<Ended> {
    let text = std::str::from_utf8(text).ok()?;
    let words: Vec<&str> = text.split(' ').collect();
    let [kind, number, why, took] = words[..] else { return None };
    let number = number.parse().ok()?;
    let exit = match kind {
        "code" => Exit::Code(number),
        _ => Exit::Signal(number),
    };
    let stopped = Stopped::from_word(why);
    Some(Ended { exit, stopped, took: Duration::from_millis(took.parse().ok()?) })
}

pub(crate) fn no_box() -> Fault {
    let message = "commands cannot be run here, because nothing would hold them. Ask the person to run \
                   `toolyard doctor`, which says what is missing and how to get it";
    Fault::new(FaultCode::Unavailable, message)
}

fn not_masked(withheld: &WsPath) -> Fault {
    let message = format!(
        "you may not read {withheld}, and nothing here would keep a command from reading it: files are \
         masked only in a full box (`toolyard doctor`). Work with the file tools"
    );
    Fault::new(FaultCode::Denied, message)
}

pub(crate) fn not_held() -> Fault {
    let message = "this chat is in plan mode, and nothing here would keep a command from writing: \
                   the operator lets commands run unconfined. Look with the file tools";
    Fault::new(FaultCode::Unavailable, message)
}

fn not_run(command: &Command, error: &io::Error, unfit: Option<String>) -> Fault {
    if let Some(kind) = unfit {
        let message = format!(
            "the command could not be run: {error}. The workspace is on {kind}, which boxes cannot be made \
             on here; `toolyard doctor` says what to do"
        );
        return Fault::new(FaultCode::Unavailable, message);
    }
    if let (io::ErrorKind::NotFound, Some(program)) = (error.kind(), command.argv.first()) {
        let program = program.display();
        let message = format!(
            "there is no program `{program}` where commands run: install it on this machine, or, if it is \
             installed in a folder that commands do not see, name that folder in `show` of `[commands]`"
        );
        return Fault::new(FaultCode::NotRun, message);
    }
    Fault::new(FaultCode::NotRun, format!("the command could not be run: {error}"))
}

fn interrupted(run: RunId) -> Fault {
    let message = format!(
        "run {run} was interrupted: the program ended while the command ran, and nothing of what it \
         changed was kept. It is not run again by itself"
    );
    Fault::new(FaultCode::NotFound, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_run_ended_reads_back() {
        for exit in [Exit::Code(0), Exit::Code(255), Exit::Signal(9)] {
            for stopped in Stopped::ALL.map(Some).into_iter().chain([None]) {
                let ended = Ended { exit, stopped, took: Duration::from_millis(1_234) };
                assert_eq!(ended_of(told(&ended).as_bytes()), Some(ended));
            }
        }
        assert_eq!(ended_of(b""), None);
    }
}
