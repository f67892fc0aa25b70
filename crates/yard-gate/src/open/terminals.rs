//! The terminals of an open workspace: those that run, and the last ones that ended. Whether a terminal may be opened
//! is judged in `commands/terminals.rs`, and nothing here starts one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde_json::Value;
use yard_core::op::Landed;
use yard_core::{Call, ChatId, Effect, Fault, FaultCode, Result, RunId, Timestamp, WsPath};
use yard_kernel::{Terminal, TerminalUpdate, UpdateReason, WriteMode};
use yard_net::{Access, HostTraffic};
use yard_sandbox::Deadline;
use yard_store::TerminalState;

use super::OpenWorkspace;
use crate::{Actor, Asks, CallerPolicy, Origin};

/// How long a call waits until ended terminals are recorded.
pub(crate) const SETTLING_TIME: Duration = Duration::from_secs(30);
/// How many ended terminals of one workspace can still be read.
const MAX_ENDED: usize = 16;

/// The terminals of an open workspace.
#[derive(Default)]
pub(crate) struct TerminalTable {
    /// The running terminals and the last ended ones.
    pub(crate) all: Vec<Arc<OpenTerminal>>,
    /// Names of terminals that are being opened.
    pub(crate) reserved: Vec<(ChatId, String)>,
    /// Actors who lost their rights, and when: a terminal that they asked for before may not be opened.
    pub(crate) barred: Vec<(Actor, Timestamp)>,
    /// No terminal may be opened any more.
    pub(crate) is_closed: bool,
}

/// A terminal, its chat and its opener.
pub(crate) struct OpenTerminal {
    pub(crate) name: String,
    pub(crate) chat: ChatId,
    pub(crate) actor: Actor,
    pub(crate) command: String,
    pub(crate) folder: WsPath,
    pub(crate) opened_at: Timestamp,
    pub(crate) write_mode: WriteMode,
    pub(crate) start: JudgedStart,
    pub(crate) terminal: Arc<Terminal>,
    pub(crate) recorded: Mutex<Recorded>,
    pub(crate) settled: Condvar,
}

/// The recorded changes of a terminal.
#[derive(Default)]
pub(crate) struct Recorded {
    /// Steps that no update has shown yet.
    pub(crate) steps: Vec<Landed>,
    /// Why its changes could not be recorded.
    pub(crate) trouble: Option<String>,
    /// It is over, and all of its changes are recorded.
    pub(crate) is_settled: bool,
    /// Why it was ended, if the rules did that.
    pub(crate) ended: Option<String>,
    /// The hosts that it tried to reach, as the last update showed them.
    pub(crate) hosts: Vec<(String, Access)>,
}

impl Recorded {
    /// The hosts that no update has shown yet: each is shown once, and again when its access changes.
    fn new_hosts(&mut self, hosts: Vec<HostTraffic>) -> Vec<HostTraffic> {
        let all: Vec<(String, Access)> =
            hosts.iter().map(|host| (host.host_port.clone(), host.access.clone())).collect();
        let shown = std::mem::replace(&mut self.hosts, all);
        let is_shown = |host: &HostTraffic| {
            shown.iter().any(|(place, access)| (place, access) == (&host.host_port, &host.access))
        };
        hosts.into_iter().filter(|host| !is_shown(host)).collect()
    }
}

/// The output of a terminal and its changes since the last update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalView {
    /// The output, and why the wait for it ended.
    pub update: TerminalUpdate,
    /// Its recorded changes since the last update.
    pub steps: Vec<Landed>,
    /// Why its changes could not be recorded.
    pub trouble: Option<String>,
    /// Why it was ended, if the rules did that.
    pub ended: Option<String>,
    /// How many files are masked because its caller may not read them.
    pub masked: u64,
    /// The hosts that were refused, or wait for a person, since the last update.
    pub hosts: Vec<HostTraffic>,
}

/// A terminal, as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalInfo {
    /// Its run.
    pub run: RunId,
    /// Its chat.
    pub chat: ChatId,
    /// Its name in its chat.
    pub name: String,
    /// The actor who opened it.
    pub by: String,
    /// The command line.
    pub command: String,
    /// The folder in which the command started.
    pub folder: String,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// Whether it runs, or how it ended.
    pub state: TerminalState,
    /// The file with all of its output, if it still exists.
    pub log: Option<WsPath>,
    /// The ports that its programs listen on.
    pub ports: Vec<u16>,
}

impl TerminalTable {
    /// Adds a terminal and removes the oldest ended ones above the limit.
    pub(crate) fn add(&mut self, one: Arc<OpenTerminal>) {
        self.all.retain(|other| (other.chat, &other.name) != (one.chat, &one.name));
        let ended = self.all.iter().filter(|one| !one.terminal.is_running()).count();
        let mut surplus = ended.saturating_sub(MAX_ENDED);
        self.all.retain(|one| {
            let is_removed = surplus > 0 && !one.terminal.is_running();
            surplus -= usize::from(is_removed);
            !is_removed
        });
        self.all.push(one);
    }

