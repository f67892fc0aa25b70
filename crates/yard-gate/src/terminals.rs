//! Terminals: judged when they are opened, as what runs in place is, and that covers whatever is typed
//! into them afterwards, for as long as the rules are the same: with other rules they are judged anew, and
//! those that may not go on are ended with the reason. What they change is found at quiet points and at their end, and recorded as steps
//! of who opened them.
//!
//! A terminal belongs to its chat, under the name that was given to it there. One thread of the gate goes
//! with each, for as long as its program runs; it also ends those that nobody uses.

mod anew;
mod follower;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use yard_core::op::{Import, Land, Landed};
use yard_core::{Call, ChatId, Fault, FaultCode, Result, RunId, Timestamp, WsPath};
use yard_kernel::{Command, Glance, Ground, NewTerminal, Screen, Terminal, Why, store_fault};
use yard_net::{Access, HostTraffic};
use yard_sandbox::Size;
use yard_store::{Mode, TerminalState};

use self::anew::Start;
use self::follower::Follower;
use crate::commands::effect_of_start;
use crate::session::{Admission, only_explained};
use crate::{Actor, OpenWorkspace, Origin, Outcome, Session, Verdict};

/// The longest name.
const NAME_BYTES: usize = 100;
/// The longest command that a listing shows.
const SHOWN_BYTES: usize = 400;
/// How long terminals that are over are waited for, to be recorded, and how often that is looked at.
const SETTLING_MILLIS: u32 = 30_000;
const SETTLING_LOOK_MILLIS: u32 = 50;
/// Terminals that are over and can still be looked at, of one workspace.
const LOOKED_BACK_AT: usize = 16;

/// The terminals of an open workspace.
#[derive(Default)]
pub(crate) struct Running {
    /// Also some that are over.
    all: Vec<Arc<Held>>,
    /// Names that are about to be used.
    reserved: Vec<(ChatId, String)>,
    /// Who may open none that was asked for before that moment.
    barred: Vec<(Actor, Timestamp)>,
    /// Nobody may.
    is_closed: bool,
}

/// A terminal, and who it belongs to.
pub(crate) struct Held {
    name: String,
    chat: ChatId,
    actor: Actor,
    command: String,
    folder: WsPath,
    opened_at: Timestamp,
    ground: Ground,
    start: Start,
    terminal: Arc<Terminal>,
    recorded: Mutex<Recorded>,
    settled: Condvar,
}

/// What of a terminal was recorded.
#[derive(Default)]
struct Recorded {
    /// Steps that nobody was told of yet.
    steps: Vec<Landed>,
    /// Why something could not be recorded.
    trouble: Option<String>,
    /// It is over, and everything is recorded.
    is_settled: bool,
    /// Why it was ended, if the rules did that.
    ended: Option<String>,
    /// What was told of the hosts that it asked for.
    hosts: Vec<(String, Access)>,
}

impl Recorded {
    /// What of the hosts was not told yet: each is told once, and again when something else comes of it.
    fn news_of(&mut self, hosts: Vec<HostTraffic>) -> Vec<HostTraffic> {
        let all: Vec<(String, Access)> =
            hosts.iter().map(|host| (host.place.clone(), host.access.clone())).collect();
        let told = std::mem::replace(&mut self.hosts, all);
        let is_told = |host: &HostTraffic| {
            told.iter().any(|(place, access)| (place, access) == (&host.place, &host.access))
        };
        hosts.into_iter().filter(|host| !is_told(host)).collect()
    }
}

/// What a look at a terminal showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What was said, and why the look ended.
    pub glance: Glance,
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

/// A terminal, as a listing tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
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
    /// Where everything that it said can be read, if it still can.
    pub log: Option<WsPath>,
    /// The ports that its programs listen on.
    pub ports: Vec<u16>,
}

/// The terminals of a session's chat.
pub struct Terminals<'a> {
    session: &'a Session,
}

