//! Terminals. The start of a terminal is judged like that of a command in place, and that covers its input. When the
//! rules change, open terminals are judged again, and those that are not allowed any more are ended with the reason.
//! Their changes are recorded as steps of their openers, when the program is quiet and at its end.
//!
//! A terminal belongs to its chat, under a name. A thread of the gate follows each one as long as its program runs, and
//! ends a terminal that is not used.

mod elsewhere;
mod follower;
mod rejudge;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde_json::json;
use yard_core::op::Land;
use yard_core::{Call, ChatId, Fault, FaultCode, Result, RunId, Timestamp};
use yard_kernel::{Command, NewTerminal, Screen, WriteMode};
use yard_sandbox::{Deadline, Size};
use yard_store::{Mode, TerminalState};

use self::elsewhere::TerminalRequest;
use self::follower::Follower;
use crate::attempt::Admission;
use crate::commands::{command_line, effect_of_start};
use crate::open::{JudgedStart, OpenTerminal, SETTLING_TIME, TerminalTable};
use crate::{Actor, Attempt, Completion, Session, TerminalInfo, TerminalView, Verdict};

/// The longest name.
const MAX_NAME_BYTES: usize = 100;
/// The longest command that a listing shows.
const MAX_SHOWN_BYTES: usize = 400;

/// The terminals of a session's chat.
pub struct Terminals<'a> {
    session: &'a Session,
}

/// The request to open a terminal.
struct NewTerminalRequest<'a> {
    chat: ChatId,
    name: &'a str,
    command: &'a Command,
    write_mode: WriteMode,
    asked_at: Timestamp,
}

impl Session {
    /// Ends all terminals of the workspace. Returns how many ran.
    pub fn stop_all_terminals(&self) -> usize {
        self.open().stop_all_terminals()
    }

    /// The terminals of this session's chat.
    pub fn terminals(&self) -> Terminals<'_> {
        Terminals { session: self }
    }
}

