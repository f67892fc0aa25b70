//! Runs commands in the box, each on a layer of its own over the workspace. A run does not change the workspace: its layer
//! lands afterwards (`op/land.rs`), is retained until a person has decided, or is dropped.
//!
//! Where overlays are not available, a command runs in place: it writes to the workspace itself, and its changes are
//! recorded when it has ended (`op/import.rs`).
//!
//! Every run has a folder (`yard-disk`). A folder that a crash leaves without the file `waiting` belongs to an interrupted
//! run: the next opening removes it, and adds a row to the audit chain.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use yard_core::{Call, Fault, FaultCode, Remedy, Result, RunId, WsPath};
use yard_disk::{Capture, CapturedOutput, RetentionLimits, RunFolder};
use yard_net::{HostTraffic, Proxy};
use yard_sandbox::{
    CommandEnd, CommandLimits, CommandListener, CommandSpec, Exit, Layer, Level, Sandbox,
    StopReason,
};
use yard_store::AuditEntry;

use crate::commands::box_sockets::BoxSockets;
use crate::commands::git::moved_refs::{self, MovedRef, record_rewound_refs};
use crate::commands::ports;
use crate::commands::run_environment::{
    Command, NewRun, RunEnvironment, StorageWarning, WriteMode, no_box,
};
use crate::commands::run_files::{
    ENDED, HOSTS, IN_PLACE, INTERRUPTED, MASKED, REPORTED, STDERR, STDOUT, TERMINAL_DESCRIPTION,
    TERMINAL_OUTPUT, WAITING, ended_of, ended_text,
};
use crate::contents::build_output;
use crate::workspace::Workspace;
use crate::workspace::command_box::TerminalLimits;

/// How long git may take to check all refs that a command moved.
const GIT_MILLIS: i64 = 20_000;
const AN_HOUR: Duration = Duration::from_secs(3_600);

/// A command that has ended, in whatever way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedRun {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub ended: CommandEnd,
    /// Its standard output.
    pub stdout: CapturedOutput,
    /// Its standard error.
    pub stderr: CapturedOutput,
    /// The hosts that it tried to reach, with the result of each.
    pub hosts: Vec<HostTraffic>,
    /// How many files of the workspace were masked, because its caller may not read them.
    pub masked: u64,
    /// Why something that it stored will not be there for the next command.
    pub storage_warnings: Vec<StorageWarning>,
}

impl Workspace {
    /// Runs a command to its end. `on_start` is called while the box is being made, and the command starts only if that
    /// succeeds. It writes what must be durable before the command starts.
    pub fn run(
        &self,
        new: &NewRun<'_>,
        call: &Call,
        on_start: &mut dyn FnMut() -> Result<()>,
    ) -> Result<FinishedRun> {
        let boxed = self.box_for(new.write_mode)?;
        build_output::trim(self)?;
        let folder = self.commands.runs.begin(new.id, &self.disk)?;
        let sockets = (boxed.sandbox().level() == Level::Full).then(|| {
            let ports = |chat| ports::of_chat(&self.commands.port_sockets, chat).ports;
            let proxy = Proxy::new(new.command.reach.clone(), call);
            BoxSockets::new(proxy, new.chat.map(ports).unwrap_or_default())
        });
        let mut io = RunIo::new(&folder, boxed.keeping.stream_bytes, sockets, on_start);
        let environment = self.prepare(&folder, boxed, new, call);
        let ended = environment
            .and_then(|environment| self.run_in(&environment, &folder, new.command, call, &mut io));
        let ran = match ended {
            Ok(end) => self
                .finish(new.id, &folder, io, end)
                .and_then(|ran| self.record_reading(&ran, call).map(|()| ran)),
            Err(fault) => {
                io.sockets.iter().for_each(|sockets| drop(sockets.end()));
                Err(io.refused.unwrap_or(fault))
            }
        };
        self.commands.outputs.sweep(&boxed.keeping, call.world().now(), Some(new.id));
        ran.inspect_err(|_| self.commands.runs.remove(new.id))
    }

