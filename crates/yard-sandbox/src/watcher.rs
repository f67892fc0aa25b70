//! Watches a running command: it passes on output as it arrives, checks the limits, and stops the command when a limit
//! is reached, when the call is cancelled or when the listener returns an error.

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

use crate::folder_size::{FolderSize, MeasuredFolders};
use crate::group::Group;
use crate::network::{Answers, BoxNetwork};
use crate::process::{Helper, Reaped};
use crate::report::{Report, Reports, StepError};
use crate::task::{KILL, START, TERMINATE};
use crate::usage;
use crate::{CommandEnd, CommandLimits, CommandListener, CommandSpec, Exit, Layer, StopReason};

/// How often the call and the clock are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often the use of memory, processors and disk is checked.
const USAGE_INTERVAL: Duration = Duration::from_millis(100);
/// How long the folders that it writes to are measured at a time. More entries are measured later.
const MEASURING: Duration = Duration::from_millis(5);
/// As many bytes of a file system stay free for other programs.
const RESERVED_BYTES: u64 = 64 << 20;
/// The size of a pipe, and of one read from it.
const BUFFER_BYTES: usize = 256 << 10;

/// A running command. Dropped early, it closes the socket first, and the helper then kills the command.
pub(crate) struct CommandWatcher<'a> {
    socket: Arc<UnixStream>,
    helper: Reaped,
    streams: [Option<OwnedFd>; 2],
    group: Option<Group>,
    limits: CommandLimits,
    /// The folders that it writes to, without its home.
    layers: MeasuredFolders,
    home: Option<Home>,
    /// A folder on the file system that it writes to.
    disk: Option<PathBuf>,
    call: &'a Call,
    started: Instant,
    looked: Instant,
    measured: Instant,
    disk_interval: Duration,
    reports: Reports,
    /// Passes new sockets to the [`BoxNetwork`] that asked for them.
    answers: Option<Answers>,
    exit: Option<Exit>,
    failure: Option<io::Error>,
    stopped: Option<StopReason>,
    /// When the command is killed, because SIGTERM did not end it.
    kill_at: Option<Instant>,
    killed: bool,
}

/// A home that outlives the box, with the limit of its size.
struct Home {
    folder: MeasuredFolders,
    most: u64,
    /// The size that is allowed anyway: the one at the first check, if the home was full before. So a command can
    /// still remove files from a full home.
    initial: Option<u64>,
}

impl Home {
    /// Whether it is known by `deadline` that it has more than it may have.
    fn is_overfull(&mut self, deadline: Instant) -> bool {
        let enough = self.initial.map_or(u64::MAX, |initial| initial.max(self.most));
        match self.folder.measure(enough, deadline) {
            None => false,
            Some(FolderSize::TooDeep) => true,
            Some(FolderSize::Bytes(now)) => {
                let initial = *self.initial.get_or_insert(now);
                now > self.most && now > initial
            }
        }
    }
}

impl<'a> CommandWatcher<'a> {
    pub(crate) fn new(
        helper: Helper,
        spec: &CommandSpec<'_>,
        call: &'a Call,
        started: Instant,
    ) -> Self {
        let Helper { socket, mut process, group } = helper;
        let (stdout, stderr) = (process.0.stdout.take(), process.0.stderr.take());
        let streams = [stdout.map(OwnedFd::from), stderr.map(OwnedFd::from)];
        for stream in streams.iter().flatten() {
            // A larger pipe only saves time; the kernel bounds the pipes of a user together.
            let _ = rustix::pipe::fcntl_setpipe_size(stream, BUFFER_BYTES);
        }
        let lasting = spec.lasting;
        let caches = lasting.iter().flat_map(|lasting| &lasting.caches);
        let mut layers: Vec<PathBuf> = caches.map(|cache| cache.upper.clone()).collect();
        let disk = match spec.layer {
            Layer::Overlay { upper, .. } => {
                layers.push(upper.to_owned());
                Some(upper.to_owned())
            }
            Layer::InPlace => Some(spec.workspace.to_owned()),
            Layer::ReadOnly => lasting.map(|lasting| lasting.tmp.clone()),
        };
        let home = lasting.map(|lasting| Home {
            folder: MeasuredFolders::new(vec![lasting.tmp.clone()]),
            most: lasting.most_bytes,
            initial: (!lasting.is_full).then_some(0),
        });
        Self {
            socket: Arc::new(socket),
            helper: process,
            streams,
            group,
            limits: spec.limits,
            layers: MeasuredFolders::new(layers),
            home,
            disk,
            call,
            started,
            looked: started,
            measured: started,
            disk_interval: USAGE_INTERVAL,
            reports: Reports::default(),
            answers: None,
            exit: None,
            failure: None,
            stopped: None,
            kill_at: None,
            killed: false,
        }
    }

