//! Terminals: judged when they are opened, as what runs in place is, and that covers whatever is typed
//! into them afterwards, for as long as the rules are the same: with other rules they are judged anew, and
//! those that may not go on are ended with the reason. What they change is found at quiet points and at their end,
//! and recorded as steps of their openers.
//!
//! A terminal belongs to its chat, under the name that was given to it there. One thread of the gate goes
//! with each, for as long as its program runs; it also ends those that nobody uses.

mod anew;
mod follower;

use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::json;
use yard_core::op::Land;
use yard_core::{Call, ChatId, Fault, FaultCode, Result, RunId, Timestamp};
use yard_kernel::{Command, NewTerminal, Screen, WriteMode};
use yard_sandbox::Size;
use yard_store::{Mode, TerminalState};

use self::follower::Follower;
use crate::attempt::Admission;
use crate::commands::effect_of_start;
use crate::open::{OpenTerminal, Running, SETTLING_MILLIS, Start, held};
use crate::{Actor, Attempt, Completion, Session, TerminalInfo, TerminalLook, Verdict};

/// The longest name.
const NAME_BYTES: usize = 100;
/// The longest command that a listing shows.
const SHOWN_BYTES: usize = 400;

/// The terminals of a session's chat.
pub struct Terminals<'a> {
    session: &'a Session,
}

/// A terminal that is to be opened.
struct NewOne<'a> {
    chat: ChatId,
    name: &'a str,
    command: &'a Command,
    ground: WriteMode,
    asked_at: Timestamp,
}

impl Session {
    /// Ends what runs in the workspace: its opener is about to leave. How many terminals ran.
    pub fn leave(&self) -> usize {
        self.open().stop_all_terminals()
    }

    /// The terminals of this session's chat.
    pub fn terminals(&self) -> Terminals<'_> {
        Terminals { session: self }
    }
}

