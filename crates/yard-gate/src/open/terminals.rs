//! The terminals of an open workspace: those that run, and those that are over and can still be looked at. Whether one
//! may be opened is judged above, and nothing here starts one.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use yard_core::op::Landed;
use yard_core::{Call, ChatId, Effect, Fault, FaultCode, Result, RunId, Timestamp, WsPath};
use yard_kernel::{Terminal, TerminalUpdate, UpdateReason, WriteMode, store_fault};
use yard_net::{Access, HostTraffic};
use yard_store::TerminalState;

use super::OpenWorkspace;
use crate::{Actor, Asks, Origin, Policy};

/// For how long it is waited until terminals that are over are recorded, and how often that is looked at.
pub(crate) const SETTLING_MILLIS: u32 = 30_000;
const SETTLING_LOOK_MILLIS: u32 = 50;
/// Terminals that are over and can still be looked at, of one workspace.
const LOOKED_BACK_AT: usize = 16;

/// The terminals of an open workspace.
#[derive(Default)]
pub(crate) struct Running {
    /// Also some that are over.
    pub(crate) all: Vec<Arc<OpenTerminal>>,
    /// Names that are about to be used.
    pub(crate) reserved: Vec<(ChatId, String)>,
    /// Actors who may open no terminal that they asked for before that moment.
    pub(crate) barred: Vec<(Actor, Timestamp)>,
    /// Nobody may open another.
    pub(crate) is_closed: bool,
}

/// A terminal, and who it belongs to.
pub(crate) struct OpenTerminal {
    pub(crate) name: String,
    pub(crate) chat: ChatId,
    pub(crate) actor: Actor,
    pub(crate) command: String,
    pub(crate) folder: WsPath,
    pub(crate) opened_at: Timestamp,
    pub(crate) ground: WriteMode,
    pub(crate) start: Start,
    pub(crate) terminal: Arc<Terminal>,
    pub(crate) recorded: Mutex<Recorded>,
    pub(crate) settled: Condvar,
}

/// What of a terminal was recorded.
#[derive(Default)]
pub(crate) struct Recorded {
    /// Steps that no look has shown yet.
    pub(crate) steps: Vec<Landed>,
    /// Why something could not be recorded.
    pub(crate) trouble: Option<String>,
    /// It is over, and everything is recorded.
    pub(crate) is_settled: bool,
    /// Why it was ended, if the rules did that.
    pub(crate) ended: Option<String>,
    /// What the last look showed of the hosts that it asked for.
    pub(crate) hosts: Vec<(String, Access)>,
}

impl Recorded {
    /// The hosts that no look has shown yet: each is shown once, and again when its access is another.
    fn new_hosts(&mut self, hosts: Vec<HostTraffic>) -> Vec<HostTraffic> {
        let all: Vec<(String, Access)> =
            hosts.iter().map(|host| (host.place.clone(), host.access.clone())).collect();
        let shown = std::mem::replace(&mut self.hosts, all);
        let is_shown = |host: &HostTraffic| {
            shown.iter().any(|(place, access)| (place, access) == (&host.place, &host.access))
        };
        hosts.into_iter().filter(|host| !is_shown(host)).collect()
    }
}

/// What a look at a terminal showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalLook {
    /// The output, and why the look ended.
    pub glance: TerminalUpdate,
    /// What it changed since the last look, as far as it is recorded.
    pub steps: Vec<Landed>,
    /// Why something that it changed is not recorded.
    pub trouble: Option<String>,
    /// Why it was ended, if the rules did that.
    pub ended: Option<String>,
    /// How many files its program cannot read, because its caller may not.
    pub masked: u64,
    /// The hosts that were refused, or wait for a person, since the last look.
    pub hosts: Vec<HostTraffic>,
}

/// A terminal, as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalInfo {
    /// Its run.
    pub run: RunId,
    /// Its chat.
    pub chat: ChatId,
    /// What its chat calls it.
    pub name: String,
    /// Who opened it.
    pub by: String,
    /// What runs on it.
    pub command: String,
    /// Where that started.
    pub folder: String,
    /// When.
    pub opened_at: Timestamp,
    /// What became of it.
    pub state: TerminalState,
    /// Where all of its output can be read, if it still can.
    pub log: Option<WsPath>,
    /// The ports that its programs listen on.
    pub ports: Vec<u16>,
}

impl Running {
    /// Adds a terminal; the oldest of those that are over go.
    pub(crate) fn add(&mut self, one: Arc<OpenTerminal>) {
        self.all.retain(|other| (other.chat, &other.name) != (one.chat, &one.name));
        let over = self.all.iter().filter(|one| !one.terminal.is_running()).count();
        let mut old = over.saturating_sub(LOOKED_BACK_AT);
        self.all.retain(|one| {
            let goes = old > 0 && !one.terminal.is_running();
            old -= usize::from(goes);
            !goes
        });
        self.all.push(one);
    }