impl Session {
    /// Ends what runs in the workspace: whoever opened it is about to leave. How many terminals ran.
    pub fn leave(&self) -> usize {
        self.open().stop_all_terminals()
    }

    /// The terminals of this session's chat.
    pub fn terminals(&self) -> Terminals<'_> {
        Terminals { session: self }
    }
}

impl Terminals<'_> {
    /// How long a terminal may run.
    pub fn longest_life(&self) -> Duration {
        self.session.open().workspace.terminal_limits().life
    }

    /// Opens a terminal and looks at it for as long as `time`.
    pub fn open(
        &self,
        origin: Origin<'_>,
        call: &Call,
        name: &str,
        command: &Command,
        time: Duration,
    ) -> Result<Outcome<Seen>> {
        let session = self.session;
        check_name(name)?;
        let ground = match session.mode()? {
            Mode::Plan => Ground::Nothing,
            Mode::Build => Ground::Place,
        };
        // Where nothing can run, nobody is asked whether it may.
        session.open().workspace.ground()?;
        self.check_free(name)?;
        let effect = effect_of_start(command, ground);
        let call = &session.reading(origin, call)?;
        if let Admission::Wait(pending) = session.admit::<Land>(origin, call, &effect, None)? {
            return Ok(Outcome::Pending(pending));
        }
        if session.only_explains() {
            return Err(only_explained());
        }
        let chat = session.needed_chat(call)?.id;
        let place = Place { chat, name, command, ground, asked_at: call.world().now() };
        self.begin(origin, call, &place)?.see(time, call).map(Outcome::Done)
    }

    fn begin(&self, origin: Origin<'_>, call: &Call, place: &Place<'_>) -> Result<Arc<Held>> {
        let session = self.session;
        let open = session.open();
        if place.ground == Ground::Place {
            session.look(origin, call, Import { path: WsPath::root(), include_ignored: false })?;
        }
        {
            let mut running = held(&open.terminals);
            check_room(&running, place.chat, place.name, open.workspace.terminal_limits().at_once)?;
            running.reserved.push((place.chat, place.name.to_owned()));
        }
        let begun = self.start(origin, call, place);
        let mut running = held(&open.terminals);
        running.reserved.retain(|(chat, name)| (*chat, name.as_str()) != (place.chat, place.name));
        let one = begun?;
        if let Err(fault) = self.check_still(&running, place) {
            drop(running);
            one.terminal.stop();
            return Err(fault);
        }
        running.take_in(Arc::clone(&one));
        drop(running);
        // Whoever set the policy meanwhile did not find it among those that run.
        session.judge_anew(&one, call);
        one.tell(open, one.opened_at, TerminalState::Running);
        let follower = Follower::new(session.beside(place.chat), Arc::clone(&one), origin, call);
        let thread = thread::Builder::new().name("terminal-steps".to_owned());
        if thread.spawn(move || follower.follow()).is_err() {
            one.terminal.stop();
            one.is_settled();
            return Err(Fault::new(FaultCode::Unavailable, "no thread is left for a terminal"));
        }
        Ok(one)
    }

    fn start(&self, origin: Origin<'_>, call: &Call, place: &Place<'_>) -> Result<Arc<Held>> {
        let Place { chat, name, command, ground, asked_at } = *place;
        let session = self.session;
        let command = &session.with_reach(origin, call, chat, command);
        let run = RunId::new(call.world());
        let (shown, folder, actor) = (shown(command), command.folder.clone(), session.actor());
        let note = json!({
            "chat": chat.to_string(), "name": name, "by": actor.name(), "command": shown,
            "folder": folder.to_string(), "at": asked_at.as_millis(),
        });
        let note = note.to_string();
        let new = NewTerminal {
            run,
            command,
            ground,
            chat,
            size: Size::default(),
            note: note.as_bytes(),
        };
        let effect = effect_of_start(command, ground);
        // Before it starts: what is set meanwhile is another policy than this one.
        let rules = session.open().rules(call)?.in_full();
        let was_asked = matches!(session.judge(origin, call, &effect)?, Verdict::Ask(_));
        let mut starts = || session.start(origin, call, &effect, run);
        let terminal = session.open().workspace.open_terminal(&new, call, &mut starts)?;
        let start = Start {
            policy: session.policy(),
            toolset: origin.toolset.to_owned(),
            tool: origin.tool.to_owned(),
            asks: origin.asks,
            was_asked,
            rules: Mutex::new(rules),
            effect,
        };
        Ok(Arc::new(Held {
            name: name.to_owned(),
            chat,
            actor,
            command: shown,
            folder,
            opened_at: asked_at,
            ground,
            start,
            terminal,
            recorded: Mutex::default(),
            settled: Condvar::new(),
        }))
    }

    /// Whether what let it be opened still holds: between that and its start others may have decided.
    fn check_still(&self, running: &Running, place: &Place<'_>) -> Result<()> {
        let actor = self.session.actor();
        let is_barred = |(who, at): &(Actor, Timestamp)| *who == actor && *at >= place.asked_at;
        if running.is_closed || running.barred.iter().any(is_barred) {
            let message = "whoever opened this terminal may not be here any more";
            return Err(Fault::new(FaultCode::Denied, message));
        }
        if place.ground == Ground::Place && self.session.mode()? == Mode::Plan {
            let message = "this chat went into plan mode meanwhile; open the terminal again";
            return Err(Fault::new(FaultCode::Denied, message));
        }
        Ok(())
    }

    /// Types into a terminal and looks at it for as long as `time`. Without a text it only looks.
    pub fn types(&self, call: &Call, name: &str, text: &str, time: Duration) -> Result<Seen> {
        let one = self.own(name)?;
        // Who looks takes what was said away from the next one.
        self.session.check_desk_write(call, "look at terminal")?;
        self.session.judge_anew(&one, call);
        if !text.is_empty() {
            self.check_may_type(call, &one)?;
            self.session.open().workspace.share_ports(one.chat, &one.terminal);
            one.terminal.types(text, call)?;
        }
        one.see(time, call)
    }

    /// Gives a terminal another size.
    pub fn resize(&self, call: &Call, name: &str, size: Size) -> Result<()> {
        let one = self.own(name)?;
        self.check_may_type(call, &one)?;
        one.terminal.resize(size)
    }

    /// Ends a terminal, with everything that it started.
    pub fn stop(&self, call: &Call, name: &str) -> Result<Seen> {
        let one = self.own(name)?;
        self.session.check_desk_write(call, "stop terminal")?;
        one.terminal.stop();
        one.settles(SETTLING_MILLIS);
        one.see(Duration::ZERO, call)
    }

    /// The terminals of this chat, also those that are over, the newest first; of an agent, its own.
    pub fn list(&self) -> Result<Vec<Listed>> {
        let Some(chat) = self.session.current_chat()? else { return Ok(Vec::new()) };
        let all = self.list_all()?;
        Ok(all.into_iter().filter(|listed| listed.chat == chat.id).collect())
    }

    /// Ends what runs in this chat. How many terminals that were.
    pub fn stop_chat(&self, call: &Call) -> Result<usize> {
        self.session.check_desk_write(call, "stop terminals")?;
        let Some(chat) = self.session.current_chat()? else { return Ok(0) };
        let actor = self.session.actor();
        let may_end = |one: &Held| actor.is_person() || one.actor == actor;
        Ok(self.session.open().stop_terminals(|one| one.chat == chat.id && may_end(one)))
    }

    /// The terminals of all chats; of an agent, its own.
    pub fn list_all(&self) -> Result<Vec<Listed>> {
        let (all, actor) = (self.session.open().list_terminals()?, self.session.actor());
        let is_shown = |listed: &Listed| actor.is_person() || listed.by == actor.name();
        Ok(all.into_iter().filter(is_shown).collect())
    }

    /// One of them by its run, with its screen while it is held here.
    pub fn read(&self, run: RunId) -> Result<(Listed, Option<Screen>)> {
        let open = self.session.open();
        let listed = self.list_all()?.into_iter().find(|listed| listed.run == run);
        let listed = listed.ok_or_else(|| no_such(run))?;
        let running = held(&open.terminals);
        let here = running.all.iter().find(|one| one.terminal.run() == run).cloned();
        drop(running);
        Ok((listed, here.map(|one| one.terminal.screen())))
    }

    /// Ends one of them by its run.
    pub fn stop_run(&self, call: &Call, run: RunId) -> Result<()> {
        self.session.check_desk_write(call, "stop terminal")?;
        let actor = self.session.actor();
        let may_end = |one: &&Arc<Held>| actor.is_person() || one.actor == actor;
        let found = held(&self.session.open().terminals)
            .all
            .iter()
            .filter(may_end)
            .find(|one| one.terminal.run() == run && one.terminal.runs())
            .cloned();
        let one = found.ok_or_else(|| no_such(run))?;
        one.terminal.stop();
        one.settles(SETTLING_MILLIS);
        Ok(())
    }

    fn own(&self, name: &str) -> Result<Arc<Held>> {
        let (chat, actor) =
            (self.session.current_chat()?.map(|chat| chat.id), self.session.actor());
        let is_own = |one: &&Arc<Held>| one.actor == actor || actor.is_person();
        let found = held(&self.session.open().terminals)
            .all
            .iter()
            .filter(is_own)
            .find(|one| Some(one.chat) == chat && one.name == name)
            .cloned();
        found.ok_or_else(|| self.unknown(name))
    }

    /// Why there is no such terminal.
    fn unknown(&self, name: &str) -> Fault {
        let listed = self.list().unwrap_or_default();
        if let Some(listed) = listed.iter().find(|listed| listed.name == name) {
            let became = match listed.state {
                TerminalState::Interrupted => "was interrupted: the server ended while it ran",
                TerminalState::Ended(_) | TerminalState::Running => "is over",
            };
            let log = listed.log.as_ref().map(|path| format!("; what it said is at {path}"));
            let message =
                format!("the session {name} {became}{}. Open another one", log.unwrap_or_default());
            return Fault::new(FaultCode::NotFound, message);
        }
        let running = listed.iter().filter(|listed| listed.state == TerminalState::Running);
        let names: Vec<&str> = running.map(|listed| listed.name.as_str()).take(10).collect();
        let known = match names.is_empty() {
            true => "none is open in this chat: open one with exec_command".to_owned(),
            false => format!("name one that is open in this chat: {}", names.join(", ")),
        };
        Fault::new(FaultCode::NotFound, format!("there is no session {name}; {known}"))
    }

    fn check_free(&self, name: &str) -> Result<()> {
        let Some(chat) = self.session.current_chat()? else { return Ok(()) };
        let open = self.session.open();
        let running = held(&open.terminals);
        check_room(&running, chat.id, name, open.workspace.terminal_limits().at_once)
    }

    /// What was judged when it was opened covers what is typed; plan mode holds for everybody.
    fn check_may_type(&self, call: &Call, one: &Held) -> Result<()> {
        let session = self.session;
        session.check_desk_write(call, "type")?;
        if one.ground == Ground::Place && session.mode()? == Mode::Plan {
            let reason = format!(
                "this chat is in plan mode, and the session {} was opened in build mode: what is typed \
                 there can change files. Open another session, which cannot",
                one.name
            );
            return session.refuse(call, "type", &one.name, &reason);
        }
        if let Some(ended) = one.ended() {
            let reason = format!("the session {} was ended: {ended}", one.name);
            return Err(Fault::new(FaultCode::Denied, reason));
        }
        if !one.terminal.runs() {
            let reason = format!("the session {} is over; open another one", one.name);
            return Err(Fault::new(FaultCode::NotFound, reason));
        }
        Ok(())
    }
}