impl Attempt<'_> {
    /// Opens a terminal and waits at most `time` for output.
    pub fn open_terminal(
        &self,
        name: &str,
        command: &Command,
        time: Duration,
    ) -> Result<Completion<TerminalView>> {
        let (session, workspace) = (self.session(), &self.open().workspace);
        check_name(name)?;
        let write_mode = match session.mode()? {
            Mode::Plan => WriteMode::ReadOnly,
            Mode::Build => WriteMode::InPlace,
        };
        // No person is asked where no command can run.
        workspace.write_mode()?;
        if let Some(chat) = session.current_chat()? {
            let max = workspace.terminal_limits().at_once;
            self.open().terminals.lock().check_free(chat.id, name, max)?;
        }
        let effect = effect_of_start(command, write_mode);
        let call = self.restricted_call()?;
        let attempt = self.with_call(&call);
        if let Admission::Wait(pending) = attempt.admit::<Land>(&effect)? {
            return Ok(Completion::Pending(pending));
        }
        attempt.check_not_dry_run()?;
        let chat = session.needed_chat(&call)?.id;
        let new =
            NewTerminalRequest { chat, name, command, write_mode, asked_at: call.world().now() };
        attempt.begin_terminal(&new)?.update(time, &call).map(Completion::Done)
    }

    fn begin_terminal(&self, new: &NewTerminalRequest<'_>) -> Result<Arc<OpenTerminal>> {
        let (session, open) = (self.session(), self.open());
        if new.write_mode == WriteMode::InPlace {
            self.record_changes_of_others()?;
        }
        {
            let max = open.workspace.terminal_limits().at_once;
            let mut running = open.terminals.lock();
            running.check_free(new.chat, new.name, max)?;
            running.reserved.push((new.chat, new.name.to_owned()));
        }
        let started = self.start_terminal(new);
        let mut running = open.terminals.lock();
        running.reserved.retain(|(chat, name)| (*chat, name.as_str()) != (new.chat, new.name));
        let one = started?;
        let follower = Follower::new(session.with_chat(new.chat), Arc::clone(&one), self);
        if let Err(fault) = self.check_still_allowed(&running, new) {
            drop(running);
            // It may have changed something already.
            follower.stop_and_record();
            return Err(fault);
        }
        running.add(Arc::clone(&one));
        drop(running);
        // If the policy was set meanwhile, this terminal was not yet among those that were judged again. If it cannot be
        // judged now, the thread that follows it judges it again within a second.
        let _ = session.rejudge_terminal(&one, self.call());
        one.publish(open, one.opened_at, TerminalState::Running);
        let follower = Arc::new(follower);
        let in_thread = Arc::clone(&follower);
        let thread = thread::Builder::new().name("terminal-steps".to_owned());
        if thread.spawn(move || in_thread.follow()).is_err() {
            follower.stop_and_record();
            return Err(Fault::new(FaultCode::Unavailable, "no thread is left for a terminal"));
        }
        Ok(one)
    }

    fn start_terminal(&self, new: &NewTerminalRequest<'_>) -> Result<Arc<OpenTerminal>> {
        let NewTerminalRequest { chat, name, command, write_mode, asked_at } = *new;
        let (session, call, origin) = (self.session(), self.call(), self.origin());
        let command = &self.with_network(chat, command);
        let run = RunId::new(call.world());
        let (line, folder) = (command_line(command, MAX_SHOWN_BYTES), command.folder.clone());
        let actor = session.actor();
        let note = json!({
            "chat": chat.to_string(), "name": name, "by": actor.name(), "command": line,
            "folder": folder.to_string(), "at": asked_at.as_millis(),
        });
        let note = note.to_string();
        let (size, note) = (Size::default(), note.as_bytes());
        let started = NewTerminal { run, command, write_mode, chat, size, note };
        let effect = effect_of_start(command, write_mode);
        // Read before the start, so that rules that are set meanwhile count as a change.
        let rules = self.open().policy(call)?.to_full_text();
        let was_asked = matches!(self.judge(&effect)?, Verdict::Ask(_));
        let mut on_start = || self.start(&effect, run);
        let terminal = self.open().workspace.open_terminal(&started, call, &mut on_start)?;
        let start = JudgedStart {
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
            write_mode,
            start,
            terminal,
            recorded: Mutex::default(),
            settled: Condvar::new(),
        }))
    }

    /// A fault if the caller's rights or the mode changed while the terminal was started.
    fn check_still_allowed(
        &self,
        running: &TerminalTable,
        new: &NewTerminalRequest<'_>,
    ) -> Result<()> {
        let actor = self.session().actor();
        let is_barred = |(barred, at): &(Actor, Timestamp)| *barred == actor && *at >= new.asked_at;
        if running.is_closed || running.barred.iter().any(is_barred) {
            let message = "whoever opened this terminal may not be here any more";
            return Err(Fault::new(FaultCode::Denied, message));
        }
        if new.write_mode == WriteMode::InPlace && self.session().mode()? == Mode::Plan {
            let message = "this chat went into plan mode meanwhile; open the terminal again";
            return Err(Fault::new(FaultCode::Denied, message));
        }
        Ok(())
    }

    /// Types into a terminal and waits at most `time` for output. An empty text types nothing.
    pub fn send_input(&self, name: &str, text: &str, time: Duration) -> Result<TerminalView> {
        let one = self.session().terminals().own(name)?;
        // Reading the output is a write: the next update does not have it any more.
        self.check_record_write("look at terminal")?;
        self.session().rejudge_terminal(&one, self.call())?;
        if !text.is_empty() {
            self.check_may_type(&one)?;
            self.open().workspace.share_ports(one.chat, &one.terminal);
            one.terminal.type_text(text, self.call())?;
        }
        one.update(time, self.call())
    }

    /// Changes the size of a terminal.
    pub fn resize_terminal(&self, name: &str, size: Size) -> Result<()> {
        let one = self.session().terminals().own(name)?;
        self.check_may_type(&one)?;
        one.terminal.resize(size)
    }

    /// Ends a terminal and all processes that it started.
    pub fn stop_terminal(&self, name: &str) -> Result<TerminalView> {
        let one = self.session().terminals().own(name)?;
        self.check_record_write("stop terminal")?;
        one.terminal.stop();
        one.wait_settled(&Deadline::of(SETTLING_TIME));
        one.update(Duration::ZERO, self.call())
    }

    /// A fault if no input may be sent: the start was judged for all input, but plan mode holds for every caller.
    fn check_may_type(&self, one: &OpenTerminal) -> Result<()> {
        let session = self.session();
        self.check_record_write("type")?;
        if let Some(reason) = one.barred_in(session.mode()?) {
            return session.refuse(self.call(), "type", &one.name, &reason);
        }
        one.check_takes_input()
    }
}