    /// A fault if no terminal of that name can be opened: the name is in use, or `max` terminals run already.
    pub(crate) fn check_free(&self, chat: ChatId, name: &str, max: usize) -> Result<()> {
        let Self { all, reserved, .. } = self;
        let running = || all.iter().filter(|one| one.terminal.is_running());
        let is_reserved = reserved.iter().any(|(of, reserved)| *of == chat && reserved == name);
        if is_reserved || running().any(|one| one.chat == chat && one.name == name) {
            let message = format!(
                "the session {name} is in use: type into it, end it, or open another under another name"
            );
            return Err(Fault::new(FaultCode::Exists, message));
        }
        if running().count() + reserved.len() < max {
            return Ok(());
        }
        let own: Vec<&str> =
            running().filter(|one| one.chat == chat).map(|one| one.name.as_str()).collect();
        let message = format!(
            "{max} terminals run in this workspace, which is as many as may; end one first. Of this chat: {}",
            if own.is_empty() { "none".to_owned() } else { own.join(", ") }
        );
        Err(Fault::new(FaultCode::Unavailable, message))
    }
}

impl OpenTerminal {
    /// Waits at most `time` for output, and returns it with the recorded changes.
    pub(crate) fn update(&self, time: Duration, call: &Call) -> Result<TerminalView> {
        let update = self.terminal.wait_for_update(time, call)?;
        match update.reason {
            UpdateReason::Ended => {
                self.wait_settled(&Deadline::of(SETTLING_TIME));
            }
            // The program is quiet: its changes are recorded while its caller reads the output.
            UpdateReason::Input | UpdateReason::Quiet | UpdateReason::Listening => {
                self.terminal.wake()
            }
            UpdateReason::Time => {}
        }
        let mut recorded = self.recorded.lock();
        let (steps, trouble) = (std::mem::take(&mut recorded.steps), recorded.trouble.take());
        let (ended, masked) = (recorded.ended.clone(), self.terminal.masked());
        let hosts = recorded.new_hosts(self.terminal.hosts());
        Ok(TerminalView { update, steps, trouble, ended, masked, hosts })
    }

    /// Why it was ended, if the rules did that.
    pub(crate) fn ended(&self) -> Option<String> {
        self.recorded.lock().ended.clone()
    }

    /// Ends it because the rules do not allow it any more.
    pub(crate) fn end_because(&self, reason: String) {
        self.recorded.lock().ended = Some(reason);
        self.terminal.stop();
    }

    /// Waits until all changes of an ended terminal are recorded, until the deadline at most.
    pub(crate) fn wait_settled(&self, deadline: &Deadline) {
        let is_unsettled = |recorded: &mut Recorded| !recorded.is_settled;
        self.settled.wait_while_for(&mut self.recorded.lock(), is_unsettled, deadline.left());
    }

    /// Marks all of its changes as recorded; also if the thread that records them ends early.
    pub(crate) fn mark_settled(&self) {
        self.recorded.lock().is_settled = true;
        self.settled.notify_all();
    }

    pub(crate) fn state(&self) -> TerminalState {
        match (self.terminal.is_running(), self.terminal.end()) {
            (true, _) => TerminalState::Running,
            (false, Some(ended)) => TerminalState::Ended(ended.code()),
            (false, None) => TerminalState::Ended(126),
        }
    }

    pub(crate) fn info(&self) -> TerminalInfo {
        TerminalInfo {
            run: self.terminal.run(),
            chat: self.chat,
            name: self.name.clone(),
            by: self.actor.name(),
            command: self.command.clone(),
            folder: self.folder.to_string(),
            opened_at: self.opened_at,
            state: self.state(),
            log: Some(self.terminal.log().clone()),
            ports: self.terminal.ports(),
        }
    }

    pub(crate) fn publish(&self, open: &OpenWorkspace, at: Timestamp, state: TerminalState) {
        // The state is what it is, even if the event cannot be written.
        let _ = open.records.terminal_is(at, self.chat, self.terminal.run(), &self.name, state);
        open.changes.notify();
    }
}

impl OpenWorkspace {
    /// The terminals of this process, and those that ended, newest first.
    pub(crate) fn list_terminals(&self) -> Result<Vec<TerminalInfo>> {
        let log = |run| self.workspace.kept_output(run).into_iter().next();
        let here: Vec<Arc<OpenTerminal>> = self.terminals.lock().all.clone();
        let here: Vec<TerminalInfo> = here.iter().map(|one| one.info()).collect();
        let is_here = |run: RunId| here.iter().any(|listed| listed.run == run);
        let stored = self.workspace.finished_terminals()?;
        let over = stored.iter().filter(|stored| !is_here(stored.run)).filter_map(|stored| {
            let state = match &stored.end {
                Some(ended) => TerminalState::Ended(ended.code()),
                None => TerminalState::Interrupted,
            };
            TerminalInfo::of_note(&stored.note, stored.run, state, log(stored.run))
        });
        let mut all: Vec<TerminalInfo> = over.collect();
        all.extend(here);
        all.sort_unstable_by_key(|listed| std::cmp::Reverse(listed.run));
        Ok(all)
    }