    fn run_in(
        &self,
        environment: &RunEnvironment,
        folder: &RunFolder,
        command: &Command,
        call: &Call,
        io: &mut RunIo<'_>,
    ) -> Result<RunEnd> {
        let boxed = self.commands.boxed.as_ref().ok_or_else(no_box)?;
        let limits = CommandLimits { wall: command.wall, ..boxed.limits };
        let sockets = io.sockets.as_ref().map(BoxSockets::wanted).unwrap_or_default();
        let order = environment.order(command, limits, sockets, None);
        let sandbox = boxed.sandbox();
        let ended = sandbox.run(&order, call, io).map_err(|error| {
            let kind = sandbox.unfit_file_system(&error, &environment.root);
            not_run(command, &error, kind)
        })?;
        if environment.write_mode == WriteMode::Overlay {
            // The call may be out of time by now, but the moved refs have to be checked all the same.
            let after = Call::new(call.shared_world());
            let git_call = after.clone().within_millis(GIT_MILLIS);
            let check = |moved: &MovedRef| {
                // Each overlay needs a work folder of its own.
                let work = git_call.check().and_then(|()| folder.another_work());
                work.is_ok_and(|work| {
                    let layer = Layer::Overlay { upper: &environment.upper, work: &work };
                    let order = CommandSpec { layer, lasting: None, ..order.clone() };
                    is_fast_forward(sandbox, order, moved, &git_call)
                })
            };
            record_rewound_refs(self, folder, &after, check)?;
        }
        let mut storage_warnings: Vec<StorageWarning> =
            environment.store_caches(&self.commands.package_caches).into_iter().collect();
        if self.is_home_full(environment, &ended)? {
            storage_warnings.push(StorageWarning::HomeFull);
        }
        Ok(RunEnd { ended, masked: environment.masks.files(), storage_warnings })
    }

    /// Checks after a command whether its home is full, and notes that for the next one.
    fn is_home_full(&self, environment: &RunEnvironment, ended: &CommandEnd) -> Result<bool> {
        let (Some(home), Some(lasting)) = (&environment.home, &environment.lasting) else {
            return Ok(false);
        };
        let was_stopped = ended.stopped == Some(StopReason::HomeFull);
        if !was_stopped && !home.was_full() {
            return Ok(false);
        }
        self.commands.homes.prune(home)?;
        let is_full = was_stopped || home.size()? > lasting.most_bytes;
        home.note_full(is_full)?;
        Ok(is_full)
    }

    /// Records what the caller of a command could read, if its complete output is stored.
    fn record_reading(&self, ran: &FinishedRun, call: &Call) -> Result<()> {
        let is_kept = ran.stdout.whole.is_some() || ran.stderr.whole.is_some();
        match call.reading() {
            Some(reading) if is_kept => self.commands.outputs.note(ran.run, &reading.note()),
            _ => Ok(()),
        }
    }

    /// Stores how a command ended, and its output.
    fn finish(
        &self,
        run: RunId,
        folder: &RunFolder,
        io: RunIo<'_>,
        end: RunEnd,
    ) -> Result<FinishedRun> {
        let RunEnd { ended, masked, storage_warnings } = end;
        let RunIo { out, err, sockets, .. } = io;
        let hosts = sockets.map(|sockets| sockets.end()).unwrap_or_default();
        if !hosts.is_empty() {
            let lines: String = hosts.iter().map(HostTraffic::to_line).collect();
            folder.write_file(HOSTS, lines.as_bytes())?;
        }
        let (stdout, stderr) =
            (out.finish(run, &self.commands.outputs), err.finish(run, &self.commands.outputs));
        stdout.keep(folder, STDOUT)?;
        stderr.keep(folder, STDERR)?;
        if masked > 0 {
            folder.write_file(MASKED, masked.to_string().as_bytes())?;
        }
        folder.write_file(ENDED, ended_text(&ended).as_bytes())?;
        Ok(FinishedRun { run, ended, stdout, stderr, hosts, masked, storage_warnings })
    }

