//! Commands: judged when they start, run in the box, and judged again by what they changed, before that
//! counts. The text of a command is not judged; it only decides whether a person is asked once for all hosts
//! of an install, or for each host (`install_commands.rs`).
//!
//! Where there is no layer a command runs in place, so that its start is all that can be judged: what is
//! there is recorded before it, and what it changed afterwards, as its caller's step.
//!
//! A yes to a start is used up by it: a command that a crash interrupts is not run again. A landing that
//! has to wait for a person is kept, and the yes lands it: the command is over by then.
//!
//! Whatever its caller may not read is masked in its box.

use std::path::PathBuf;

use yard_core::op::{Land, Landed};
use yard_core::{ChatId, Effect, EffectKind, Fault, FaultCode, Result, RunId, WsPath};
use yard_disk::CapturedOutput;
use yard_kernel::{Command, Ground, Ran, store_fault};
use yard_sandbox::{CommandLimits, Level};
use yard_store::{Mode, StoreError};

use crate::approvals::started_already;
use crate::attempt::Admission;
use crate::{Asks, Attempt, Completion, Session, Verdict};

/// A command that is over, and what became of its changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended and its output.
    pub ran: Ran,
    /// What it changed, if that was kept.
    pub landed: Landed,
    /// Why nothing of what it changed was kept.
    pub dropped: Option<String>,
}

/// What the start of a command does: in place, whatever the command will do, which nobody knows.
pub(crate) fn effect_of_start(command: &Command, ground: Ground) -> Effect {
    let start = Effect::one(EffectKind::Run, command.folder.clone());
    if ground != Ground::Place {
        return start.on_own(true);
    }
    let kinds = [EffectKind::Create, EffectKind::Modify, EffectKind::Remove];
    let anything = kinds.map(|kind| Effect::one(kind, WsPath::root()).with_contents().paths);
    let paths = start.paths.into_iter().chain(anything.into_iter().flatten()).collect();
    Effect { paths, ..Effect::default() }
}

impl Session {
    /// The folder of a program that is on this machine and not in the box, where callers may know that.
    pub fn hidden_program(&self, name: &str) -> Option<PathBuf> {
        self.open().workspace.hidden_program(name)
    }

    /// What a command may use here.
    pub fn command_limits(&self) -> CommandLimits {
        self.open().workspace.command_limits()
    }

    /// Forgets a run, with what it changed.
    pub fn forget_run(&self, run: RunId) {
        self.open().workspace.drop_run(run);
    }

    /// Where the whole output of a run is, stream by stream, as far as it is kept.
    pub fn kept_output(&self, run: RunId) -> Vec<WsPath> {
        self.open().workspace.kept_output(run)
    }
}