    /// A fault if no terminal of that name can be opened: the name is in use, or `most` run already.
    pub(crate) fn check_free(&self, chat: ChatId, name: &str, most: usize) -> Result<()> {
        let Self { all, reserved, .. } = self;
        let running = || all.iter().filter(|one| one.terminal.is_running());
        let is_reserved = reserved.iter().any(|(of, known)| *of == chat && known == name);
        if is_reserved || running().any(|one| one.chat == chat && one.name == name) {
            let message = format!(
                "the session {name} is in use: type into it, end it, or open another under another name"
            );
            return Err(Fault::new(FaultCode::Exists, message));
        }
        if running().count() + reserved.len() < most {
            return Ok(());
        }
        let own: Vec<&str> =
            running().filter(|one| one.chat == chat).map(|one| one.name.as_str()).collect();
        let message = format!(
            "{most} terminals run in this workspace, which is as many as may; end one first. Of this chat: {}",
            if own.is_empty() { "none".to_owned() } else { own.join(", ") }
        );
        Err(Fault::new(FaultCode::Unavailable, message))
    }
}

impl OpenTerminal {
    /// Looks at it for as long as `time`.
    pub(crate) fn look(&self, time: Duration, call: &Call) -> Result<TerminalLook> {
        let glance = self.terminal.wait_for_update(time, call)?;
        match glance.reason {
            UpdateReason::Ended => {
                self.wait_settled(SETTLING_MILLIS);
            }
            // A quiet point: what it changed is recorded while its caller reads on.
            UpdateReason::Input | UpdateReason::Quiet | UpdateReason::Listening => {
                self.terminal.wake()
            }
            UpdateReason::Time => {}
        }
        let mut recorded = held(&self.recorded);
        let (steps, trouble) = (std::mem::take(&mut recorded.steps), recorded.trouble.take());
        let (ended, masked) = (recorded.ended.clone(), self.terminal.masked());
        let hosts = recorded.new_hosts(self.terminal.hosts());
        Ok(TerminalLook { glance, steps, trouble, ended, masked, hosts })
    }

    /// Why it was ended, if the rules did that.
    pub(crate) fn ended(&self) -> Option<String> {
        held(&self.recorded).ended.clone()
    }

    /// Ends it, because it may not go on.
    pub(crate) fn end_because(&self, reason: String) {
        held(&self.recorded).ended = Some(reason);
        self.terminal.stop();
    }

    /// Waits until everything is recorded of a terminal that is over, for so long; what is left of the time.
    pub(crate) fn wait_settled(&self, mut millis: u32) -> u32 {
        let mut recorded = held(&self.recorded);
        while !recorded.is_settled && millis > 0 {
            let look = SETTLING_LOOK_MILLIS.min(millis);
            let waited = self.settled.wait_timeout(recorded, Duration::from_millis(look.into()));
            recorded = waited.unwrap_or_else(PoisonError::into_inner).0;
            millis -= look;
        }
        millis
    }

    /// Everything is recorded, or nobody is left to do it.
    pub(crate) fn mark_settled(&self) {
        held(&self.recorded).is_settled = true;
        self.settled.notify_all();
    }

    pub(crate) fn state(&self) -> TerminalState {
        match (self.terminal.is_running(), self.terminal.end()) {
            (true, _) => TerminalState::Running,
            (false, Some(ended)) => TerminalState::Ended(ended.code()),
            (false, None) => TerminalState::Ended(126),
        }
    }

    fn listed(&self, log: Option<WsPath>) -> TerminalInfo {
        TerminalInfo {
            run: self.terminal.run(),
            chat: self.chat,
            name: self.name.clone(),
            by: self.actor.name(),
            command: self.command.clone(),
            folder: self.folder.to_string(),
            opened_at: self.opened_at,
            state: self.state(),
            log,
            ports: self.terminal.ports(),
        }
    }

    pub(crate) fn publish(&self, open: &OpenWorkspace, at: Timestamp, state: TerminalState) {
        // It happened, whether or not this can be written.
        let _ = open.desk.terminal_is(at, self.chat, self.terminal.run(), &self.name, state);
        open.bell.ring();
    }
}

impl OpenWorkspace {
    /// Every terminal, also those that are over; the newest first.
    pub(crate) fn list_terminals(&self) -> Result<Vec<TerminalInfo>> {
        let log = |run| self.workspace.kept_output(run).into_iter().next();
        let here: Vec<Arc<OpenTerminal>> = held(&self.terminals).all.clone();
        let here = here.iter().map(|one| one.listed(Some(one.terminal.log().clone())));
        let here: Vec<TerminalInfo> = here.collect();
        let is_here = |run: RunId| here.iter().any(|listed| listed.run == run);
        let kept = self.workspace.finished_terminals()?;
        let over = kept.iter().filter(|kept| !is_here(kept.run)).filter_map(|kept| {
            let state = match &kept.end {
                Some(ended) => TerminalState::Ended(ended.code()),
                None => TerminalState::Interrupted,
            };
            noted(&kept.note, kept.run, state, log(kept.run))
        });
        let mut all: Vec<TerminalInfo> = over.collect();
        all.extend(here);
        all.sort_unstable_by_key(|listed| std::cmp::Reverse(listed.run));
        Ok(all)
    }