impl Attempt<'_> {
    /// Opens a terminal and looks at it for as long as `time`.
    pub fn open_terminal(
        &self,
        name: &str,
        command: &Command,
        time: Duration,
    ) -> Result<Completion<TerminalLook>> {
        let (session, workspace) = (self.session(), &self.open().workspace);
        check_name(name)?;
        let ground = match session.mode()? {
            Mode::Plan => WriteMode::ReadOnly,
            Mode::Build => WriteMode::InPlace,
        };
        // Where nothing can run, nobody is asked whether it may.
        workspace.write_mode()?;
        if let Some(chat) = session.current_chat()? {
            let most = workspace.terminal_limits().at_once;
            held(&self.open().terminals).check_free(chat.id, name, most)?;
        }
        let effect = effect_of_start(command, ground);
        let call = self.reading()?;
        let attempt = self.during(&call);
        if let Admission::Wait(pending) = attempt.admit::<Land>(&effect)? {
            return Ok(Completion::Pending(pending));
        }
        attempt.check_happens()?;
        let chat = session.needed_chat(&call)?.id;
        let new = NewOne { chat, name, command, ground, asked_at: call.world().now() };
        attempt.begin_terminal(&new)?.look(time, &call).map(Completion::Done)
    }

    fn begin_terminal(&self, new: &NewOne<'_>) -> Result<Arc<OpenTerminal>> {
        let (session, open) = (self.session(), self.open());
        if new.ground == WriteMode::InPlace {
            self.record_changes_of_others()?;
        }
        {
            let most = open.workspace.terminal_limits().at_once;
            let mut running = held(&open.terminals);
            running.check_free(new.chat, new.name, most)?;
            running.reserved.push((new.chat, new.name.to_owned()));
        }
        let begun = self.start_terminal(new);
        let mut running = held(&open.terminals);
        running.reserved.retain(|(chat, name)| (*chat, name.as_str()) != (new.chat, new.name));
        let one = begun?;
        if let Err(fault) = self.check_still_allowed(&running, new) {
            drop(running);
            one.terminal.stop();
            return Err(fault);
        }
        running.add(Arc::clone(&one));
        drop(running);
        // If the policy was set meanwhile, this terminal was not yet among those that were judged anew.
        session.judge_anew(&one, self.call());
        one.publish(open, one.opened_at, TerminalState::Running);
        let follower = Follower::new(session.beside(new.chat), Arc::clone(&one), self);
        let thread = thread::Builder::new().name("terminal-steps".to_owned());
        if thread.spawn(move || follower.follow()).is_err() {
            one.terminal.stop();
            one.mark_settled();
            return Err(Fault::new(FaultCode::Unavailable, "no thread is left for a terminal"));
        }
        Ok(one)
    }

    fn start_terminal(&self, new: &NewOne<'_>) -> Result<Arc<OpenTerminal>> {
        let NewOne { chat, name, command, ground, asked_at } = *new;
        let (session, call, origin) = (self.session(), self.call(), self.origin());
        let command = &self.with_reach(chat, command);
        let run = RunId::new(call.world());
        let (line, folder) = (command_line(command), command.folder.clone());
        let actor = session.actor();
        let note = json!({
            "chat": chat.to_string(), "name": name, "by": actor.name(), "command": line,
            "folder": folder.to_string(), "at": asked_at.as_millis(),
        });
        let note = note.to_string();
        let (size, note) = (Size::default(), note.as_bytes());
        let started = NewTerminal { run, command, write_mode: ground, chat, size, note };
        let effect = effect_of_start(command, ground);
        // Read before it starts: what is set meanwhile is another policy than this one.
        let rules = self.open().rules(call)?.in_full();
        let was_asked = matches!(self.judge(&effect)?, Verdict::Ask(_));
        let mut starts = || self.start(&effect, run);
        let terminal = self.open().workspace.open_terminal(&started, call, &mut starts)?;
        let start = Start {
            policy: session.policy(),
            toolset: origin.toolset.to_owned(),
            tool: origin.tool.to_owned(),
            asks: origin.asks,
            was_asked,
            rules: Mutex::new(rules),
            effect,
        };
        Ok(Arc::new(OpenTerminal {
            name: name.to_owned(),
            chat,
            actor,
            command: line,
            folder,
            opened_at: asked_at,
            ground,
            start,
            terminal,
            recorded: Mutex::default(),
            settled: Condvar::new(),
        }))
    }

    /// Whether what let it be opened still holds: it may have changed between that and its start.
    fn check_still_allowed(&self, running: &Running, new: &NewOne<'_>) -> Result<()> {
        let actor = self.session().actor();
        let is_barred = |(who, at): &(Actor, Timestamp)| *who == actor && *at >= new.asked_at;
        if running.is_closed || running.barred.iter().any(is_barred) {
            let message = "whoever opened this terminal may not be here any more";
            return Err(Fault::new(FaultCode::Denied, message));
        }
        if new.ground == WriteMode::InPlace && self.session().mode()? == Mode::Plan {
            let message = "this chat went into plan mode meanwhile; open the terminal again";
            return Err(Fault::new(FaultCode::Denied, message));
        }
        Ok(())
    }

    /// Types into a terminal and looks at it for as long as `time`. Without a text it only looks.
    pub fn send_input(&self, name: &str, text: &str, time: Duration) -> Result<TerminalLook> {
        let one = self.session().terminals().own(name)?;
        // A look takes the output away from the next one.
        self.check_desk_write("look at terminal")?;
        self.session().judge_anew(&one, self.call());
        if !text.is_empty() {
            self.check_may_type(&one)?;
            self.open().workspace.share_ports(one.chat, &one.terminal);
            one.terminal.type_text(text, self.call())?;
        }
        one.look(time, self.call())
    }

    /// Gives a terminal another size.
    pub fn resize_terminal(&self, name: &str, size: Size) -> Result<()> {
        let one = self.session().terminals().own(name)?;
        self.check_may_type(&one)?;
        one.terminal.resize(size)
    }

    /// Ends a terminal, with everything that it started.
    pub fn stop_terminal(&self, name: &str) -> Result<TerminalLook> {
        let one = self.session().terminals().own(name)?;
        self.check_desk_write("stop terminal")?;
        one.terminal.stop();
        one.wait_settled(SETTLING_MILLIS);
        one.look(Duration::ZERO, self.call())
    }

    /// What was judged when it was opened covers what is typed; plan mode holds for everybody.
    fn check_may_type(&self, one: &OpenTerminal) -> Result<()> {
        let session = self.session();
        self.check_desk_write("type")?;
        if one.ground == WriteMode::InPlace && session.mode()? == Mode::Plan {
            let reason = format!(
                "this chat is in plan mode, and the session {} was opened in build mode: what is typed \
                 there can change files. Open another session, which cannot",
                one.name
            );
            return session.refuse(self.call(), "type", &one.name, &reason);
        }
        if let Some(ended) = one.ended() {
            let reason = format!("the session {} was ended: {ended}", one.name);
            return Err(Fault::new(FaultCode::Denied, reason));
        }
        if !one.terminal.is_running() {
            let reason = format!("the session {} is over; open another one", one.name);
            return Err(Fault::new(FaultCode::NotFound, reason));
        }
        Ok(())
    }
}