    /// The limits of terminals here.
    pub fn terminal_limits(&self) -> TerminalLimits {
        self.commands.boxed.as_ref().map_or_else(TerminalLimits::default, |boxed| boxed.terminals)
    }

    /// How many bytes a command may write here.
    pub(crate) fn most_written(&self) -> u64 {
        self.commands.boxed.as_ref().map_or(u64::MAX, |boxed| boxed.limits.written_bytes)
    }

    /// How much command output and build output is stored here.
    pub(crate) fn keeping(&self) -> RetentionLimits {
        self.commands.boxed.as_ref().map_or_else(RetentionLimits::default, |boxed| boxed.keeping)
    }

    /// A finished run whose changes wait for a decision.
    pub fn finished_run(&self, run: RunId) -> Result<FinishedRun> {
        let folder = self.commands.runs.find(run)?.ok_or_else(|| interrupted(run))?;
        let ended = folder.read_file(ENDED)?.and_then(|text| ended_of(&text));
        let ended = ended.ok_or_else(|| interrupted(run))?;
        let output = |stream| CapturedOutput::kept(&folder, stream, run, &self.commands.outputs);
        let (stdout, stderr) = (output(STDOUT)?, output(STDERR)?);
        let masked = folder.read_file(MASKED)?.and_then(|text| String::from_utf8(text).ok());
        let masked = masked.and_then(|text| text.parse().ok()).unwrap_or(0);
        let hosts = folder.read_file(HOSTS)?.and_then(|text| String::from_utf8(text).ok());
        let hosts = hosts.unwrap_or_default().lines().filter_map(HostTraffic::from_line).collect();
        Ok(FinishedRun { run, ended, stdout, stderr, hosts, masked, storage_warnings: Vec::new() })
    }

    /// The paths of the stored output of a run, one for each stream.
    pub fn kept_output(&self, run: RunId) -> Vec<WsPath> {
        [STDOUT, STDERR, TERMINAL_OUTPUT]
            .iter()
            .filter_map(|stream| self.commands.outputs.find(run, stream))
            .collect()
    }

    /// Retains a run, with what it changed, until a person has decided about it.
    pub fn keep_run(&self, run: RunId) -> Result<()> {
        let folder = self.commands.runs.find(run)?.ok_or_else(|| interrupted(run))?;
        if folder.read_file(WAITING)?.is_none() {
            folder.write_file(WAITING, b"")?;
        }
        folder.flush()
    }

    /// Drops a run, with what it changed.
    pub fn drop_run(&self, run: RunId) {
        self.commands.runs.remove(run);
    }

    /// Drops every run that waits for a decision, with what it changed.
    pub(crate) fn drop_waiting_runs(&self) -> Result<()> {
        for run in self.commands.runs.all()? {
            let folder = self.commands.runs.find(run)?;
            if folder.map(|folder| folder.read_file(WAITING)).transpose()?.flatten().is_some() {
                self.commands.runs.remove(run);
            }
        }
        self.commands.runs.settle();
        Ok(())
    }

    /// The runs that began to wait for a decision more than an hour ago. The approvals of younger ones may not be stored
    /// yet.
    pub fn waiting_runs(&self) -> Vec<RunId> {
        let runs = self.commands.runs.all().unwrap_or_default().into_iter();
        let is_waiting = |run: &RunId| {
            let folder = self.commands.runs.find(*run).ok().flatten();
            folder
                .is_some_and(|folder| matches!(folder.age(WAITING), Ok(Some(age)) if age > AN_HOUR))
        };
        runs.filter(is_waiting).collect()
    }