    /// Publishes the end of terminals whose end was not published: a crash came first.
    pub(super) fn publish_interrupted(&self) {
        let kept = self.workspace.finished_terminals().unwrap_or_default();
        for one in kept.iter().filter(|one| !one.is_reported) {
            let state = match &one.end {
                Some(ended) => TerminalState::Ended(ended.code()),
                None => TerminalState::Interrupted,
            };
            let published = noted(&one.note, one.run, state, None).map(|listed| {
                let TerminalInfo { chat, name, state, .. } = listed;
                self.desk.terminal_is(one.at, chat, one.run, &name, state).map_err(store_fault)
            });
            if published.is_none_or(|published| published.is_ok()) {
                // Published twice is better than never.
                let _ = self.workspace.mark_terminal_reported(one.run);
            }
        }
    }

    /// Ends the terminals that `which` says, and waits until what they changed is recorded. How many ran.
    pub(crate) fn stop_terminals(&self, which: impl Fn(&OpenTerminal) -> bool) -> usize {
        let all: Vec<Arc<OpenTerminal>> = held(&self.terminals).all.clone();
        let stopped: Vec<_> =
            all.iter().filter(|one| which(one) && one.terminal.is_running()).collect();
        stopped.iter().for_each(|one| one.terminal.stop());
        stopped.iter().fold(SETTLING_MILLIS, |millis, one| one.wait_settled(millis));
        stopped.len()
    }

    /// Whether the workspace is being closed and other terminals that write in place still run: the last
    /// one to end looks at what all of them changed.
    pub(crate) fn is_closing_others(&self) -> bool {
        let running = held(&self.terminals);
        let writes =
            |one: &Arc<OpenTerminal>| one.ground == WriteMode::InPlace && one.terminal.is_running();
        running.is_closed && running.all.iter().any(writes)
    }

    /// Tells all terminals to end, and lets nobody open another: the workspace is about to be closed.
    pub(crate) fn begin_to_stop_terminals(&self) {
        let mut running = held(&self.terminals);
        running.is_closed = true;
        running.all.iter().for_each(|one| one.terminal.stop());
    }

    /// Ends all terminals, and lets nobody open another: the workspace is about to be closed. How many ran.
    pub fn stop_all_terminals(&self) -> usize {
        let ran = held(&self.terminals).all.iter().filter(|one| one.terminal.is_running()).count();
        self.begin_to_stop_terminals();
        let all: Vec<Arc<OpenTerminal>> = held(&self.terminals).all.clone();
        all.iter().fold(SETTLING_MILLIS, |millis, one| one.wait_settled(millis));
        ran
    }

    /// Ends the terminals of a chat.
    pub(crate) fn stop_terminals_of(&self, chat: ChatId) {
        self.stop_terminals(|one| one.chat == chat);
    }

    /// Ends the terminals of a chat that write in place.
    pub(crate) fn stop_writers_of(&self, chat: ChatId) {
        self.stop_terminals(|one| one.chat == chat && one.ground == WriteMode::InPlace);
    }

    /// Ends the terminals of an actor who has no right to be here from this moment on.
    pub(crate) fn stop_terminals_by(&self, actor: Actor, now: Timestamp) {
        let mut running = held(&self.terminals);
        running.barred.retain(|(who, _)| *who != actor);
        running.barred.push((actor, now));
        drop(running);
        self.stop_terminals(|one| one.actor == actor);
    }
}

/// What was judged when a terminal was opened.
pub(crate) struct Start {
    pub(crate) policy: Policy,
    pub(crate) toolset: String,
    pub(crate) tool: String,
    pub(crate) asks: Asks,
    pub(crate) effect: Effect,
    /// A person was asked, and said yes.
    pub(crate) was_asked: bool,
    /// The rules under which it was judged last.
    pub(crate) rules: Mutex<String>,
}

impl Start {
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin { toolset: &self.toolset, tool: &self.tool, asks: self.asks }
    }
}

/// A terminal as the note in its folder describes it.
fn noted(
    note: &[u8],
    run: RunId,
    state: TerminalState,
    log: Option<WsPath>,
) -> Option<TerminalInfo> {
    let note: Value = serde_json::from_slice(note).ok()?;
    let text = |name: &str| note[name].as_str().map(str::to_owned);
    Some(TerminalInfo {
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

pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
