//! Commands: run in the box, each on a layer of its own over the workspace. A run changes nothing; what is
//! in its layer afterwards lands by `op/land.rs`, is kept until a person has decided, or is dropped.
//!
//! Where there are walls and no layers a command runs in place: what it changes is changed, and is
//! recorded by `op/import.rs` when it is over.
//!
//! A run is a folder (`layer.rs` of `yard-disk`). One that a crash leaves without a mark that somebody waits for it
//! was interrupted: the next opening removes it, and the audit chain says so.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use yard_core::{Call, ChatId, Fault, FaultCode, Result, RunId, WsPath};
use yard_disk::{Capture, CapturedOutput, RetentionLimits, RunFolder};
use yard_net::{HostTraffic, Proxy};
use yard_sandbox::{
    CommandEnd, CommandLimits, CommandListener, CommandSpec, Exit, Layer, Level, Sandbox,
    StopReason,
};
use yard_store::AuditEntry;

use crate::box_sockets::BoxSockets;
use crate::boxed::TerminalLimits;
use crate::output;
use crate::ports;
use crate::refs::{self, Moved, note_rewound};
use crate::run_files::{
    ENDED, HOSTS, IN_PLACE, INTERRUPTED, LOG, MASKED, NOTE, STDERR, STDOUT, TOLD, WAITING,
    ended_of, ended_text,
};
use crate::site::{Command, Ground, NotKept, Site, no_box, not_held};
use crate::workspace::Workspace;

/// As long as git may think about all refs that a command moved.
const QUESTIONS_MILLIS: i64 = 20_000;
const AN_HOUR: Duration = Duration::from_secs(3_600);
/// A command that ran to its end, whichever that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub ended: CommandEnd,
    /// What it said.
    pub stdout: CapturedOutput,
    /// What it complained of.
    pub stderr: CapturedOutput,
    /// The hosts that it asked for, and what came of each.
    pub hosts: Vec<HostTraffic>,
    /// How many files of the workspace it could not read, because its caller may not.
    pub masked: u64,
    /// What will not be there for the next command.
    pub not_kept: Vec<NotKept>,
}

impl Workspace {
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
        let limits = CommandLimits { wall: command.wall, ..boxed.limits };
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
                    let order = CommandSpec { layer, lasting: None, ..order.clone() };
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

    /// Whether the home of a command that is over is full, noted for the next one.
    fn is_home_full(&self, site: &Site, ended: &CommandEnd) -> Result<bool> {
        let (Some(home), Some(lasting)) = (&site.home, &site.lasting) else { return Ok(false) };
        let is_full = match ended.stopped == Some(StopReason::HomeFull) {
            true => true,
            false if home.was_full() => home.size()? > lasting.most_bytes,
            false => return Ok(false),
        };
        home.note_full(is_full)?;
        Ok(is_full)
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
        folder.keep(ENDED, ended_text(&ended).as_bytes())?;
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
    pub(crate) fn keeping(&self) -> RetentionLimits {
        self.boxed.as_ref().map_or_else(RetentionLimits::default, |boxed| boxed.keeping)
    }

    /// A run that is over and whose changes are kept.
    pub fn ran(&self, run: RunId) -> Result<Ran> {
        let folder = self.runs.find(run)?.ok_or_else(|| interrupted(run))?;
        let ended = folder.kept(ENDED)?.and_then(|text| ended_of(&text));
        let ended = ended.ok_or_else(|| interrupted(run))?;
        let said = |stream| CapturedOutput::kept(&folder, stream, run, &self.spills);
        let (stdout, stderr) = (said(STDOUT)?, said(STDERR)?);
        let masked = folder.kept(MASKED)?.and_then(|text| String::from_utf8(text).ok());
        let masked = masked.and_then(|text| text.parse().ok()).unwrap_or(0);
        let hosts = folder.kept(HOSTS)?.and_then(|text| String::from_utf8(text).ok());
        let hosts = hosts.unwrap_or_default().lines().filter_map(HostTraffic::from_line).collect();
        Ok(Ran { run, ended, stdout, stderr, hosts, masked, not_kept: Vec::new() })
    }

    /// Where the whole of what a run said is, stream by stream, as far as it is kept.
    pub fn kept_output(&self, run: RunId) -> Vec<WsPath> {
        [STDOUT, STDERR, LOG].iter().filter_map(|stream| self.spills.find(run, stream)).collect()
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
            let is_terminal = folder.kept(NOTE)?.is_some();
            if is_terminal && folder.kept(TOLD)?.is_some() {
                continue;
            }
            // It landed, and only its folder was left.
            let step = folder.landing_as()?.map(|step| self.store().step(step));
            if step.transpose()?.flatten().is_some() {
                self.runs.remove(run);
                continue;
            }
            let became = match folder.kept(IN_PLACE)? {
                None => "nothing of what it changed was kept",
                Some(_) => "what it had changed by then is on disk, and in no step of its own",
            };
            let (now, detail) = (call.world().now(), format!("run {run}: {became}"));
            self.record_audit(&AuditEntry::by_toolyard(now, "interrupted", detail))?;
            match is_terminal {
                true if folder.kept(ENDED)?.is_some() => {}
                true => folder.keep(ENDED, INTERRUPTED)?,
                false => self.runs.remove(run),
            }
        }
        self.forget_old_terminals()
    }
}

/// Asks git, on the layer of a command that is over, whether a ref was moved forward.
fn is_forward(sandbox: &Sandbox, over: CommandSpec<'_>, moved: &Moved, call: &Call) -> bool {
    let Some(argv) = moved.question() else { return false };
    let env = refs::SURROUNDINGS.map(|(name, value)| (name.into(), value.into())).to_vec();
    let wall = Duration::from_millis(QUESTIONS_MILLIS.unsigned_abs());
    let limits = CommandLimits { wall, ..over.limits };
    let (scripts, folder) = (Vec::new(), PathBuf::new());
    let order = CommandSpec { argv, env, scripts, folder, limits, sockets: Vec::new(), ..over };
    let ended = sandbox.run(&order, call, &mut Deaf);
    ended.is_ok_and(|ended| ended.exit == Exit::Code(0))
}

/// How a run ended, before anything of it is kept.
struct End {
    ended: CommandEnd,
    masked: u64,
    not_kept: Vec<NotKept>,
}

/// Hears nothing.
pub(crate) struct Deaf;

impl CommandListener for Deaf {
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

impl CommandListener for Ear<'_> {
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
