//! A command that runs: its words are handed on as they come, its limits are watched, and it is ended
//! when one is reached, when the call is cancelled or when the listener has enough.

#![allow(clippy::disallowed_methods, reason = "the sandbox times the processes that it starts")]

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use yard_core::Call;

use super::group::Group;
use super::network::{Answers, BoxNetwork};
use super::process::{Helper, Reaped};
use super::report::{Report, Reports, Trouble};
use super::task::{KILL, START, TERMINATE};
use super::usage;
use super::{Ended, Exit, Hear, Layer, Limits, Order, Stopped};

/// How often the call and the clock are looked at.
const TICK: Duration = Duration::from_millis(20);
/// How often the use of the machine is.
const LOOK: Duration = Duration::from_millis(100);
/// As much of a file system stays free for everybody else.
const KEPT_FREE: u64 = 64 << 20;
/// What one read of a pipe takes at most, and what a pipe holds.
const PIECE: usize = 256 << 10;

/// Should this be dropped early, the socket goes first: the helper then ends the command.
pub(super) struct Watched<'a> {
    socket: Arc<UnixStream>,
    helper: Reaped,
    streams: [Option<OwnedFd>; 2],
    group: Option<Group>,
    limits: Limits,
    /// What it writes to, but for its home.
    layers: Vec<PathBuf>,
    home: Option<Home>,
    /// Where what it writes takes room.
    disk: Option<PathBuf>,
    call: &'a Call,
    started: Instant,
    looked: Instant,
    measured: Instant,
    pause: Duration,
    reports: Reports,
    /// Where sockets in the box's network are waited for.
    answers: Option<Answers>,
    exit: Option<Exit>,
    failure: Option<io::Error>,
    stopped: Option<Stopped>,
    /// When words are not enough any more.
    kill_at: Option<Instant>,
    killed: bool,
}

/// A home that lasts, and how much may be in it.
struct Home {
    folder: PathBuf,
    most: u64,
    /// How much may be in it anyway: what was there at the first look, if it was full before. A command that
    /// finds it full can still make room.
    found: Option<u64>,
}

impl Home {
    fn is_overfull(&mut self) -> bool {
        let now = usage::size(&self.folder);
        let found = *self.found.get_or_insert(now);
        now > self.most && now > found
    }
}

impl<'a> Watched<'a> {
    pub(super) fn new(helper: Helper, order: &Order<'_>, call: &'a Call, started: Instant) -> Self {
        let Helper { socket, mut process, group } = helper;
        let (stdout, stderr) = (process.0.stdout.take(), process.0.stderr.take());
        let streams = [stdout.map(OwnedFd::from), stderr.map(OwnedFd::from)];
        for stream in streams.iter().flatten() {
            // A larger pipe is a matter of speed only; there is a limit for all of a user's together.
            let _ = rustix::pipe::fcntl_setpipe_size(stream, PIECE);
        }
        let lasting = order.lasting;
        let caches = lasting.iter().flat_map(|lasting| &lasting.caches);
        let mut layers: Vec<PathBuf> = caches.map(|cache| cache.upper.clone()).collect();
        let disk = match order.layer {
            Layer::Overlay { upper, .. } => {
                layers.push(upper.to_owned());
                Some(upper.to_owned())
            }
            Layer::InPlace => Some(order.workspace.to_owned()),
            Layer::ReadOnly => lasting.map(|lasting| lasting.tmp.clone()),
        };
        let home = lasting.map(|lasting| Home {
            folder: lasting.tmp.clone(),
            most: lasting.most_bytes,
            found: (!lasting.is_full).then_some(0),
        });
        Self {
            socket: Arc::new(socket),
            helper: process,
            streams,
            group,
            limits: order.limits,
            layers,
            home,
            disk,
            call,
            started,
            looked: started,
            measured: started,
            pause: LOOK,
            reports: Reports::default(),
            answers: None,
            exit: None,
            failure: None,
            stopped: None,
            kill_at: None,
            killed: false,
        }
    }

    /// Shows the box's own network to who hears the command.
    pub(super) fn with_network(mut self, heard: &mut dyn Hear) -> io::Result<Self> {
        let (network, answers) = BoxNetwork::of(self.helper.0.id(), &self.socket)?;
        self.answers = Some(answers);
        heard.has_network(network);
        Ok(self)
    }

    /// Until no process of the command is left.
    pub(super) fn see_through(mut self, heard: &mut dyn Hear) -> io::Result<Ended> {
        match heard.starts() {
            Ok(()) => self.say(START),
            Err(error) => {
                self.failure = Some(error);
                self.kill();
            }
        }
        let mut piece = vec![0; PIECE];
        while self.wait(heard, &mut piece, TICK)? {
            self.look_around();
        }
        self.helper.0.wait()?;
        // Nobody writes any more: what is in the pipes is all.
        while self.streams.iter().any(Option::is_some) {
            if !self.hear_ready(heard, &mut piece) {
                break;
            }
        }
        self.judge()
    }

