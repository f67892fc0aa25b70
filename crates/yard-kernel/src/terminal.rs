//! Terminals: a program in the box on a pseudo terminal, in place, for as long as somebody wants it. Two
//! threads go with each: one sees the box through to its end, the other takes what the program says.
//!
//! What a terminal changes is changed: recording it is up to whoever opened it. Nothing here knows who that
//! is. A terminal that a crash cut off is told from one that ended by what its folder lacks.

mod ports;
mod screen;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use yard_core::{Call, ChatId, Fault, FaultCode, Result, RunId, Timestamp, WsPath};
use yard_disk::{Caches, CapturedOutput, Excerpt, OutputFile, OutputWriter, RunFolder};
use yard_net::{HostTraffic, Proxy};
use yard_sandbox::{
    CommandEnd, CommandLimits, Deadline, ForegroundState, LONGEST_LINE, Level, Pty, Sandbox, Size,
};

use crate::boxed::Boxed;
use crate::masks::Masks;
use crate::output;
use crate::run_files::{ENDED, LOG, NOTE, TOLD, ended_of, ended_text};
use crate::site::{Command, Ground, Site, no_box, not_held};
use crate::workspace::Workspace;

use ports::{BoxPorts, Connecting};
use screen::Drawing;
pub use screen::Screen;

/// A program that says nothing for so long is taken to wait, where it cannot be seen.
const QUIET: Duration = Duration::from_millis(400);
/// A program that waits for input only for moments, again and again, is taken to wait for it after so long. An
/// editor waits like that for the rest of a key's sequence after an escape, and before it ends.
const BRIEFLY: Duration = Duration::from_millis(1_500);
/// Between two looks at what a program does: at first, and at most.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(20);
/// How long a program may leave what was typed before it, without taking any.
const UNTAKEN: Duration = Duration::from_secs(2);
/// A shell that is used by hand does not end when it is asked to.
const GRACE: Duration = Duration::from_millis(500);
/// Milliseconds between two looks whether the box is gone.
const TICK: i64 = 20;
/// What ends a line that is being typed, or drops it: return, interrupt, end, kill.
const ENDS_A_LINE: [char; 5] = ['\n', '\r', '\u{3}', '\u{4}', '\u{15}'];
/// Bytes that are taken at a time.
const PIECE: usize = 64 << 10;
const BROKE_DOWN: &str = "the box of this terminal broke down";
/// Ended terminals that are remembered.
const REMEMBERED: usize = 64;

/// A program on a terminal.
pub struct Terminal {
    run: RunId,
    pty: Pty,
    log: WsPath,
    masks: Masks,
    /// The proxy through which its program reaches hosts, as far as it may.
    proxy: Arc<Proxy>,
    ports: BoxPorts,
    told: Mutex<Told>,
    changed: Condvar,
    cancel: Arc<AtomicBool>,
}

/// What it said, as far as it was taken.
struct Told {
    drawing: Drawing,
    /// What nobody has seen yet.
    fresh: Excerpt,
    log: OutputWriter,
    /// Bytes said and typed.
    moved: u64,
    /// Bytes of the line that is being typed.
    unfinished: usize,
    /// Somebody who rests is wanted.
    nudged: bool,
    end: Option<std::result::Result<CommandEnd, String>>,
}

/// Why a look at a terminal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The program ended.
    Ended,
    /// It waits for somebody to type.
    Input,
    /// It was quiet for a while; what it does cannot be seen.
    Quiet,
    /// It listens on a port on which it did not at the last look, and was quiet for a while.
    Listening,
    /// Time was up.
    Time,
}

/// What a look at a terminal showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// What was said since the last one.
    pub said: CapturedOutput,
    /// The screen, where the words alone do not show what is on it.
    pub screen: Option<Screen>,
    /// Why it ended.
    pub why: Why,
    /// How the program ended, if it has.
    pub end: Option<CommandEnd>,
    /// Whether what is typed is shown: not so for a password.
    pub echoes: bool,
    /// The ports that its programs listen on and did not at the last look.
    pub ports: Vec<u16>,
}