impl Terminals<'_> {
    /// How long a terminal may run.
    pub fn longest_life(&self) -> Duration {
        self.session.open().workspace.terminal_limits().life
    }

    /// The terminals of this chat, also those that are over, the newest first; of an agent, its own.
    pub fn list(&self) -> Result<Vec<TerminalInfo>> {
        let Some(chat) = self.session.current_chat()? else { return Ok(Vec::new()) };
        let all = self.list_all()?;
        Ok(all.into_iter().filter(|listed| listed.chat == chat.id).collect())
    }

    /// Ends what runs in this chat. How many terminals that were.
    pub fn stop_chat(&self, call: &Call) -> Result<usize> {
        self.session.check_desk_write(call, "stop terminals")?;
        let Some(chat) = self.session.current_chat()? else { return Ok(0) };
        let actor = self.session.actor();
        let may_end = |one: &OpenTerminal| actor.is_person() || one.actor == actor;
        Ok(self.session.open().stop_terminals(|one| one.chat == chat.id && may_end(one)))
    }

    /// The terminals of all chats; of an agent, its own.
    pub fn list_all(&self) -> Result<Vec<TerminalInfo>> {
        let (all, actor) = (self.session.open().list_terminals()?, self.session.actor());
        let is_shown = |listed: &TerminalInfo| actor.is_person() || listed.by == actor.name();
        Ok(all.into_iter().filter(is_shown).collect())
    }

    /// One of them by its run, with its screen while it is held here.
    pub fn read(&self, run: RunId) -> Result<(TerminalInfo, Option<Screen>)> {
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
        let may_end = |one: &&Arc<OpenTerminal>| actor.is_person() || one.actor == actor;
        let found = held(&self.session.open().terminals)
            .all
            .iter()
            .filter(may_end)
            .find(|one| one.terminal.run() == run && one.terminal.is_running())
            .cloned();
        let one = found.ok_or_else(|| no_such(run))?;
        one.terminal.stop();
        one.wait_settled(SETTLING_MILLIS);
        Ok(())
    }

    fn own(&self, name: &str) -> Result<Arc<OpenTerminal>> {
        let (chat, actor) =
            (self.session.current_chat()?.map(|chat| chat.id), self.session.actor());
        let is_own = |one: &&Arc<OpenTerminal>| one.actor == actor || actor.is_person();
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
            true => {
                let opening = self.session.open().words.opening_terminal;
                format!("none is open in this chat{opening}")
            }
            false => format!("name one that is open in this chat: {}", names.join(", ")),
        };
        Fault::new(FaultCode::NotFound, format!("there is no session {name}; {known}"))
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

/// The command as a person reads it.
fn command_line(command: &Command) -> String {
    let text = command.argv.last().map(|word| word.to_string_lossy().into_owned());
    let mut text = text.unwrap_or_default();
    if text.len() > SHOWN_BYTES {
        text.truncate(text.floor_char_boundary(SHOWN_BYTES));
        text.push('…');
    }
    text
}