    /// Publishes the end of terminals whose end was not published because of a crash.
    pub(super) fn publish_interrupted(&self) {
        let stored = self.workspace.finished_terminals().unwrap_or_default();
        for one in stored.iter().filter(|one| !one.is_reported) {
            let state = match &one.end {
                Some(ended) => TerminalState::Ended(ended.code()),
                None => TerminalState::Interrupted,
            };
            let published = TerminalInfo::of_note(&one.note, one.run, state, None).map(|listed| {
                let TerminalInfo { chat, name, state, .. } = listed;
                self.records.terminal_is(one.at, chat, one.run, &name, state)
            });
            if published.is_none_or(|published| published.is_ok()) {
                // Published twice is better than never.
                let _ = self.workspace.mark_terminal_reported(one.run);
            }
        }
    }

    /// Ends the terminals that match, and waits until their changes are recorded. Returns how many ran.
    pub(crate) fn stop_terminals(&self, matches: impl Fn(&OpenTerminal) -> bool) -> usize {
        let all: Vec<Arc<OpenTerminal>> = self.terminals.lock().all.clone();
        let stopped: Vec<_> =
            all.iter().filter(|one| matches(one) && one.terminal.is_running()).collect();
        stopped.iter().for_each(|one| one.terminal.stop());
        let deadline = Deadline::of(SETTLING_TIME);
        stopped.iter().for_each(|one| one.wait_settled(&deadline));
        stopped.len()
    }

    /// Whether the workspace is being closed while other terminals that write in place still run: the last one that ends
    /// records the changes of all of them.
    pub(crate) fn is_closing_others(&self) -> bool {
        let running = self.terminals.lock();
        let writes = |one: &Arc<OpenTerminal>| {
            one.write_mode == WriteMode::InPlace && one.terminal.is_running()
        };
        running.is_closed && running.all.iter().any(writes)
    }

    /// Tells all terminals to end and allows no new ones, before the workspace is closed.
    pub(crate) fn begin_to_stop_terminals(&self) {
        let mut running = self.terminals.lock();
        running.is_closed = true;
        running.all.iter().for_each(|one| one.terminal.stop());
    }

    /// Ends all terminals and allows no new ones, before the workspace is closed. Returns how many ran.
    pub fn stop_all_terminals(&self) -> usize {
        let ran = self.terminals.lock().all.iter().filter(|one| one.terminal.is_running()).count();
        self.begin_to_stop_terminals();
        let all: Vec<Arc<OpenTerminal>> = self.terminals.lock().all.clone();
        let deadline = Deadline::of(SETTLING_TIME);
        all.iter().for_each(|one| one.wait_settled(&deadline));
        ran
    }

    /// Ends the terminals of a chat.
    pub(crate) fn stop_terminals_of(&self, chat: ChatId) {
        self.stop_terminals(|one| one.chat == chat);
    }

    /// Ends the terminals of a chat that write in place.
    pub(crate) fn stop_writers_of(&self, chat: ChatId) {
        self.stop_terminals(|one| one.chat == chat && one.write_mode == WriteMode::InPlace);
    }

    /// Ends the terminals of an actor who has lost the right to the workspace at `now`.
    pub(crate) fn stop_terminals_by(&self, actor: Actor, now: Timestamp) {
        let mut running = self.terminals.lock();
        running.barred.retain(|(barred, _)| *barred != actor);
        running.barred.push((actor, now));
        drop(running);
        self.stop_terminals(|one| one.actor == actor);
    }
}

/// The judgement under which a terminal was opened.
pub(crate) struct JudgedStart {
    pub(crate) policy: CallerPolicy,
    pub(crate) toolset: String,
    pub(crate) tool: String,
    pub(crate) asks: Asks,
    pub(crate) effect: Effect,
    /// A person was asked and approved it.
    pub(crate) was_asked: bool,
    /// The rules under which it was judged last.
    pub(crate) rules: Mutex<String>,
}

impl JudgedStart {
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin { toolset: &self.toolset, tool: &self.tool, asks: self.asks }
    }
}

impl TerminalInfo {
    /// The terminal that the note in its folder describes.
    pub(crate) fn of_note(
        note: &[u8],
        run: RunId,
        state: TerminalState,
        log: Option<WsPath>,
    ) -> Option<Self> {
        let note: Value = serde_json::from_slice(note).ok()?;
        let text = |name: &str| note[name].as_str().map(str::to_owned);
        Some(Self {
            run,
            chat: text("chat")?.parse().ok()?,
            name: text("name")?,
            by: text("by")?,
            command: text("command")?,
            folder: text("folder")?,
            opened_at: Timestamp::from_millis(note["at"].as_i64()?),
            state,
            log,
            ports: Vec::new(),
        })
    }
}
