//! Terminals: a program in a box, on a pseudo terminal, that writes to the workspace itself and goes on after the
//! call that opened it. Each terminal has two threads: one runs the box, the other reads the program's output.
//!
//! Changes of the workspace are recorded by the caller that opened the terminal, not here. A terminal without the
//! file `ended` in its folder was interrupted by a crash.

mod ports;
mod screen;
mod service;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use yard_core::{Call, ChatId, Fault, FaultCode, Result, RunId, Timestamp, WsPath};
use yard_disk::{CapturedOutput, Excerpt, OutputFile, OutputWriter, PackageCaches, RunFolder};
use yard_net::{HostTraffic, Proxy};
use yard_sandbox::{
    CommandEnd, CommandLimits, Deadline, ForegroundState, LONGEST_LINE, Pty, Sandbox, Size,
};

use crate::commands::masks::Masks;
use crate::commands::run_environment::{Command, NewRun, RunEnvironment, WriteMode};
use crate::commands::run_files::{
    ENDED, REPORTED, TERMINAL_DESCRIPTION, TERMINAL_OUTPUT, ended_of, ended_text,
};
use crate::contents::build_output;
use crate::workspace::Workspace;
use crate::workspace::command_box::CommandBox;

use ports::{BoxPorts, Connecting};
pub use screen::Screen;
use screen::ScreenBuffer;
pub use service::TerminalService;

/// Where the kernel does not show what a program waits for, one that prints nothing for this time counts as waiting
/// for input.
const QUIET: Duration = Duration::from_millis(400);
/// A program that polls for input with short timeouts counts as waiting for it after this time. Editors poll like
/// that for the rest of an escape sequence, and before they end.
const BRIEFLY: Duration = Duration::from_millis(1_500);
/// The pause between two checks of what a program does: the first one, and the longest.
const MIN_LOOK: Duration = Duration::from_millis(1);
const MAX_LOOK: Duration = Duration::from_millis(20);
/// How long typing waits for the program to read input.
const INPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between SIGTERM and SIGKILL. It is short because interactive shells ignore SIGTERM.
const GRACE: Duration = Duration::from_millis(500);
/// Milliseconds between two checks whether the box has ended.
const TICK: i64 = 20;
/// Characters that end or drop the line that is being typed: return, interrupt, end of file, kill.
const LINE_ENDS: [char; 5] = ['\n', '\r', '\u{3}', '\u{4}', '\u{15}'];
/// Bytes of output that are read at a time.
const READ_BYTES: usize = 64 << 10;
const BROKE_DOWN: &str = "the box of this terminal broke down";
/// Finished terminals whose folders are retained.
const MAX_REMEMBERED: usize = 64;

/// A program on a terminal.
pub struct Terminal {
    run: RunId,
    pty: Pty,
    log: WsPath,
    masks: Masks,
    /// The proxy through which its program reaches allowed hosts.
    proxy: Arc<Proxy>,
    ports: BoxPorts,
    state: Mutex<State>,
    changed: Condvar,
    cancel: Arc<AtomicBool>,
}

/// The output that was read so far, and how the program ended.
struct State {
    screen: ScreenBuffer,
    /// Output since the last update.
    unread: Excerpt,
    log: OutputWriter,
    /// Bytes printed and typed.
    activity: u64,
    /// Bytes of the line that is being typed.
    line_bytes: usize,
    /// [`Terminal::wake`] was called since the last [`Terminal::wait_for_wake`].
    is_woken: bool,
    end: Option<std::result::Result<CommandEnd, String>>,
}

/// Why [`Terminal::wait_for_update`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateReason {
    /// The program ended.
    Ended,
    /// The program waits for input.
    Input,
    /// The program printed nothing for a while, and the kernel does not show what it waits for.
    Quiet,
    /// The program listens on a port that no update has reported, and printed nothing for a while.
    Listening,
    /// The time was over.
    Time,
}

/// The state of a terminal, with its output since the last update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalUpdate {
    /// The output since the last update.
    pub output: CapturedOutput,
    /// The screen, if the program moved the cursor: the output alone does not show then what is on it.
    pub screen: Option<Screen>,
    /// Why this update was returned now.
    pub reason: UpdateReason,
    /// How the program ended, if it has.
    pub end: Option<CommandEnd>,
    /// Whether the terminal echoes input. Programs that read a password switch that off.
    pub echoes: bool,
    /// Ports that its programs listen on and that no update has reported.
    pub ports: Vec<u16>,
}

