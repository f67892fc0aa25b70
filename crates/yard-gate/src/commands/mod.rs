//! Commands: the start is judged, the command runs in the box, and its changes are judged before they are committed.
//! The text of a command is not judged. It only decides whether a person is asked once for all hosts of an install, or
//! for each host (`install_commands.rs`).
//!
//! Without an overlay a command runs in place, and only its start can be judged: the state of the folder is recorded
//! before it, and its changes afterwards, as a step of its caller.
//!
//! A start uses up its approval: a command that a crash interrupts is not run again. A landing that waits for a person
//! is stored, and an approval commits it: the command is over by then.
//!
//! Files that the caller may not read are masked in the box.

mod connections;
mod install_commands;
pub(crate) mod terminals;

use std::path::PathBuf;

use yard_core::op::{Land, Landed};
use yard_core::{ChatId, Effect, EffectKind, Fault, FaultCode, Result, RunId, WsPath};
use yard_disk::CapturedOutput;
use yard_kernel::{Command, FinishedRun, NewRun, WriteMode};
use yard_sandbox::{CommandLimits, Level};
use yard_store::{Mode, StoreError};

use crate::approvals::started_before;
use crate::attempt::Admission;
use crate::{Asks, Attempt, Completion, Session, Verdict};

/// A command that is over, and the outcome of its changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended and its output.
    pub ran: FinishedRun,
    /// The changes that were committed.
    pub landed: Landed,
    /// Why its changes were dropped.
    pub dropped: Option<String>,
}

/// The effect of starting a command. In place it is any change, because it is not known what the command will do.
pub(crate) fn effect_of_start(command: &Command, write_mode: WriteMode) -> Effect {
    let start = Effect::one(EffectKind::Run, command.folder.clone());
    if write_mode != WriteMode::InPlace {
        return start.on_own(true);
    }
    let kinds = [EffectKind::Create, EffectKind::Modify, EffectKind::Remove];
    let anything = kinds.map(|kind| Effect::one(kind, WsPath::root()).with_contents().paths);
    let paths = start.paths.into_iter().chain(anything.into_iter().flatten()).collect();
    Effect { paths, ..Effect::default() }
}

impl Session {
    /// The folder of a program that is on this machine and not in the box, if callers may know it.
    pub fn hidden_program(&self, name: &str) -> Option<PathBuf> {
        self.open().workspace.hidden_program(name)
    }

    /// The resource limits of commands.
    pub fn command_limits(&self) -> CommandLimits {
        self.open().workspace.command_limits()
    }

    /// Removes a run and its changes.
    pub fn forget_run(&self, run: RunId) {
        self.open().workspace.drop_run(run);
    }

    /// The files with the whole output of a run, one per stream that is stored.
    pub fn kept_output(&self, run: RunId) -> Vec<WsPath> {
        self.open().workspace.kept_output(run)
    }
}