fn no_such(run: RunId) -> Fault {
    Fault::new(FaultCode::NotFound, format!("no terminal {run} runs here"))
}

fn check_name(name: &str) -> Result<()> {
    let is_name = !name.is_empty() && name.len() <= NAME_BYTES && !name.contains(char::is_control);
    if is_name {
        return Ok(());
    }
    let message = format!("expected a session's name of 1 to {NAME_BYTES} visible characters");
    Err(Fault::new(FaultCode::BadArgument, message))
}

/// A terminal that is to be opened.
struct Place<'a> {
    chat: ChatId,
    name: &'a str,
    command: &'a Command,
    ground: Ground,
    asked_at: Timestamp,
}

impl Running {
    /// Takes a terminal in; the oldest of those that are over go.
    fn take_in(&mut self, one: Arc<Held>) {
        self.all.retain(|other| (other.chat, &other.name) != (one.chat, &one.name));
        let over = self.all.iter().filter(|one| !one.terminal.runs()).count();
        let mut old = over.saturating_sub(LOOKED_BACK_AT);
        self.all.retain(|one| {
            let goes = old > 0 && !one.terminal.runs();
            old -= usize::from(goes);
            !goes
        });
        self.all.push(one);
    }
}

fn check_room(running: &Running, chat: ChatId, name: &str, most: usize) -> Result<()> {
    let Running { all, reserved, .. } = running;
    let running = || all.iter().filter(|one| one.terminal.runs());
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

/// The command as a person reads it.
fn shown(command: &Command) -> String {
    let text = command.argv.last().map(|word| word.to_string_lossy().into_owned());
    let mut text = text.unwrap_or_default();
    if text.len() > SHOWN_BYTES {
        text.truncate(text.floor_char_boundary(SHOWN_BYTES));
        text.push('…');
    }
    text
}

impl Held {
    fn see(&self, time: Duration, call: &Call) -> Result<Seen> {
        let glance = self.terminal.watch(time, call)?;
        match glance.why {
            Why::Ended => {
                self.settles(SETTLING_MILLIS);
            }
            // A quiet point: what it changed is recorded while its caller reads on.
            Why::Input | Why::Quiet | Why::Listening => self.terminal.nudge(),
            Why::Time => {}
        }
        let mut recorded = held(&self.recorded);
        let (steps, trouble) = (std::mem::take(&mut recorded.steps), recorded.trouble.take());
        let (ended, masked) = (recorded.ended.clone(), self.terminal.masked());
        let hosts = recorded.news_of(self.terminal.hosts());
        Ok(Seen { glance, steps, trouble, ended, masked, hosts })
    }

    /// Why it was ended, if the rules did that.
    fn ended(&self) -> Option<String> {
        held(&self.recorded).ended.clone()
    }

    /// Ends it, because it may not go on.
    fn end_because(&self, reason: String) {
        held(&self.recorded).ended = Some(reason);
        self.terminal.stop();
    }

    /// Waits until everything is recorded of a terminal that is over, for so long; what is left of the time.
    fn settles(&self, mut millis: u32) -> u32 {
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
    fn is_settled(&self) {
        held(&self.recorded).is_settled = true;
        self.settled.notify_all();
    }

    fn state(&self) -> TerminalState {
        match (self.terminal.runs(), self.terminal.end()) {
            (true, _) => TerminalState::Running,
            (false, Some(ended)) => TerminalState::Ended(ended.code()),
            (false, None) => TerminalState::Ended(126),
        }
    }

    fn listed(&self, log: Option<WsPath>) -> Listed {
        Listed {
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

    fn tell(&self, open: &OpenWorkspace, at: Timestamp, state: TerminalState) {
        // It happened, whether or not anybody hears of it.
        let _ = open.desk.terminal_is(at, self.chat, self.terminal.run(), &self.name, state);
        open.bell.ring();
    }
}

impl OpenWorkspace {
    /// Every terminal, also those that are over; the newest first.
    fn list_terminals(&self) -> Result<Vec<Listed>> {
        let log = |run| self.workspace.kept_output(run).into_iter().next();
        let here: Vec<Arc<Held>> = held(&self.terminals).all.clone();
        let here = here.iter().map(|one| one.listed(Some(one.terminal.log().clone())));
        let here: Vec<Listed> = here.collect();
        let is_here = |run: RunId| here.iter().any(|listed| listed.run == run);
        let kept = self.workspace.kept_terminals()?;
        let over = kept.iter().filter(|kept| !is_here(kept.run)).filter_map(|kept| {
            let state = match &kept.end {
                Some(ended) => TerminalState::Ended(ended.code()),
                None => TerminalState::Interrupted,
            };
            noted(&kept.note, kept.run, state, log(kept.run))
        });
        let mut all: Vec<Listed> = over.collect();
        all.extend(here);
        all.sort_unstable_by_key(|listed| std::cmp::Reverse(listed.run));
        Ok(all)
    }

    /// Tells of terminals whose end nobody was told of: a crash came first.
    pub(crate) fn tell_of_interrupted(&self) {
        let kept = self.workspace.kept_terminals().unwrap_or_default();
        for one in kept.iter().filter(|one| !one.told) {
            let state = match &one.end {
                Some(ended) => TerminalState::Ended(ended.code()),
                None => TerminalState::Interrupted,
            };
            let told = noted(&one.note, one.run, state, None).map(|listed| {
                let Listed { chat, name, state, .. } = listed;
                self.desk.terminal_is(one.at, chat, one.run, &name, state).map_err(store_fault)
            });
            if told.is_none_or(|told| told.is_ok()) {
                // Told twice is better than never.
                let _ = self.workspace.terminal_is_told(one.run);
            }
        }
    }

    /// Ends the terminals that `which` says, and waits until what they changed is recorded. How many ran.
    fn stop_terminals(&self, which: impl Fn(&Held) -> bool) -> usize {
        let all: Vec<Arc<Held>> = held(&self.terminals).all.clone();
        let stopped: Vec<_> = all.iter().filter(|one| which(one) && one.terminal.runs()).collect();
        stopped.iter().for_each(|one| one.terminal.stop());
        stopped.iter().fold(SETTLING_MILLIS, |millis, one| one.settles(millis));
        stopped.len()
    }

    /// Whether the workspace is being closed and other terminals that write in place still run: the last
    /// one to end looks at what all of them changed.
    fn is_closing_others(&self) -> bool {
        let running = held(&self.terminals);
        let writes = |one: &Arc<Held>| one.ground == Ground::Place && one.terminal.runs();
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
        let ran = held(&self.terminals).all.iter().filter(|one| one.terminal.runs()).count();
        self.begin_to_stop_terminals();
        let all: Vec<Arc<Held>> = held(&self.terminals).all.clone();
        all.iter().fold(SETTLING_MILLIS, |millis, one| one.settles(millis));
        ran
    }

    /// Ends the terminals of a chat.
    pub(crate) fn stop_terminals_of(&self, chat: ChatId) {
        self.stop_terminals(|one| one.chat == chat);
    }

    /// Ends the terminals of a chat that write in place.
    pub(crate) fn stop_writers_of(&self, chat: ChatId) {
        self.stop_terminals(|one| one.chat == chat && one.ground == Ground::Place);
    }

    /// Ends the terminals of somebody who may not be here any more from this moment on.
    pub(crate) fn stop_terminals_by(&self, actor: Actor, now: Timestamp) {
        let mut running = held(&self.terminals);
        running.barred.retain(|(who, _)| *who != actor);
        running.barred.push((actor, now));
        drop(running);
        self.stop_terminals(|one| one.actor == actor);
    }
}

/// A terminal as the note in its folder tells it.
fn noted(note: &[u8], run: RunId, state: TerminalState, log: Option<WsPath>) -> Option<Listed> {
    let note: Value = serde_json::from_slice(note).ok()?;
    let text = |name: &str| note[name].as_str().map(str::to_owned);
    Some(Listed {
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

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