    /// Removes the folders of commands that a crash interrupted. No other process may have the workspace open.
    pub(crate) fn sweep_runs(&self, call: &Call) -> Result<()> {
        for run in self.commands.runs.all()? {
            let Some(folder) = self.commands.runs.find(run)? else { continue };
            if folder.read_file(WAITING)?.is_some() {
                continue;
            }
            let is_terminal = folder.read_file(TERMINAL_DESCRIPTION)?.is_some();
            if is_terminal && folder.read_file(REPORTED)?.is_some() {
                continue;
            }
            // The run landed, and only its folder is left.
            let step = folder.landing_as()?.map(|step| self.store().step(step));
            if step.transpose()?.flatten().is_some() {
                self.commands.runs.remove(run);
                continue;
            }
            let outcome = match folder.read_file(IN_PLACE)? {
                None => "nothing of what it changed was kept",
                Some(_) => "what it had changed by then is on disk, and in no step of its own",
            };
            let (now, detail) = (call.world().now(), format!("run {run}: {outcome}"));
            self.record_audit(&AuditEntry::by_toolyard(now, "interrupted", detail))?;
            match is_terminal {
                true if folder.read_file(ENDED)?.is_some() => {}
                true => folder.write_file(ENDED, INTERRUPTED)?,
                false => self.commands.runs.remove(run),
            }
        }
        self.forget_old_terminals()
    }
}

/// Runs git on the layer of a finished command to find out whether a ref was moved forward.
fn is_fast_forward(
    sandbox: &Sandbox,
    finished: CommandSpec<'_>,
    moved: &MovedRef,
    call: &Call,
) -> bool {
    let Some(argv) = moved.ancestor_check() else { return false };
    let env = moved_refs::GIT_VARIABLES.map(|(name, value)| (name.into(), value.into())).to_vec();
    let wall = Duration::from_millis(GIT_MILLIS.unsigned_abs());
    let limits = CommandLimits { wall, ..finished.limits };
    let (scripts, folder) = (Vec::new(), PathBuf::new());
    let order = CommandSpec { argv, env, scripts, folder, limits, sockets: Vec::new(), ..finished };
    let ended = sandbox.run(&order, call, &mut IgnoredOutput);
    ended.is_ok_and(|ended| ended.exit == Exit::Code(0))
}

/// How a run ended.
struct RunEnd {
    ended: CommandEnd,
    masked: u64,
    storage_warnings: Vec<StorageWarning>,
}

/// Ignores the output of a command.
struct IgnoredOutput;

impl CommandListener for IgnoredOutput {}

/// Captures the output of a command, and serves the sockets of its box.
struct RunIo<'a> {
    out: Capture<'a>,
    err: Capture<'a>,
    on_start: &'a mut dyn FnMut() -> Result<()>,
    /// The sockets of its box that this process serves, if the box has a network of its own.
    sockets: Option<BoxSockets>,
    /// The fault of `on_start`.
    refused: Option<Fault>,
}

impl<'a> RunIo<'a> {
    fn new(
        folder: &'a RunFolder,
        room: u64,
        sockets: Option<BoxSockets>,
        on_start: &'a mut dyn FnMut() -> Result<()>,
    ) -> Self {
        let stream = |name| Capture::new(folder, name, room);
        let (out, err) = (stream(STDOUT), stream(STDERR));
        Self { out, err, on_start, sockets, refused: None }
    }
}

impl CommandListener for RunIo<'_> {
    fn starts(&mut self) -> io::Result<()> {
        (self.on_start)().map_err(|fault| {
            let error = io::Error::other(fault.message().to_owned());
            self.refused = Some(fault);
            error
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
             on here"
        );
        return Fault::new(FaultCode::Unavailable, message).with_remedy(Remedy::DiagnoseBox);
    }
    if let (io::ErrorKind::NotFound, Some(program)) = (error.kind(), command.argv.first()) {
        let program = program.display();
        let message = format!(
            "there is no program `{program}` where commands run: install it on this machine, or, if it is \
             installed in a folder that commands do not see"
        );
        return Fault::new(FaultCode::NotRun, message).with_remedy(Remedy::ShowFolder);
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