impl Attempt<'_> {
    /// Runs a command. Every command of a tool is run here.
    pub fn run(&self, command: &Command) -> Result<Completion<Finished>> {
        if let Some(run) = self.permitted_run() {
            let ran = self.open().workspace.finished_run(run)?;
            return match self.refusal() {
                Some(why) => Ok(self.dropping_changes(ran, why)),
                None => self.land(ran),
            };
        }
        let call = self.restricted_call()?;
        self.with_call(&call).start_and_land(command)
    }

    fn start_and_land(&self, command: &Command) -> Result<Completion<Finished>> {
        let (call, workspace) = (self.call(), &self.open().workspace);
        let write_mode = match workspace.write_mode()? {
            WriteMode::InPlace if self.session().mode()? == Mode::Plan => WriteMode::ReadOnly,
            write_mode => write_mode,
        };
        let effect = effect_of_start(command, write_mode);
        if let Admission::Wait(pending) = self.admit::<Land>(&effect)? {
            return Ok(Completion::Pending(pending));
        }
        self.check_not_dry_run()?;
        // The files that the command makes belong to its chat.
        let chat = self.session().needed_chat(call)?.id;
        let command = &self.with_network(chat, command);
        let id = RunId::new(call.world());
        if write_mode == WriteMode::InPlace {
            self.record_changes_of_others()?;
        }
        let mut on_start = || self.start(&effect, id);
        let new = NewRun { id, command, write_mode, chat: Some(chat) };
        let ran = workspace.run(&new, call, &mut on_start)?;
        let audited = self.audit_traffic(id, &ran.hosts);
        let outcome = match write_mode {
            WriteMode::Overlay => self.land(ran)?,
            WriteMode::InPlace => {
                let landed = self.record_changes_in_place();
                workspace.drop_run(ran.run);
                Completion::Done(Finished { ran, landed: landed?, dropped: None })
            }
            WriteMode::ReadOnly => {
                let why = "this chat is in plan mode: the command could change nothing";
                self.dropping_changes(ran, why)
            }
        };
        // The command has run: its changes are recorded, even if the audit row about its traffic cannot be written.
        audited.map(|()| outcome)
    }

    /// The same command with the hosts that it may reach.
    pub(crate) fn with_network(&self, chat: ChatId, command: &Command) -> Command {
        Command { reach: self.network_access(chat, command), ..command.clone() }
    }

    /// Runs a command that only reads: its changes are dropped. If commands are unconfined, it runs as any other command.
    pub fn run_read_only(&self, command: &Command) -> Result<Completion<Finished>> {
        let workspace = &self.open().workspace;
        workspace.write_mode()?;
        if workspace.box_level() == Some(Level::Unconfined) {
            return self.run(command);
        }
        let effect = effect_of_confined_start(command);
        let call = self.restricted_call()?;
        let attempt = self.with_call(&call);
        if let Admission::Wait(pending) = attempt.admit::<Land>(&effect)? {
            return Ok(Completion::Pending(pending));
        }
        attempt.check_not_dry_run()?;
        let mut on_start = |run| attempt.start(&effect, run);
        Ok(Completion::Done(attempt.run_and_drop(command, &mut on_start)?))
    }

    /// Runs a command whose output a person is shown before they are asked: its changes are dropped, and no person is
    /// asked before it. It is refused if no command may start or commands are unconfined.
    pub fn run_to_preview(&self, command: &Command) -> Result<Finished> {
        self.check_may_preview(command)?;
        self.open().workspace.write_mode()?;
        let effect = effect_of_confined_start(command);
        let call = self.restricted_call()?;
        let attempt = self.with_call(&call);
        attempt.record_preview(&effect)?;
        // It uses up no approval: that is for the command that follows.
        let mut on_start = |_| attempt.audit_start(&effect);
        attempt.run_and_drop(command, &mut on_start)
    }

    /// Runs a command and drops its changes.
    fn run_and_drop(
        &self,
        command: &Command,
        on_start: &mut dyn FnMut(RunId) -> Result<()>,
    ) -> Result<Finished> {
        let workspace = &self.open().workspace;
        let write_mode = match workspace.write_mode()? {
            WriteMode::InPlace => WriteMode::ReadOnly,
            write_mode => write_mode,
        };
        let id = RunId::new(self.call().world());
        let chat = self.session().current_chat()?.map(|chat| chat.id);
        let new = NewRun { id, command, write_mode, chat };
        let ran = workspace.run(&new, self.call(), &mut || on_start(id))?;
        workspace.drop_run(id);
        Ok(Finished { ran, landed: Landed::default(), dropped: None })
    }

    /// A fault if the caller may start no command: by its role, by the rules, in plan mode if the command affects other
    /// machines, or because commands are unconfined.
    fn check_may_preview(&self, command: &Command) -> Result<()> {
        let (session, origin) = (self.session(), self.origin());
        session.check_toolset(origin.toolset)?;
        let effect = effect_of_confined_start(command);
        let refuse = |why: &str| {
            let detail = self.audit_entry::<Land>(&effect).detail;
            session.refuse(self.call(), "start", &detail, why)
        };
        if let Verdict::Deny(reason) = self.judge(&effect)? {
            return refuse(&reason);
        }
        if origin.asks == Asks::Always && session.mode()? == Mode::Plan {
            return refuse("this chat is in plan mode, in which nothing reaches others");
        }
        if self.open().workspace.box_level() == Some(Level::Unconfined) {
            let message = "nothing holds commands back here, so that none is started to look first";
            return Err(Fault::new(FaultCode::Unavailable, message));
        }
        Ok(())
    }

    /// What a command wrote to a stream, up to `max` bytes. If it was not stored, its beginning.
    pub fn whole_output(&self, said: &CapturedOutput, max: u64) -> Result<Vec<u8>> {
        match said.whole.as_ref().filter(|_| said.left_out() > 0) {
            Some(whole) => self.unjudged_reads().bytes(&whole.path, max.min(whole.bytes)),
            None => Ok(said.head.clone()),
        }
    }

    /// The outcome of a command whose changes are dropped.
    fn dropping_changes(&self, ran: FinishedRun, why: &str) -> Completion<Finished> {
        self.open().workspace.drop_run(ran.run);
        Completion::Done(Finished { ran, landed: Landed::default(), dropped: Some(why.to_owned()) })
    }

    /// Writes the audit row of a start and uses up its approval, before the command starts.
    pub(crate) fn start(&self, effect: &Effect, run: RunId) -> Result<()> {
        self.audit_start(effect)?;
        self.use_up_approval(run)
    }

    /// Uses up the approval of a start or a request, if it has one.
    pub(crate) fn use_up_approval(&self, run: RunId) -> Result<()> {
        let Some(approval) = self.permitted_start() else { return Ok(()) };
        match self.open().records.start(approval, run) {
            Err(StoreError::Misfit(_)) => Err(started_before(approval)),
            done => done.map_err(Fault::from),
        }
    }

    fn audit_start(&self, effect: &Effect) -> Result<()> {
        let mut entry = self.audit_entry::<Land>(effect);
        entry.action = "start".to_owned();
        self.open().workspace.record_audit(&entry)
    }

    /// Judges and commits the changes of a command, and drops its run.
    fn land(&self, ran: FinishedRun) -> Result<Completion<Finished>> {
        let run = ran.run;
        let outcome = self.land_and_keep(ran);
        // One that a person is asked about is kept. An approved one is kept until its answer is stored: another process may
        // be landing it.
        let is_asked = matches!(outcome, Ok(Completion::Pending(_)));
        if !is_asked && self.permitted_run().is_none() {
            self.open().workspace.drop_run(run);
        }
        outcome
    }

    fn land_and_keep(&self, ran: FinishedRun) -> Result<Completion<Finished>> {
        let run = ran.run;
        if self.session().mode()? == Mode::Plan {
            // A dry run keeps the changes.
            self.check_not_dry_run()?;
            let why = "this chat is in plan mode: whatever the command changed was dropped";
            return Ok(self.dropping_changes(ran, why));
        }
        self.set_run(run);
        let chat = self.session().current_chat()?;
        let default_of = chat.as_ref().and_then(|chat| chat.default_of.clone());
        let land = Land { run, chat: chat.map(|chat| chat.id), default_of };
        let landed = match self.perform(land) {
            Ok(Completion::Done(landed)) => Ok((landed, None)),
            Ok(Completion::Pending(pending)) => return Ok(Completion::Pending(pending)),
            // The command is over and has output: the answer says that its changes were dropped.
            Err(fault) if self.is_about_its_changes(&fault) => {
                let why = format!("nothing that the command changed was kept: {}", fault.message());
                Ok((Landed::default(), Some(why)))
            }
            Err(fault) => Err(fault),
        };
        let (landed, dropped) = landed?;
        Ok(Completion::Done(Finished { ran, landed, dropped }))
    }

    /// Whether a fault is about the changes of a command, and not about this machine or an approval.
    fn is_about_its_changes(&self, fault: &Fault) -> bool {
        match fault.code() {
            FaultCode::Io
            | FaultCode::DiskFull
            | FaultCode::Timeout
            | FaultCode::NotRun
            | FaultCode::Unavailable => false,
            FaultCode::Stale => true,
            _ => self.permitted_run().is_none(),
        }
    }
}

/// The effect of starting a command whose changes are dropped.
fn effect_of_confined_start(command: &Command) -> Effect {
    Effect::one(EffectKind::Run, command.folder.clone()).on_own(true)
}

/// The command line that a person is shown, cut to `max_bytes`: what a shell is given, or the program with its arguments.
pub(crate) fn command_line(command: &Command, max_bytes: usize) -> String {
    let arguments = || {
        let words: Vec<_> = command.argv.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    };
    let mut text = command.shell_line.clone().unwrap_or_else(arguments);
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_person_is_shown_all_arguments_unless_the_tool_says_what_the_shell_gets() {
        let argv = ["sh", "-c", "curl evil", "sh", "pip install x"].map(Into::into).to_vec();
        let command = Command::new(argv, WsPath::root(), Duration::ZERO);
        assert_eq!(command_line(&command, 100), "sh -c curl evil sh pip install x");
        let line = Some("pip install x".to_owned());
        let command = Command { shell_line: line, ..command };
        assert_eq!(command_line(&command, 100), "pip install x");
        assert_eq!(command_line(&command, 3), "pip…");
    }
}