/// A terminal whose program has ended, as recorded in its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedTerminal {
    /// Its run.
    pub run: RunId,
    /// The description that its opener stored with it.
    pub note: Vec<u8>,
    /// How it ended; `None` if it was interrupted.
    pub end: Option<CommandEnd>,
    /// When its end was recorded.
    pub at: Timestamp,
    /// Whether its end was reported to a client.
    pub is_reported: bool,
}

/// A terminal to open.
pub struct NewTerminal<'a> {
    /// Its run.
    pub run: RunId,
    /// What runs on it, and for how long at most.
    pub command: &'a Command,
    /// Whether it may change the workspace.
    pub write_mode: WriteMode,
    /// The chat whose home it has.
    pub chat: ChatId,
    /// The size of its screen.
    pub size: Size,
    /// The description that is stored with it.
    pub note: &'a [u8],
}

impl Workspace {
    /// Opens a terminal. It runs until its program ends, its time is over or [`Terminal::stop`] is called. `on_start`
    /// is called before the program starts; if it fails, the program does not start.
    pub fn open_terminal(
        &self,
        new: &NewTerminal<'_>,
        call: &Call,
        on_start: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Arc<Terminal>> {
        let boxed = self.box_for(new.write_mode)?;
        build_output::trim(self)?;
        let folder = self.commands.runs.begin(new.run, &self.disk)?;
        let opened = self.open_terminal_in(new, folder, boxed, call, on_start);
        self.commands.outputs.sweep(&boxed.keeping, call.world().now(), Some(new.run));
        opened.inspect_err(|_| {
            self.commands.runs.remove(new.run);
            self.commands.outputs.take_back(new.run, TERMINAL_OUTPUT);
        })
    }

    fn open_terminal_in(
        &self,
        new: &NewTerminal<'_>,
        folder: RunFolder,
        boxed: &CommandBox,
        call: &Call,
        on_start: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Arc<Terminal>> {
        let NewTerminal { run: id, command, write_mode, chat, .. } = *new;
        let run = NewRun { id, command, write_mode, chat: Some(chat) };
        let environment = self.prepare(&folder, boxed, &run, call)?;
        folder.write_file(TERMINAL_DESCRIPTION, new.note)?;
        let (log, path) =
            self.commands.outputs.begin(new.run, TERMINAL_OUTPUT, boxed.keeping.stream_bytes)?;
        if let Some(reading) = call.reading() {
            self.commands.outputs.note(new.run, &reading.note())?;
        }
        let pty = Pty::open(new.size).map_err(|error| broken(&error))?;
        on_start()?;
        let life = Call::new(call.shared_world());
        let proxy = Proxy::new(new.command.reach.clone(), &life);
        let (ports, connecting) = self.terminal_ports(new, boxed, &proxy);
        let terminal = Arc::new(Terminal {
            run: new.run,
            pty,
            log: path,
            masks: environment.masks.clone(),
            proxy,
            ports,
            state: Mutex::new(State::new(new.size, log)),
            changed: Condvar::new(),
            cancel: life.cancel_flag(),
        });
        let limits = CommandLimits {
            wall: new.command.wall,
            grace: GRACE,
            cpu_seconds: boxed.limits.cpu_seconds.map(|most| most.max(new.command.wall.as_secs())),
            ..boxed.limits
        };
        let (sandbox, caches) =
            (boxed.sandbox().clone(), Arc::clone(&self.commands.package_caches));
        let run = BoxRun { sandbox, caches, environment, limits, connecting, life };
        Terminal::start_threads(&terminal, run, new.command.clone(), folder)?;
        Ok(terminal)
    }

    /// A file that the caller may not read and that a terminal does not mask, because the file or the rule is newer
    /// than the terminal.
    pub fn unmasked(&self, terminal: &Terminal, call: &Call) -> Result<Option<WsPath>> {
        let wanted = Masks::find(self, call)?;
        Ok(terminal.masks.first_missing_of(&wanted).cloned())
    }

    /// Terminals whose programs have ended, oldest first.
    pub fn finished_terminals(&self) -> Result<Vec<FinishedTerminal>> {
        let mut finished = Vec::new();
        for run in self.commands.runs.all()? {
            let Some(folder) = self.commands.runs.find(run)? else { continue };
            let (note, end) = (folder.read_file(TERMINAL_DESCRIPTION)?, folder.read_file(ENDED)?);
            if let (Some(note), Some(end)) = (note, end) {
                let is_reported = folder.read_file(REPORTED)?.is_some();
                let at = folder.written_at(ENDED)?.unwrap_or(Timestamp::from_millis(0));
                finished.push(FinishedTerminal { run, note, end: ended_of(&end), at, is_reported });
            }
        }
        Ok(finished)
    }

    /// Records that the end of a terminal was reported to a client.
    pub fn mark_terminal_reported(&self, run: RunId) -> Result<()> {
        match self.commands.runs.find(run)? {
            Some(folder) => folder.write_file(REPORTED, b""),
            None => Ok(()),
        }
    }

    /// Removes the folders of the oldest finished terminals.
    pub fn forget_old_terminals(&self) -> Result<()> {
        let finished = self.finished_terminals()?;
        let old = finished.len().saturating_sub(MAX_REMEMBERED);
        finished.iter().take(old).for_each(|terminal| self.commands.runs.remove(terminal.run));
        Ok(())
    }
}

/// What the thread that runs the box of a terminal needs.
struct BoxRun {
    sandbox: Sandbox,
    caches: Arc<PackageCaches>,
    environment: RunEnvironment,
    limits: CommandLimits,
    connecting: Connecting,
    life: Call,
}

impl State {
    fn new(size: Size, log: OutputWriter) -> Self {
        let (screen, unread) = (ScreenBuffer::new(size), Excerpt::default());
        Self { screen, unread, log, activity: 0, line_bytes: 0, is_woken: false, end: None }
    }

    fn add_input(&mut self, bytes: &[u8]) {
        self.activity += bytes.len() as u64;
        let ends = |byte: &u8| LINE_ENDS.contains(&char::from(*byte));
        self.line_bytes = match bytes.iter().rposition(ends) {
            Some(at) => bytes.len() - at - 1,
            None => self.line_bytes + bytes.len(),
        };
    }

    fn add_output(&mut self, bytes: &[u8]) {
        self.activity += bytes.len() as u64;
        self.unread.take(bytes);
        self.log.take(bytes);
        self.screen.add_output(bytes);
    }
}

impl Terminal {
    /// Its run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The path at which all of its output can be read.
    pub fn log(&self) -> &WsPath {
        &self.log
    }

    /// How many files of the workspace are masked, because its caller may not read them.
    pub fn masked(&self) -> u64 {
        self.masks.files()
    }

    /// The hosts that its program tried to reach so far, with the result of each.
    pub fn hosts(&self) -> Vec<HostTraffic> {
        self.proxy.traffic()
    }

    /// How many bytes were printed and typed so far.
    pub fn activity(&self) -> u64 {
        self.state.lock().activity
    }

    /// How its program ended, if it has.
    pub fn end(&self) -> Option<CommandEnd> {
        self.state.lock().end.as_ref().and_then(|end| end.as_ref().ok().copied())
    }

    /// Whether its program runs.
    pub fn is_running(&self) -> bool {
        self.state.lock().end.is_none()
    }

    /// The screen as it is now.
    pub fn screen(&self) -> Screen {
        self.state.lock().screen.screen()
    }

    /// Sends its program SIGTERM, and later SIGKILL. Returns at once.
    pub fn stop(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Waits until its program ends or [`Terminal::wake`] is called, at most for `time`. Returns whether it was woken.
    pub fn wait_for_wake(&self, time: Duration) -> bool {
        let goes_on = |state: &mut State| state.end.is_none() && !state.is_woken;
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, goes_on, time);
        std::mem::take(&mut state.is_woken)
    }

    /// Waits until [`Terminal::activity`] is at least `bytes` or the program ended, at most for `time`.
    pub fn wait_for_activity(&self, bytes: u64, time: Duration) {
        let is_quiet = |state: &mut State| state.end.is_none() && state.activity < bytes;
        self.changed.wait_while_for(&mut self.state.lock(), is_quiet, time);
    }

    /// Wakes the thread in [`Terminal::wait_for_wake`].
    pub fn wake(&self) {
        self.state.lock().is_woken = true;
        self.changed.notify_all();
    }

    /// Changes the size of its screen.
    pub fn resize(&self, size: Size) -> Result<()> {
        // The lock keeps output for the new size from being drawn on a screen of the old one.
        let mut state = self.state.lock();
        self.pty.resize(size).map_err(|error| broken(&error))?;
        state.screen.resize(size);
        Ok(())
    }

    /// Types a text, line by line.
    pub fn type_text(&self, text: &str, call: &Call) -> Result<()> {
        let mut typed = 0;
        for line in text.split_inclusive(LINE_ENDS) {
            self.check_fits(line, typed, call)?;
            self.type_line(line.as_bytes(), typed, text.len(), call)?;
            typed += line.len();
        }
        Ok(())
    }

    fn type_line(&self, line: &[u8], before: usize, of: usize, call: &Call) -> Result<()> {
        let mut rest = line;
        let mut patience = Deadline::of(INPUT_TIMEOUT);
        while !rest.is_empty() {
            call.check()?;
            let count = self.pty.write(rest).map_err(|error| broken(&error))?;
            if count > 0 {
                self.state.lock().add_input(&rest[..count]);
                rest = &rest[count..];
                patience = Deadline::of(INPUT_TIMEOUT);
            } else if patience.left().is_zero() || !self.is_running() {
                return Err(not_read(before + line.len() - rest.len(), of));
            } else {
                self.pty.wait_for_room(TICK);
            }
        }
        Ok(())
    }

    /// A fault if a line is longer than the terminal's line buffer. Whether the program reads whole lines is only
    /// known once it has read what was typed before.
    fn check_fits(&self, line: &str, typed: usize, call: &Call) -> Result<()> {
        let length = self.state.lock().line_bytes + line.len();
        if length <= LONGEST_LINE {
            return Ok(());
        }
        let patience = Deadline::of(INPUT_TIMEOUT);
        let waits =
            || matches!(self.pty.waiting(), ForegroundState::Input | ForegroundState::Briefly);
        while self.is_running() && !waits() && !patience.left().is_zero() {
            call.check()?;
            let has_not_ended = |state: &mut State| state.end.is_none();
            self.changed.wait_while_for(&mut self.state.lock(), has_not_ended, MAX_LOOK);
        }
        if !self.pty.takes_lines() {
            return Ok(());
        }
        let message = format!(
            "a line of {length} bytes does not fit: while a program takes whole lines, a terminal holds {LONGEST_LINE} \
             bytes of one. Of this text {typed} bytes were typed. Write the line to a file, and type a command \
             that reads the file"
        );
        Err(Fault::new(FaultCode::BadArgument, message))
    }

    /// Waits until the program ends or waits for input, at most for `time`, and returns what happened since the last
    /// update.
    pub fn wait_for_update(&self, time: Duration, call: &Call) -> Result<TerminalUpdate> {
        let patience = Deadline::of(time);
        let (mut quiet, mut port_check) = (Deadline::of(QUIET), Deadline::of(QUIET));
        let (mut pause, mut last_activity) = (MIN_LOOK, self.activity());
        let mut polling: Option<Deadline> = None;
        loop {
            call.check()?;
            let left = patience.left();
            if port_check.left().is_zero() {
                if !self.ports.unreported().is_empty() {
                    return self.update(self.state.lock(), UpdateReason::Listening);
                }
                port_check = Deadline::of(QUIET);
            }
            let mut state = self.state.lock();
            if state.end.is_some() {
                return self.update(state, UpdateReason::Ended);
            }
            self.changed.wait_for(&mut state, pause.min(left));
            if state.end.is_some() {
                continue;
            }
            if state.activity != last_activity {
                (last_activity, pause) = (state.activity, MIN_LOOK);
                (quiet, port_check) = (Deadline::of(QUIET), Deadline::of(QUIET));
            } else {
                // The reading thread needs this lock: no output can arrive between this check and the update.
                match self.pty.waiting() {
                    ForegroundState::Input => return self.update(state, UpdateReason::Input),
                    ForegroundState::Unseen if quiet.left().is_zero() => {
                        return self.update(state, UpdateReason::Quiet);
                    }
                    ForegroundState::Briefly
                        if polling.get_or_insert(Deadline::of(BRIEFLY)).left().is_zero() =>
                    {
                        return self.update(state, UpdateReason::Input);
                    }
                    ForegroundState::No | ForegroundState::Unseen | ForegroundState::Briefly => {
                        pause = (pause * 2).min(MAX_LOOK);
                    }
                }
            }
            if left.is_zero() {
                return self.update(state, UpdateReason::Time);
            }
        }
    }

    fn update(
        &self,
        mut state: MutexGuard<'_, State>,
        reason: UpdateReason,
    ) -> Result<TerminalUpdate> {
        let end = match &state.end {
            Some(Err(error)) => return Err(Fault::new(FaultCode::NotRun, error.clone())),
            Some(Ok(ended)) => Some(*ended),
            None => None,
        };
        let mut unread = std::mem::take(&mut state.unread);
        if end.is_none() {
            let split = unread.split_character();
            state.unread.take(&split);
        }
        let whole = OutputFile { path: self.log.clone(), bytes: state.log.written() };
        let output = CapturedOutput { whole: Some(whole), ..unread.into_output() };
        let screen = state.screen.take_if_drawn();
        let ports = self.ports.report();
        Ok(TerminalUpdate { output, screen, reason, end, echoes: self.pty.echoes(), ports })
    }

    fn start_threads(
        terminal: &Arc<Self>,
        run: BoxRun,
        command: Command,
        folder: RunFolder,
    ) -> Result<()> {
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let (in_box, reading) = (Arc::clone(terminal), Arc::clone(terminal));
        let box_thread = named("terminal-box").spawn(move || {
            let mut connecting = run.connecting;
            let sockets = connecting.sockets();
            let order = run.environment.order(&command, run.limits, sockets, Some(&in_box.pty));
            let ended = run.sandbox.run(&order, &run.life, &mut connecting);
            drop(connecting);
            drop(in_box.proxy.end());
            // Packages that do not fit into the caches can be downloaded again.
            let _ = run.environment.store_caches(&run.caches);
            ended
        });
        let box_thread = box_thread.map_err(|error| broken(&error))?;
        let reader = named("terminal").spawn(move || {
            let read = AssertUnwindSafe(|| reading.read_until_end(box_thread, &folder));
            if catch_unwind(read).is_err() {
                reading.stop();
                reading.set_end(Err(BROKE_DOWN.to_owned()));
            }
        });
        reader.map(drop).map_err(|error| {
            terminal.stop();
            broken(&error)
        })
    }

    /// Reads output until the box has ended and nothing is left to read, then records how it ended.
    fn read_until_end(
        &self,
        box_thread: JoinHandle<std::io::Result<CommandEnd>>,
        folder: &RunFolder,
    ) {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let has_ended = box_thread.is_finished();
            if self.pty.wait_for_output(TICK) {
                self.read_output(&mut buffer);
            } else if has_ended {
                break;
            }
        }
        let end = match box_thread.join() {
            Ok(Ok(ended)) => Ok(ended),
            Ok(Err(error)) => Err(broken(&error).message().to_owned()),
            Err(_) => Err(BROKE_DOWN.to_owned()),
        };
        let text = end.as_ref().map_or_else(|_| "code 126 - 0".to_owned(), ended_text);
        // If this file cannot be written, the terminal counts as interrupted, which is the safe side.
        let _ = folder.write_file(ENDED, text.as_bytes());
        self.set_end(end);
    }

    fn set_end(&self, end: std::result::Result<CommandEnd, String>) {
        self.state.lock().end.get_or_insert(end);
        self.changed.notify_all();
    }

    fn read_output(&self, buffer: &mut [u8]) {
        let mut state = self.state.lock();
        if let Ok(count) = self.pty.read(buffer) {
            state.add_output(&buffer[..count]);
        }
        drop(state);
        self.changed.notify_all();
    }
}

fn broken(error: &std::io::Error) -> Fault {
    Fault::new(FaultCode::Unavailable, format!("the terminal cannot be used: {error}"))
}

fn not_read(typed: usize, of: usize) -> Fault {
    let message = format!(
        "the program took only {typed} of {of} bytes: it does not read what is typed. Look at what it does with \
         empty chars, or interrupt it with \\u0003"
    );
    Fault::new(FaultCode::Timeout, message)
}