impl Terminals<'_> {
    /// The longest time that a terminal may run.
    pub fn longest_life(&self) -> Duration {
        self.session.open().workspace.terminal_limits().life
    }

    /// The terminals of this chat in this process, running and ended, newest first. An agent sees its own.
    pub fn list(&self) -> Result<Vec<TerminalInfo>> {
        let Some(chat) = self.session.current_chat()? else { return Ok(Vec::new()) };
        let mut all = self.session.open().list_terminals()?;
        all.retain(|listed| self.may_see(listed) && listed.chat == chat.id);
        Ok(all)
    }

    /// Ends the terminals of this chat. Returns how many ran.
    pub fn stop_chat(&self, call: &Call) -> Result<usize> {
        self.session.check_record_write(call, "stop terminals")?;
        let Some(chat) = self.session.current_chat()? else { return Ok(0) };
        Ok(self.session.open().stop_terminals(|one| one.chat == chat.id && self.may_use(one)))
    }

    /// The terminals of all chats, in all processes on the data folder, newest first. An agent sees its own.
    pub fn list_all(&self) -> Result<Vec<TerminalInfo>> {
        let open = self.session.open();
        // Asked first: one that ends meanwhile is listed as ended, once.
        let elsewhere = open.list_elsewhere(|listed| self.may_see(listed))?;
        let mut all = open.list_terminals()?;
        all.retain(|listed| self.may_see(listed));
        all.extend(elsewhere);
        all.sort_by_key(|listed| std::cmp::Reverse(listed.run));
        all.dedup_by_key(|listed| listed.run);
        Ok(all)
    }

    /// A terminal by its run, with its screen as long as its process has it.
    pub fn read(&self, call: &Call, run: RunId) -> Result<(TerminalInfo, Option<Screen>)> {
        if let Some((info, screen)) = self.perform(call, run, &TerminalRequest::Look)? {
            return Ok((info, Some(screen)));
        }
        let ended = self.session.open().list_terminals()?;
        let ended = ended.into_iter().find(|one| one.run == run && self.may_see(one));
        Ok((ended.ok_or_else(|| no_terminal(run))?, None))
    }

    /// Types into a terminal, in whichever process it runs. Returns its screen with what the program printed at once.
    pub fn type_into(&self, call: &Call, run: RunId, text: &str) -> Result<(TerminalInfo, Screen)> {
        let detail = format!("{} bytes into terminal {run}", text.len());
        self.change(call, run, "type", detail, &TerminalRequest::Type { text: text.to_owned() })
    }

    /// Changes the size of a terminal, in whichever process it runs.
    pub fn resize(&self, call: &Call, run: RunId, size: Size) -> Result<(TerminalInfo, Screen)> {
        let Size { rows, columns } = size;
        let detail = format!("terminal {run} to {rows} rows and {columns} columns");
        self.change(call, run, "resize", detail, &TerminalRequest::Resize { rows, columns })
    }

    /// Ends a terminal by its run, in whichever process it runs.
    pub fn stop_run(&self, call: &Call, run: RunId) -> Result<()> {
        self.change(call, run, "end", format!("terminal {run}"), &TerminalRequest::Stop)?;
        Ok(())
    }

    /// Does something to a running terminal, and writes the audit row about it.
    fn change(
        &self,
        call: &Call,
        run: RunId,
        action: &str,
        detail: String,
        request: &TerminalRequest,
    ) -> Result<(TerminalInfo, Screen)> {
        let session = self.session;
        session.check_record_write(call, action)?;
        let (info, _) = self.read(call, run)?;
        if info.state != TerminalState::Running {
            return Err(no_terminal(run));
        }
        session.open().workspace.record_audit(&session.audit_entry(call, action, detail))?;
        self.perform(call, run, request)?.ok_or_else(|| no_terminal(run))
    }

    /// Asks the process that runs a terminal, which may be this one. `None` if none runs it that the caller may see.
    fn perform(
        &self,
        call: &Call,
        run: RunId,
        request: &TerminalRequest,
    ) -> Result<Option<(TerminalInfo, Screen)>> {
        let open = self.session.open();
        let answered = match self.find(|one| one.terminal.run() == run) {
            Some(one) => {
                let reply = request.perform(&one, open, call)?;
                Some((one.info(), reply))
            }
            None => open.ask_elsewhere(run, request, |info| self.may_see(info))?,
        };
        Ok(answered.map(|(info, reply)| (info, reply.screen())))
    }

    fn may_see(&self, listed: &TerminalInfo) -> bool {
        let actor = self.session.actor();
        actor.is_person() || listed.by == actor.name()
    }

    fn own(&self, name: &str) -> Result<Arc<OpenTerminal>> {
        let chat = self.session.current_chat()?.map(|chat| chat.id);
        let terminal = self.find(|one| Some(one.chat) == chat && one.name == name);
        terminal.ok_or_else(|| self.no_running_terminal(name))
    }

    /// A terminal of this process, if the session's actor opened it or is a person.
    fn find(&self, is_it: impl Fn(&OpenTerminal) -> bool) -> Option<Arc<OpenTerminal>> {
        let running = self.session.open().terminals.lock();
        running.all.iter().find(|one| self.may_use(one) && is_it(one)).cloned()
    }

    fn may_use(&self, one: &OpenTerminal) -> bool {
        let actor = self.session.actor();
        actor.is_person() || one.actor == actor
    }

    /// The fault if this chat has no running terminal with a name.
    fn no_running_terminal(&self, name: &str) -> Fault {
        let listed = self.list().unwrap_or_default();
        if let Some(listed) = listed.iter().find(|listed| listed.name == name) {
            let state = match listed.state {
                TerminalState::Interrupted => "was interrupted: the server ended while it ran",
                TerminalState::Ended(_) | TerminalState::Running => "is over",
            };
            let log = listed.log.as_ref().map(|path| format!("; what it said is at {path}"));
            let message =
                format!("the session {name} {state}{}. Open another one", log.unwrap_or_default());
            return Fault::new(FaultCode::NotFound, message);
        }
        let running = listed.iter().filter(|listed| listed.state == TerminalState::Running);
        let names: Vec<&str> = running.map(|listed| listed.name.as_str()).take(10).collect();
        let advice = match names.is_empty() {
            true => {
                let opening = self.session.open().hints.opening_terminal;
                format!("none is open in this chat{opening}")
            }
            false => format!("name one that is open in this chat: {}", names.join(", ")),
        };
        Fault::new(FaultCode::NotFound, format!("there is no session {name}; {advice}"))
    }
}

fn no_terminal(run: RunId) -> Fault {
    Fault::new(
        FaultCode::NotFound,
        format!(
            "there is no running terminal {run}; list the terminals to see those that there are"
        ),
    )
}

fn check_name(name: &str) -> Result<()> {
    let is_name =
        !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control);
    if is_name {
        return Ok(());
    }
    let message = format!("expected a session's name of 1 to {MAX_NAME_BYTES} visible characters");
    Err(Fault::new(FaultCode::BadArgument, message))
}