/// A terminal that is over, as its folder tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTerminal {
    /// Its run.
    pub run: RunId,
    /// What it is, in the words of who opened it.
    pub note: Vec<u8>,
    /// How it ended; `None` if it was interrupted.
    pub end: Option<CommandEnd>,
    /// When that became known.
    pub at: Timestamp,
    /// Whether somebody was told.
    pub told: bool,
}

/// A terminal to open.
pub struct NewTerminal<'a> {
    /// Its run.
    pub run: RunId,
    /// What runs on it, and for how long at most.
    pub command: &'a Command,
    /// Whether it may change anything.
    pub ground: Ground,
    /// The chat whose home it has.
    pub chat: ChatId,
    /// How large it is.
    pub size: Size,
    /// What it is, for who asks after it is over.
    pub note: &'a [u8],
}

impl Workspace {
    /// Opens a terminal. It runs until its program ends, its time is up or it is told to; `starts` is done
    /// before the program starts.
    pub fn open_terminal(
        &self,
        new: &NewTerminal<'_>,
        call: &Call,
        starts: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Arc<Terminal>> {
        let boxed = self.boxed.as_ref().ok_or_else(no_box)?;
        if new.ground == Ground::Nothing && boxed.sandbox().level() == Level::Unconfined {
            return Err(not_held());
        }
        output::trim(self)?;
        let folder = self.runs.begin(new.run, &self.disk)?;
        let begun = self.begin_terminal(new, folder, boxed, call, starts);
        self.spills.sweep(&boxed.keeping, call.world().now(), Some(new.run));
        begun.inspect_err(|_| {
            self.runs.remove(new.run);
            self.spills.take_back(new.run, LOG);
        })
    }

    fn begin_terminal(
        &self,
        new: &NewTerminal<'_>,
        folder: RunFolder,
        boxed: &Boxed,
        call: &Call,
        starts: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Arc<Terminal>> {
        let site = self.prepare(&folder, boxed, new.command, new.ground, Some(new.chat), call)?;
        folder.keep(NOTE, new.note)?;
        let (log, path) = self.spills.begin(new.run, LOG, boxed.keeping.stream_bytes)?;
        if let Some(reading) = call.reading() {
            self.spills.note(new.run, &reading.note())?;
        }
        let pty = Pty::open(new.size).map_err(|error| broken(&error))?;
        starts()?;
        let life = Call::new(call.shared_world());
        let proxy = Proxy::new(new.command.reach.clone(), &life);
        let (ports, connecting) = self.terminal_ports(new, boxed, &proxy);
        let terminal = Arc::new(Terminal {
            run: new.run,
            pty,
            log: path,
            masks: site.masks.clone(),
            proxy,
            ports,
            told: Mutex::new(Told::new(new.size, log)),
            changed: Condvar::new(),
            cancel: life.cancel_flag(),
        });
        let limits = CommandLimits {
            wall: new.command.wall,
            grace: GRACE,
            cpu_seconds: boxed.limits.cpu_seconds.map(|most| most.max(new.command.wall.as_secs())),
            ..boxed.limits
        };
        let (sandbox, caches) = (boxed.sandbox().clone(), Arc::clone(&self.caches));
        let in_box = InBox { sandbox, caches, site, limits, connecting, life };
        Terminal::begin(&terminal, in_box, new.command.clone(), folder)?;
        Ok(terminal)
    }

    /// A file that the caller may not read and that a terminal does not mask, because it or the rule came to
    /// be after the terminal was opened.
    pub fn unmasked(&self, terminal: &Terminal, call: &Call) -> Result<Option<WsPath>> {
        let wanted = Masks::find(self, call)?;
        Ok(terminal.masks.first_missing_of(&wanted).cloned())
    }

    /// Terminals that are over, oldest first.
    pub fn kept_terminals(&self) -> Result<Vec<KeptTerminal>> {
        let mut kept = Vec::new();
        for run in self.runs.all()? {
            let Some(folder) = self.runs.find(run)? else { continue };
            let (note, end) = (folder.kept(NOTE)?, folder.kept(ENDED)?);
            if let (Some(note), Some(end)) = (note, end) {
                let told = folder.kept(TOLD)?.is_some();
                let at = folder.written_at(ENDED)?.unwrap_or(Timestamp::from_millis(0));
                kept.push(KeptTerminal { run, note, end: ended_of(&end), at, told });
            }
        }
        Ok(kept)
    }

    /// Notes that somebody was told of a terminal's end.
    pub fn terminal_is_told(&self, run: RunId) -> Result<()> {
        match self.runs.find(run)? {
            Some(folder) => folder.keep(TOLD, b""),
            None => Ok(()),
        }
    }

    /// Forgets the oldest of those terminals that are over.
    pub fn forget_old_terminals(&self) -> Result<()> {
        let kept = self.kept_terminals()?;
        let old = kept.len().saturating_sub(REMEMBERED);
        kept.iter().take(old).for_each(|kept| self.runs.remove(kept.run));
        Ok(())
    }
}

/// The box of a terminal.
struct InBox {
    sandbox: Sandbox,
    caches: Arc<Caches>,
    site: Site,
    limits: CommandLimits,
    connecting: Connecting,
    life: Call,
}

impl Told {
    fn new(size: Size, log: OutputWriter) -> Self {
        let (drawing, fresh) = (Drawing::new(size), Excerpt::default());
        Self { drawing, fresh, log, moved: 0, unfinished: 0, nudged: false, end: None }
    }

    fn typed(&mut self, bytes: &[u8]) {
        self.moved += bytes.len() as u64;
        let ends = |byte: &u8| ENDS_A_LINE.contains(&char::from(*byte));
        self.unfinished = match bytes.iter().rposition(ends) {
            Some(at) => bytes.len() - at - 1,
            None => self.unfinished + bytes.len(),
        };
    }

    fn take(&mut self, bytes: &[u8]) {
        self.moved += bytes.len() as u64;
        self.fresh.take(bytes);
        self.log.take(bytes);
        self.drawing.take(bytes);
    }
}

impl Terminal {
    /// Its run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Where everything that it said can be read.
    pub fn log(&self) -> &WsPath {
        &self.log
    }

    /// How many files of the workspace its program cannot read, because its caller may not.
    pub fn masked(&self) -> u64 {
        self.masks.files()
    }

    /// The hosts that its program asked for so far, and what came of each.
    pub fn hosts(&self) -> Vec<HostTraffic> {
        self.proxy.traffic()
    }

    /// A number that grows with every byte that is said or typed.
    pub fn moved(&self) -> u64 {
        self.told().moved
    }

    /// How its program ended, if it has.
    pub fn end(&self) -> Option<CommandEnd> {
        self.told().end.as_ref().and_then(|end| end.as_ref().ok().copied())
    }

    /// Whether its program runs.
    pub fn runs(&self) -> bool {
        self.told().end.is_none()
    }

    /// The screen as it is now.
    pub fn screen(&self) -> Screen {
        self.told().drawing.screen()
    }

    /// Asks its program to end, and ends it if it does not.
    pub fn stop(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Waits until its program has ended, for so long.
    pub fn ends_within(&self, time: Duration) -> bool {
        let (told, _) = self
            .changed
            .wait_timeout_while(self.told(), time, |told| told.end.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        told.end.is_some()
    }

    /// Waits until its program ends or somebody nudges, for so long; whether anybody did.
    pub fn rests(&self, time: Duration) -> bool {
        let is_quiet = |told: &mut Told| told.end.is_none() && !told.nudged;
        let waited = self.changed.wait_timeout_while(self.told(), time, is_quiet);
        let (mut told, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut told.nudged)
    }

    /// Wakes whoever rests.
    pub fn nudge(&self) {
        self.told().nudged = true;
        self.changed.notify_all();
    }

    /// Gives it another size.
    pub fn resize(&self, size: Size) -> Result<()> {
        // What the program draws on the new screen is not taken before there is one.
        let mut told = self.told();
        self.pty.resize(size).map_err(|error| broken(&error))?;
        told.drawing.resize(size);
        Ok(())
    }

    /// Types, line by line.
    pub fn types(&self, text: &str, call: &Call) -> Result<()> {
        let mut typed = 0;
        for line in text.split_inclusive(ENDS_A_LINE) {
            self.check_fits(line, typed, call)?;
            self.types_line(line.as_bytes(), typed, text.len(), call)?;
            typed += line.len();
        }
        Ok(())
    }

    fn types_line(&self, line: &[u8], before: usize, of: usize, call: &Call) -> Result<()> {
        let mut rest = line;
        let mut patience = Deadline::of(UNTAKEN);
        while !rest.is_empty() {
            call.check()?;
            let count = self.pty.types(rest).map_err(|error| broken(&error))?;
            if count > 0 {
                self.told().typed(&rest[..count]);
                rest = &rest[count..];
                patience = Deadline::of(UNTAKEN);
            } else if patience.left().is_zero() || !self.runs() {
                return Err(untaken(before + line.len() - rest.len(), of));
            } else {
                self.pty.has_room_within(TICK);
            }
        }
        Ok(())
    }

    /// Whether a line fits, if the program takes whole ones: which it does is only known once it has taken
    /// what was typed before.
    fn check_fits(&self, line: &str, typed: usize, call: &Call) -> Result<()> {
        let length = self.told().unfinished + line.len();
        if length <= LONGEST_LINE {
            return Ok(());
        }
        let patience = Deadline::of(UNTAKEN);
        let waits =
            || matches!(self.pty.waiting(), ForegroundState::Input | ForegroundState::Briefly);
        while self.runs() && !waits() && !patience.left().is_zero() {
            call.check()?;
            self.ends_within(LONGEST_LOOK);
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

    /// Waits until the program ends or waits for input, for as long as `time`, and shows what happened
    /// since the last look.
    pub fn watch(&self, time: Duration, call: &Call) -> Result<Glance> {
        let patience = Deadline::of(time);
        let (mut quiet, mut silent) = (Deadline::of(QUIET), Deadline::of(QUIET));
        let (mut pause, mut seen) = (SHORTEST_LOOK, self.moved());
        let mut briefly: Option<Deadline> = None;
        loop {
            call.check()?;
            let left = patience.left();
            if silent.left().is_zero() {
                if !self.ports.untold().is_empty() {
                    return self.glance(self.told(), Why::Listening);
                }
                silent = Deadline::of(QUIET);
            }
            let told = self.told();
            if told.end.is_some() {
                return self.glance(told, Why::Ended);
            }
            let waited = self.changed.wait_timeout(told, pause.min(left));
            let (told, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if told.end.is_some() {
                continue;
            }
            if told.moved != seen {
                (seen, pause) = (told.moved, SHORTEST_LOOK);
                (quiet, silent) = (Deadline::of(QUIET), Deadline::of(QUIET));
            } else {
                // While this is held nobody takes anything, so that nothing is between the program and us.
                match self.pty.waiting() {
                    ForegroundState::Input => return self.glance(told, Why::Input),
                    ForegroundState::Unseen if quiet.left().is_zero() => {
                        return self.glance(told, Why::Quiet);
                    }
                    ForegroundState::Briefly
                        if briefly.get_or_insert(Deadline::of(BRIEFLY)).left().is_zero() =>
                    {
                        return self.glance(told, Why::Input);
                    }
                    ForegroundState::No | ForegroundState::Unseen | ForegroundState::Briefly => {
                        pause = (pause * 2).min(LONGEST_LOOK);
                    }
                }
            }
            if left.is_zero() {
                return self.glance(told, Why::Time);
            }
        }
    }

    fn glance(&self, mut told: MutexGuard<'_, Told>, why: Why) -> Result<Glance> {
        let end = match &told.end {
            Some(Err(error)) => return Err(Fault::new(FaultCode::NotRun, error.clone())),
            Some(Ok(ended)) => Some(*ended),
            None => None,
        };
        let mut fresh = std::mem::take(&mut told.fresh);
        if end.is_none() {
            let split = fresh.split_character();
            told.fresh.take(&split);
        }
        let whole = OutputFile { path: self.log.clone(), bytes: told.log.written() };
        let said = CapturedOutput { whole: Some(whole), ..fresh.said() };
        let screen = told.drawing.look();
        let ports = self.ports.tell();
        Ok(Glance { said, screen, why, end, echoes: self.pty.echoes(), ports })
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts both threads.
    fn begin(terminal: &Arc<Self>, of: InBox, command: Command, folder: RunFolder) -> Result<()> {
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let (in_box, taking) = (Arc::clone(terminal), Arc::clone(terminal));
        let no_thread = |error: std::io::Error| broken(&error);
        let running = named("terminal-box").spawn(move || {
            let mut connecting = of.connecting;
            let order = of.site.order(&command, of.limits, connecting.sockets(), Some(&in_box.pty));
            let ended = of.sandbox.run(&order, &of.life, &mut connecting);
            drop(connecting);
            drop(in_box.proxy.end());
            // What there is no room for can be fetched again.
            let _ = of.site.keep_caches(&of.caches);
            ended
        });
        let running = running.map_err(no_thread)?;
        let taker = named("terminal").spawn(move || {
            let taken = catch_unwind(AssertUnwindSafe(|| taking.take_all(running, &folder)));
            if taken.is_err() {
                taking.stop();
                taking.ends_with(Err(BROKE_DOWN.to_owned()));
            }
        });
        if let Err(error) = taker {
            terminal.stop();
            return Err(no_thread(error));
        }
        Ok(())
    }

    /// Takes what the program says, until the box is gone and everything is taken.
    fn take_all(&self, running: JoinHandle<std::io::Result<CommandEnd>>, folder: &RunFolder) {
        let mut piece = vec![0; PIECE];
        loop {
            let is_over = running.is_finished();
            if self.pty.speaks_within(TICK) {
                self.take_said(&mut piece);
            } else if is_over {
                break;
            }
        }
        let end = match running.join() {
            Ok(Ok(ended)) => Ok(ended),
            Ok(Err(error)) => Err(broken(&error).message().to_owned()),
            Err(_) => Err(BROKE_DOWN.to_owned()),
        };
        let words = end.as_ref().map_or_else(|_| "code 126 - 0".to_owned(), ended_text);
        // Without the mark it counts as interrupted, which is the safe side.
        let _ = folder.keep(ENDED, words.as_bytes());
        self.ends_with(end);
    }

    fn ends_with(&self, end: std::result::Result<CommandEnd, String>) {
        self.told().end.get_or_insert(end);
        self.changed.notify_all();
    }

    fn take_said(&self, piece: &mut [u8]) {
        let mut told = self.told();
        if let Ok(count) = self.pty.hear(piece) {
            told.take(&piece[..count]);
        }
        drop(told);
        self.changed.notify_all();
    }
}

fn broken(error: &std::io::Error) -> Fault {
    Fault::new(FaultCode::Unavailable, format!("the terminal cannot be used: {error}"))
}

fn untaken(typed: usize, of: usize) -> Fault {
    let message = format!(
        "the program took only {typed} of {of} bytes: it does not read what is typed. Look at what it does with \
         empty chars, or interrupt it with \\u0003"
    );
    Fault::new(FaultCode::Timeout, message)
}
