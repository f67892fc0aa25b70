//! Commands: run in the box, each on a layer of its own over the workspace. A run changes nothing; what is
//! in its layer afterwards lands by `op/land.rs`, is kept until a person has decided, or is dropped.
//!
//! A run is a folder (`disk/layer.rs`). One that a crash leaves without a mark that somebody waits for it
//! was interrupted: the next opening removes it, and the audit chain says so.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use yard_core::path::RESERVED_NAME;
use yard_core::{Call, Fault, FaultCode, Result, RunId, WsPath};
use yard_store::AuditEntry;

use crate::disk::{Capture, RunFolder, Said};
use crate::sandbox::{self, Ended, Exit, Hear, Layer, Level, Order, Sandbox, Stopped};
use crate::workspace::{Workspace, store_fault};

/// What it said is kept under these names.
const STDOUT: &str = "stdout";
const STDERR: &str = "stderr";
const AN_HOUR: Duration = Duration::from_secs(3_600);
/// Says how a run ended.
const ENDED: &str = "ended";
/// Says that a person is asked about a run.
const WAITING: &str = "waiting";

/// The box of a workspace. A copy is the same one.
#[derive(Clone)]
pub struct Boxed {
    sandbox: Arc<LazyLock<Sandbox, Probing>>,
    /// Where the box shows the workspace; its real path if that is not said.
    pub shown_at: Option<PathBuf>,
    /// What a command may use.
    pub limits: sandbox::Limits,
}

type Probing = Box<dyn FnOnce() -> Sandbox + Send>;

impl Boxed {
    /// A box that is tried out when it is first needed.
    pub fn new(probe: impl FnOnce() -> Sandbox + Send + 'static) -> Self {
        let probe: Probing = Box::new(probe);
        let sandbox = Arc::new(LazyLock::new(probe));
        Self { sandbox, shown_at: None, limits: sandbox::Limits::default() }
    }

    /// Where commands run.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }
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
}

impl Workspace {
    /// How much holds a command here; `None` where there is no box at all.
    pub fn box_level(&self) -> Option<Level> {
        self.boxed.as_ref().map(|boxed| boxed.sandbox().level())
    }

    /// A fault where no command can run.
    pub fn check_box(&self) -> Result<()> {
        match self.box_level() {
            Some(Level::Full) => Ok(()),
            _ => Err(no_box()),
        }
    }

    /// Runs a command to its end, on a layer of its own. `starts` is done while the box is being made, and
    /// the command starts after it: what must be durable by then is nothing that it waits for twice.
    pub fn run(
        &self,
        run: RunId,
        command: &Command,
        call: &Call,
        starts: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Ran> {
        self.check_box()?;
        let boxed = self.boxed.as_ref().ok_or_else(no_box)?;
        let folder = self.runs.begin(run, &self.disk)?;
        let mut ear =
            Ear { out: Capture::default(), err: Capture::default(), starts, refused: None };
        let ran = self.run_in(run, &folder, boxed, command, call, &mut ear);
        let ran = ran.map_err(|fault| ear.refused.take().unwrap_or(fault));
        ran.inspect_err(|_| self.runs.remove(run))
    }

    fn run_in(
        &self,
        run: RunId,
        folder: &RunFolder,
        boxed: &Boxed,
        command: &Command,
        call: &Call,
        ear: &mut Ear<'_>,
    ) -> Result<Ran> {
        folder.begins_after(self.store().head().map_err(store_fault)?)?;
        let root = Path::new(std::ffi::OsStr::from_bytes(self.host_root()));
        let (upper, work) = (folder.upper(), folder.work());
        let order = Order {
            argv: command.argv.clone(),
            env: command.env.clone(),
            stdin: Vec::new(),
            scripts: command.scripts.clone(),
            workspace: root,
            shown_at: boxed.shown_at.as_deref().unwrap_or(root),
            folder: PathBuf::from(OsString::from_vec(command.folder.relative().to_vec())),
            layer: Layer::Overlay { upper: &upper, work: &work },
            hidden: self.hidden(root),
            limits: sandbox::Limits { wall: command.wall, ..boxed.limits },
        };
        let ended = boxed.sandbox().run(&order, call, ear).map_err(|error| not_run(&error))?;
        let finished = |capture: &mut Capture| std::mem::take(capture).finish();
        let (stdout, stderr) = (finished(&mut ear.out), finished(&mut ear.err));
        stdout.keep(folder, STDOUT)?;
        stderr.keep(folder, STDERR)?;
        folder.keep(ENDED, told(&ended).as_bytes())?;
        Ok(Ran { run, ended, stdout, stderr })
    }

    /// What of the root no command sees.
    fn hidden(&self, root: &Path) -> Vec<PathBuf> {
        let ours = WsPath::root().join_bytes(RESERVED_NAME.as_bytes());
        let is_there = ours.is_ok_and(|path| matches!(self.disk.stat(&path), Ok(Some(_))));
        if is_there { vec![root.join(RESERVED_NAME)] } else { Vec::new() }
    }

    /// A run that is over and whose changes are kept.
    pub fn ran(&self, run: RunId) -> Result<Ran> {
        let folder = self.runs.find(run)?.ok_or_else(|| interrupted(run))?;
        let ended = folder.kept(ENDED)?.and_then(|text| ended_of(&text));
        let ended = ended.ok_or_else(|| interrupted(run))?;
        let (stdout, stderr) = (Said::kept(&folder, STDOUT)?, Said::kept(&folder, STDERR)?);
        Ok(Ran { run, ended, stdout, stderr })
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
            let entry = AuditEntry {
                at: call.world().now(),
                actor: "toolyard".to_owned(),
                action: "interrupted".to_owned(),
                detail: format!("run {run}: nothing of what it changed was kept"),
            };
            self.record_audit(&entry)?;
            self.runs.remove(run);
        }
        Ok(())
    }
}

/// Hears a command.
struct Ear<'a> {
    out: Capture,
    err: Capture,
    starts: &'a mut dyn FnMut() -> Result<()>,
    /// Why the command did not start.
    refused: Option<Fault>,
}

impl Hear for Ear<'_> {
    fn starts(&mut self) -> io::Result<()> {
        (self.starts)().map_err(|fault| {
            let words = io::Error::other(fault.message().to_owned());
            self.refused = Some(fault);
            words
        })
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
fn told(ended: &Ended) -> String {
    let mut text = match ended.exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    };
    let why = ended.stopped.map_or("-", Stopped::word);
    let _ = write!(text, " {why} {}", ended.took.as_millis());
    text
}

fn ended_of(text: &[u8]) -> Option<Ended> {
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

fn no_box() -> Fault {
    let message = "commands cannot be run here, because nothing would hold them: `toolyard doctor` \
                   says what is missing and how to get it";
    Fault::new(FaultCode::Unavailable, message)
}

fn not_run(error: &io::Error) -> Fault {
    Fault::new(FaultCode::Unavailable, format!("the command could not be run: {error}"))
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