impl Attempt<'_> {
    /// Runs a command: the only way in for one.
    pub fn run(&self, command: &Command) -> Result<Completion<Finished>> {
        if let Some(run) = self.permitted_run() {
            let ran = self.open().workspace.ran(run)?;
            return match self.refusal() {
                Some(why) => Ok(self.without_effect(ran, why)),
                None => self.land(ran),
            };
        }
        let call = self.reading()?;
        self.during(&call).start_and_land(command)
    }

    fn start_and_land(&self, command: &Command) -> Result<Completion<Finished>> {
        let (call, workspace) = (self.call(), &self.open().workspace);
        let ground = match workspace.ground()? {
            Ground::Place if self.session().mode()? == Mode::Plan => Ground::Nothing,
            ground => ground,
        };
        let effect = effect_of_start(command, ground);
        if let Admission::Wait(pending) = self.admit::<Land>(&effect)? {
            return Ok(Completion::Pending(pending));
        }
        self.check_happens()?;
        // What the command makes is its chat's own.
        let chat = self.session().needed_chat(call)?.id;
        let command = &self.with_reach(chat, command);
        let run = RunId::new(call.world());
        if ground == Ground::Place {
            self.record_changes_of_others()?;
        }
        let mut starts = || self.start(&effect, run);
        let ran = workspace.run(run, command, ground, Some(chat), call, &mut starts)?;
        self.note_traffic(run, &ran.hosts)?;
        match ground {
            Ground::Layer => self.land(ran),
            Ground::Place => {
                let landed = self.record_changes_in_place();
                workspace.drop_run(ran.run);
                Ok(Completion::Done(Finished { ran, landed: landed?, dropped: None }))
            }
            Ground::Nothing => {
                let why = "this chat is in plan mode: the command could change nothing";
                Ok(self.without_effect(ran, why))
            }
        }
    }

    /// The same command with what it may reach.
    pub(crate) fn with_reach(&self, chat: ChatId, command: &Command) -> Command {
        Command { reach: self.reach_of(chat, command), ..command.clone() }
    }

    /// Runs a command that only reads: nothing that it writes is kept, and no step comes of it. Where
    /// nothing would hold it back it runs as any other command.
    pub fn run_read_only(&self, command: &Command) -> Result<Completion<Finished>> {
        let workspace = &self.open().workspace;
        workspace.ground()?;
        if workspace.box_level() == Some(Level::Unconfined) {
            return self.run(command);
        }
        let effect = effect_of_confined_start(command);
        let call = self.reading()?;
        let attempt = self.during(&call);
        if let Admission::Wait(pending) = attempt.admit::<Land>(&effect)? {
            return Ok(Completion::Pending(pending));
        }
        attempt.check_happens()?;
        let mut starts = |run| attempt.start(&effect, run);
        Ok(Completion::Done(attempt.run_and_drop(command, &mut starts)?))
    }

    /// Runs a command to find out what a person is to be shown: nothing of it is kept, nobody is asked, and
    /// its output is for that person. It is refused where no command may start, and needs a box.
    pub fn run_to_preview(&self, command: &Command) -> Result<Finished> {
        self.check_may_preview(command)?;
        self.open().workspace.ground()?;
        let effect = effect_of_confined_start(command);
        let call = self.reading()?;
        let attempt = self.during(&call);
        attempt.note_preview(&effect)?;
        // It uses up no yes: that is for the command that follows.
        let mut starts = |_| attempt.audit_start(&effect);
        attempt.run_and_drop(command, &mut starts)
    }

    /// Runs a command of whose changes nothing is kept.
    fn run_and_drop(
        &self,
        command: &Command,
        starts: &mut dyn FnMut(RunId) -> Result<()>,
    ) -> Result<Finished> {
        let workspace = &self.open().workspace;
        let ground = match workspace.ground()? {
            Ground::Place => Ground::Nothing,
            ground => ground,
        };
        let run = RunId::new(self.call().world());
        let chat = self.session().current_chat()?.map(|chat| chat.id);
        let mut starts = || starts(run);
        let ran = workspace.run(run, command, ground, chat, self.call(), &mut starts)?;
        workspace.drop_run(run);
        Ok(Finished { ran, landed: Landed::default(), dropped: None })
    }

    /// A fault if the caller may not start a command at all: by its role, by the
    /// rules, in plan mode for what reaches others, or because nothing would hold the command back.
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

    /// All that a command wrote to a stream, up to `most` bytes; of what was not kept, its beginning.
    pub fn whole_output(&self, said: &CapturedOutput, most: u64) -> Result<Vec<u8>> {
        match said.whole.as_ref().filter(|_| said.left_out() > 0) {
            Some(whole) => self.unjudged_reads().bytes(&whole.path, most.min(whole.bytes)),
            None => Ok(said.head.clone()),
        }
    }

    /// A command of whose changes nothing is kept.
    fn without_effect(&self, ran: Ran, why: &str) -> Completion<Finished> {
        self.open().workspace.drop_run(ran.run);
        Completion::Done(Finished { ran, landed: Landed::default(), dropped: Some(why.to_owned()) })
    }

    /// What becomes durable before a command starts: its audit row, and that a yes is used up.
    pub(crate) fn start(&self, effect: &Effect, run: RunId) -> Result<()> {
        self.audit_start(effect)?;
        let Some(approval) = self.permitted_start() else { return Ok(()) };
        match self.open().desk.start(approval, run) {
            Err(StoreError::Misfit(_)) => Err(started_already(approval)),
            done => done.map_err(store_fault),
        }
    }

    fn audit_start(&self, effect: &Effect) -> Result<()> {
        let mut entry = self.audit_entry::<Land>(effect);
        entry.action = "start".to_owned();
        self.open().workspace.record_audit(&entry)
    }

    /// Commits what a command changed, if that may happen.
    fn land(&self, ran: Ran) -> Result<Completion<Finished>> {
        let workspace = &self.open().workspace;
        let run = ran.run;
        if self.session().mode()? == Mode::Plan {
            let why = "this chat is in plan mode: whatever the command changed was dropped";
            return Ok(self.without_effect(ran, why));
        }
        self.set_run(run);
        let chat = self.session().current_chat()?;
        let default_of = chat.as_ref().and_then(|chat| chat.default_of.clone());
        let land = Land { run, chat: chat.map(|chat| chat.id), default_of };
        let landed = match self.perform(land) {
            Ok(Completion::Done(landed)) => Ok((landed, None)),
            Ok(Completion::Pending(pending)) => return Ok(Completion::Pending(pending)),
            // The command is over and has output: that its changes are gone is part of the answer.
            Err(fault) if self.is_about_changes(&fault) => {
                let why = format!("nothing that the command changed was kept: {}", fault.message());
                Ok((Landed::default(), Some(why)))
            }
            Err(fault) => Err(fault),
        };
        // What was approved is kept until its answer is: another process may be landing it.
        if self.permitted_run().is_none() {
            workspace.drop_run(run);
        }
        let (landed, dropped) = landed?;
        Ok(Completion::Done(Finished { ran, landed, dropped }))
    }

    /// Whether a fault is about what the command changed, and not about this machine or about a yes.
    fn is_about_changes(&self, fault: &Fault) -> bool {
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

/// What the start of a command does of whose changes nothing is kept.
fn effect_of_confined_start(command: &Command) -> Effect {
    Effect::one(EffectKind::Run, command.folder.clone()).on_own(true)
}