    /// Waits for something to happen, for as long as a tick; whether the helper is still there.
    fn wait(&mut self, heard: &mut dyn Hear, piece: &mut [u8], tick: Duration) -> io::Result<bool> {
        let mut ready = vec![PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        let open = self.streams.iter().flatten();
        ready.extend(open.map(|stream| PollFd::new(stream, PollFlags::IN)));
        let streams = ready.len();
        let listening = heard.listening().into_iter();
        ready.extend(listening.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)));
        let timeout = Timespec { tv_sec: 0, tv_nsec: tick.subsec_nanos().into() };
        match poll(&mut ready, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => return Ok(true),
            other => other?,
        };
        let told = !ready[0].revents().is_empty();
        let spoke = ready[1..streams].iter().any(|one| !one.revents().is_empty());
        let connects = ready[streams..].iter().any(|one| !one.revents().is_empty());
        drop(ready);
        if connects {
            heard.accept();
        }
        if spoke {
            self.hear_ready(heard, piece);
        }
        Ok(!told || self.take_reports(heard)?)
    }

    fn take_reports(&mut self, heard: &mut dyn Hear) -> io::Result<bool> {
        let (count, mut file) = match self.reports.hear(&self.socket) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            // A helper that was killed with an order unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => (0, None),
            other => other?,
        };
        while let Some(report) = self.reports.next() {
            match report {
                Report::Ended(exit) => self.exit = Some(exit),
                Report::Opened => {
                    if let Some(Err(error)) = file.take().map(|file| heard.opened(file)) {
                        self.failure.get_or_insert(error);
                        self.kill();
                    }
                }
                Report::NewSocket(errno) => {
                    let made = file.take().ok_or_else(|| io::Error::from_raw_os_error(errno));
                    // Whoever asked may have gone.
                    let _ = self.answers.as_ref().map(|answers| answers.send(made));
                }
                Report::NotStarted(errno) => {
                    self.failure = Some(io::Error::from_raw_os_error(errno));
                }
                Report::Broken(step, errno) => {
                    self.failure = Some(io::Error::other(Trouble { step, errno }));
                }
            }
        }
        Ok(count > 0)
    }

    /// Hands on what the streams have ready; whether there was anything.
    fn hear_ready(&mut self, heard: &mut dyn Hear, piece: &mut [u8]) -> bool {
        let mut any = false;
        for number in 0..self.streams.len() {
            let Some(stream) = &self.streams[number] else { continue };
            let mut ready = [PollFd::new(stream, PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if poll(&mut ready, Some(&now)).is_err() || ready[0].revents().is_empty() {
                continue;
            }
            let count = match rustix::io::read(stream, &mut *piece) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => 0,
            };
            any = true;
            if count == 0 {
                self.streams[number] = None;
                continue;
            }
            let hear = match number {
                0 => heard.stdout(&piece[..count]),
                _ => heard.stderr(&piece[..count]),
            };
            if let Err(error) = hear {
                self.failure.get_or_insert(error);
                self.streams[number] = None;
                self.kill();
            }
        }
        any
    }

    fn look_around(&mut self) {
        let now = Instant::now();
        if self.call.cancel_flag().load(Ordering::Relaxed) {
            self.ask(Stopped::Cancelled, now);
        } else if now - self.started >= self.limits.wall || self.call.check().is_err() {
            self.ask(Stopped::Wall, now);
        }
        if now - self.looked >= LOOK {
            self.looked = now;
            self.look_at_use();
        }
        if now - self.measured >= self.pause {
            self.look_at_layer();
            self.measured = Instant::now();
            // A large layer is measured less often: never more than a twentieth of the time.
            self.pause = LOOK.max((self.measured - now) * 20);
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill();
        }
    }

    fn look_at_use(&mut self) {
        let group = self.group.as_ref().map(Group::ran_out_of_memory);
        if group == Some(true) {
            return self.end(Stopped::Memory);
        }
        // The kernel counts the memory and the processes of a group; looking at each one takes long.
        if group.is_some() && self.limits.cpu_seconds.is_none() {
            return;
        }
        let used = usage::of(self.helper.0.id());
        let cpu = self.limits.cpu_seconds.map(Duration::from_secs);
        if group.is_none() && usage::is_above(&used, self.limits.memory_bytes) {
            self.end(Stopped::Memory);
        } else if cpu.is_some_and(|cpu| used.cpu > cpu) {
            self.end(Stopped::Cpu);
        } else if used.processes() > self.limits.processes.saturating_add(3) {
            self.end(Stopped::Processes);
        }
    }

    fn look_at_layer(&mut self) {
        let written = self.limits.written_bytes;
        if usage::are_larger(&self.layers, written) {
            self.end(Stopped::Written);
        } else if self.home.as_mut().is_some_and(Home::is_overfull) {
            self.end(Stopped::HomeFull);
        } else if self.disk.as_deref().and_then(usage::free).is_some_and(|free| free < KEPT_FREE) {
            self.end(Stopped::DiskFull);
        }
    }

    /// Asks first, and ends it after the grace.
    fn ask(&mut self, why: Stopped, now: Instant) {
        if self.stopped.is_none() {
            self.stopped = Some(why);
            self.kill_at = Some(now + self.limits.grace);
            self.say(TERMINATE);
        }
    }

    /// Ends it at once: asking would let it go on with what it has too much of.
    fn end(&mut self, why: Stopped) {
        self.stopped.get_or_insert(why);
        self.kill();
    }

    fn kill(&mut self) {
        if !self.killed {
            self.killed = true;
            self.say(KILL);
        }
    }

    fn say(&mut self, word: u8) {
        // A helper that is gone needs no word.
        let _ = self.socket.as_ref().write_all(&[word]);
    }

    fn judge(mut self) -> io::Result<Ended> {
        if self.group.as_ref().is_some_and(Group::ran_out_of_memory) {
            self.stopped.get_or_insert(Stopped::Memory);
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let exit = match self.exit {
            Some(exit) => exit,
            None if self.killed => Exit::Signal(libc::SIGKILL),
            None => return Err(io::Error::other("the box ended without a word")),
        };
        if exit == Exit::Signal(libc::SIGXCPU) {
            self.stopped.get_or_insert(Stopped::Cpu);
        }
        Ok(Ended { exit, stopped: self.stopped, took: self.started.elapsed() })
    }
}