    /// Passes the box's own network to the listener.
    pub(crate) fn with_network(mut self, listener: &mut dyn CommandListener) -> io::Result<Self> {
        let (network, answers) = BoxNetwork::of(self.helper.0.id(), &self.socket)?;
        self.answers = Some(answers);
        listener.has_network(network);
        Ok(self)
    }

    /// Starts the command and watches it until no process of it is left.
    pub(crate) fn run_to_end(
        mut self,
        listener: &mut dyn CommandListener,
    ) -> io::Result<CommandEnd> {
        match listener.starts() {
            Ok(()) => self.send(START),
            Err(error) => {
                self.failure = Some(error);
                self.kill();
            }
        }
        let mut buffer = vec![0; BUFFER_BYTES];
        while self.wait(listener, &mut buffer, POLL_INTERVAL)? {
            self.check_limits();
        }
        self.helper.0.wait()?;
        // No process is left to write, so the pipes hold the rest of the output.
        while self.streams.iter().any(Option::is_some) {
            if !self.read_ready_streams(listener, &mut buffer) {
                break;
            }
        }
        self.into_end()
    }

    /// Waits for one interval and handles what arrives; returns whether the helper still runs.
    fn wait(
        &mut self,
        listener: &mut dyn CommandListener,
        buffer: &mut [u8],
        tick: Duration,
    ) -> io::Result<bool> {
        let mut ready = vec![PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        let open = self.streams.iter().flatten();
        ready.extend(open.map(|stream| PollFd::new(stream, PollFlags::IN)));
        let streams = ready.len();
        let listening = listener.listening().into_iter();
        ready.extend(listening.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)));
        let timeout = Timespec { tv_sec: 0, tv_nsec: tick.subsec_nanos().into() };
        match poll(&mut ready, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => return Ok(true),
            other => other?,
        };
        let is_ready = |poll: &PollFd<'_>| !poll.revents().is_empty();
        let has_report = is_ready(&ready[0]);
        let has_output = ready[1..streams].iter().any(is_ready);
        let has_connection = ready[streams..].iter().any(is_ready);
        drop(ready);
        if has_connection {
            listener.accept();
        }
        if has_output {
            self.read_ready_streams(listener, buffer);
        }
        Ok(!has_report || self.handle_reports(listener)?)
    }

    fn handle_reports(&mut self, listener: &mut dyn CommandListener) -> io::Result<bool> {
        let (count, mut file) = match self.reports.receive(&self.socket) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            // The helper was killed before it read its whole task.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => (0, None),
            other => other?,
        };
        while let Some(report) = self.reports.next() {
            match report {
                Report::Ended(exit) => self.exit = Some(exit),
                Report::Opened => {
                    if let Some(Err(error)) = file.take().map(|file| listener.opened(file)) {
                        self.failure.get_or_insert(error);
                        self.kill();
                    }
                }
                Report::NewSocket(errno) => {
                    let made = file.take().ok_or_else(|| io::Error::from_raw_os_error(errno));
                    // The network may have been dropped meanwhile.
                    let _ = self.answers.as_ref().map(|answers| answers.send(made));
                }
                Report::NotStarted(errno) => {
                    self.failure = Some(io::Error::from_raw_os_error(errno));
                }
                Report::Broken(step, errno) => {
                    self.failure = Some(io::Error::other(StepError { step, errno }));
                }
            }
        }
        Ok(count > 0)
    }

    /// Passes on the output that the streams have ready; returns whether there was any.
    fn read_ready_streams(
        &mut self,
        listener: &mut dyn CommandListener,
        buffer: &mut [u8],
    ) -> bool {
        let mut any = false;
        for number in 0..self.streams.len() {
            let Some(stream) = &self.streams[number] else { continue };
            let mut ready = [PollFd::new(stream, PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if poll(&mut ready, Some(&now)).is_err() || ready[0].revents().is_empty() {
                continue;
            }
            let count = match rustix::io::read(stream, &mut *buffer) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => 0,
            };
            any = true;
            if count == 0 {
                self.streams[number] = None;
                continue;
            }
            let passed_on = match number {
                0 => listener.stdout(&buffer[..count]),
                _ => listener.stderr(&buffer[..count]),
            };
            if let Err(error) = passed_on {
                self.failure.get_or_insert(error);
                self.streams[number] = None;
                self.kill();
            }
        }
        any
    }

    fn check_limits(&mut self) {
        let now = Instant::now();
        if self.call.cancel_flag().load(Ordering::Relaxed) {
            self.terminate(StopReason::Cancelled, now);
        } else if now - self.started >= self.limits.wall || self.call.check().is_err() {
            self.terminate(StopReason::Wall, now);
        }
        if now - self.looked >= USAGE_INTERVAL {
            self.looked = now;
            self.check_usage();
        }
        if now - self.measured >= self.disk_interval {
            self.check_disk();
            self.measured = Instant::now();
            // What takes long is measured less often, so that measuring takes at most a twentieth of the time.
            self.disk_interval = USAGE_INTERVAL.max((self.measured - now) * 20);
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill();
        }
    }

    fn check_usage(&mut self) {
        let group = self.group.as_ref().map(Group::ran_out_of_memory);
        if group == Some(true) {
            return self.stop(StopReason::Memory);
        }
        // The kernel counts the memory and the processes of a group; looking at each one takes long.
        if group.is_some() && self.limits.cpu_seconds.is_none() {
            return;
        }
        let used = usage::measure(self.helper.0.id());
        let cpu = self.limits.cpu_seconds.map(Duration::from_secs);
        if group.is_none() && usage::exceeds_memory(&used, self.limits.memory_bytes) {
            self.stop(StopReason::Memory);
        } else if cpu.is_some_and(|cpu| used.cpu > cpu) {
            self.stop(StopReason::Cpu);
        } else if used.processes() > self.limits.processes.saturating_add(3) {
            self.stop(StopReason::Processes);
        }
    }

    fn check_disk(&mut self) {
        let written = self.limits.written_bytes;
        let deadline = || Instant::now() + MEASURING;
        let is_too_much = |size| match size {
            FolderSize::Bytes(bytes) => bytes > written,
            FolderSize::TooDeep => true,
        };
        if self.layers.measure(written, deadline()).is_some_and(is_too_much) {
            self.stop(StopReason::Written);
        } else if self.home.as_mut().is_some_and(|home| home.is_overfull(deadline())) {
            self.stop(StopReason::HomeFull);
        } else if self
            .disk
            .as_deref()
            .and_then(usage::free_bytes)
            .is_some_and(|free| free < RESERVED_BYTES)
        {
            self.stop(StopReason::DiskFull);
        }
    }

    /// Sends SIGTERM, and has the command killed after the grace period.
    fn terminate(&mut self, why: StopReason, now: Instant) {
        if self.stopped.is_none() {
            self.stopped = Some(why);
            self.kill_at = Some(now + self.limits.grace);
            self.send(TERMINATE);
        }
    }

    /// Kills the command at once: after SIGTERM it could go on to use what it has too much of.
    fn stop(&mut self, why: StopReason) {
        self.stopped.get_or_insert(why);
        self.kill();
    }

    fn kill(&mut self) {
        if !self.killed {
            self.killed = true;
            self.send(KILL);
        }
    }

    fn send(&mut self, command: u8) {
        // The helper may have ended.
        let _ = self.socket.as_ref().write_all(&[command]);
    }

    fn into_end(mut self) -> io::Result<CommandEnd> {
        if self.group.as_ref().is_some_and(Group::ran_out_of_memory) {
            self.stopped.get_or_insert(StopReason::Memory);
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
            self.stopped.get_or_insert(StopReason::Cpu);
        }
        Ok(CommandEnd { exit, stopped: self.stopped, took: self.started.elapsed() })
    }
}
