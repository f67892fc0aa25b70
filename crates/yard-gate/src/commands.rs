//! Commands: judged when they start, run in the box, and judged again by what they changed, before it
//! counts. The text of a command is judged by nobody; it only decides whether a person is asked once for all hosts
//! of an install, or for each host (`install_commands.rs`).
//!
//! Where there is no layer a command runs in place, so that its start is all that can be judged: what is
//! there is recorded before it, and what it changed afterwards, as its caller's step.
//!
//! A yes to a start is used up by it: a command that a crash interrupts is not run again. A landing that
//! has to wait for a person is kept, and the yes lands it: the command is over by then.
//!
//! Whatever its caller may not read is masked in its box, whoever asks for the command.

use std::path::PathBuf;

use yard_core::op::{FETCH_BYTES, Fetch, Import, Land, Landed, TakeIn};
use yard_core::{Call, ChatId, Effect, EffectKind, Fault, FaultCode, Result, RunId, WsPath};
use yard_disk::Said;
use yard_kernel::{Command, Ground, Ran, store_fault};
use yard_sandbox::{Level, Limits as CommandLimits};
use yard_store::{Mode, StoreError};

use crate::approvals::started_already;
use crate::session::{Admission, only_explained};
use crate::{Asks, Origin, Outcome, Session, Verdict};

/// A command that is over, and what became of what it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended and what it said.
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
    /// Runs a command: the only way in for one.
    pub fn run(
        &self,
        origin: Origin<'_>,
        call: &Call,
        command: &Command,
    ) -> Result<Outcome<Finished>> {
        if let Some(run) = self.permitted_run() {
            let ran = self.open().workspace.ran(run)?;
            return match self.refusal() {
                Some(why) => Ok(self.without_effect(ran, why)),
                None => self.land(origin, call, ran),
            };
        }
        let call = &self.reading(origin, call)?;
        let workspace = &self.open().workspace;
        let ground = match workspace.ground()? {
            Ground::Place if self.mode()? == Mode::Plan => Ground::Nothing,
            ground => ground,
        };
        let effect = effect_of_start(command, ground);
        if let Admission::Wait(pending) = self.admit::<Land>(origin, call, &effect, None)? {
            return Ok(Outcome::Pending(pending));
        }
        if self.only_explains() {
            return Err(only_explained());
        }
        // What the command makes is its chat's own.
        let chat = self.needed_chat(call)?.id;
        let command = &self.with_reach(origin, call, chat, command);
        let run = RunId::new(call.world());
        if ground == Ground::Place {
            let whole = Import { path: WsPath::root(), include_ignored: false };
            self.look(origin, call, whole)?;
        }
        let mut starts = || self.start(origin, call, &effect, run);
        let ran = workspace.run(run, command, ground, Some(chat), call, &mut starts)?;
        self.note_traffic(origin, call, run, &ran.hosts)?;
        match ground {
            Ground::Layer => self.land(origin, call, ran),
            Ground::Place => self.take_in(origin, call, ran),
            Ground::Nothing => {
                let why = "this chat is in plan mode: the command could change nothing";
                Ok(self.without_effect(ran, why))
            }
        }
    }

    /// The same command with what it may reach.
    pub(crate) fn with_reach(
        &self,
        origin: Origin<'_>,
        call: &Call,
        chat: ChatId,
        command: &Command,
    ) -> Command {
        let reach = self.reach_of(origin, call, chat, command);
        Command { reach, ..command.clone() }
    }

    /// Runs a command that is there to look: nothing that it writes is kept, and no step comes of it. Where
    /// nothing would hold it back it runs as any other command.
    pub fn run_to_look(
        &self,
        origin: Origin<'_>,
        call: &Call,
        command: &Command,
    ) -> Result<Outcome<Finished>> {
        let workspace = &self.open().workspace;
        let ground = match (workspace.ground()?, workspace.box_level()) {
            (_, Some(Level::Unconfined)) => return self.run(origin, call, command),
            (Ground::Place, _) => Ground::Nothing,
            (ground, _) => ground,
        };
        let call = &self.reading(origin, call)?;
        let effect = Effect::one(EffectKind::Run, command.folder.clone()).on_own(true);
        if let Admission::Wait(pending) = self.admit::<Land>(origin, call, &effect, None)? {
            return Ok(Outcome::Pending(pending));
        }
        if self.only_explains() {
            return Err(only_explained());
        }
        let run = RunId::new(call.world());
        let mut starts = || self.start(origin, call, &effect, run);
        let chat = self.current_chat()?.map(|chat| chat.id);
        let ran = workspace.run(run, command, ground, chat, call, &mut starts)?;
        workspace.drop_run(run);
        Ok(Outcome::Done(Finished { ran, landed: Landed::default(), dropped: None }))
    }

    /// Runs a command to find out what a person is to be shown: nothing of it is kept, nobody is asked, and
    /// what it says is for that person.
    pub fn run_to_show(
        &self,
        origin: Origin<'_>,
        call: &Call,
        command: &Command,
    ) -> Result<Finished> {
        self.check_may_start(origin, call, command)?;
        match self.inner().run_to_look(origin, call, command)? {
            Outcome::Done(finished) => Ok(finished),
            Outcome::Pending(_) => Err(Fault::new(FaultCode::Denied, "looking waits for nobody")),
        }
    }

    /// A fault if the caller may not start a command at all, whoever would be asked: by its role, by the
    /// rules, in plan mode for what reaches others, or because nothing would hold the command back.
    fn check_may_start(&self, origin: Origin<'_>, call: &Call, command: &Command) -> Result<()> {
        self.check_toolset(origin.toolset)?;
        let effect = Effect::one(EffectKind::Run, command.folder.clone()).on_own(true);
        let verdict = self.judge(origin, call, &effect)?;
        let entry = || self.audit_entry::<Land>(origin, call, &effect).detail;
        if let Verdict::Deny(reason) = verdict {
            return self.refuse(call, "start", &entry(), &reason);
        }
        if origin.asks == Asks::Always && self.mode()? == Mode::Plan {
            let why = "this chat is in plan mode, in which nothing reaches others";
            return self.refuse(call, "start", &entry(), why);
        }
        if self.open().workspace.box_level() == Some(Level::Unconfined) {
            let message = "nothing holds commands back here, so that none is started to look first";
            return Err(Fault::new(FaultCode::Unavailable, message));
        }
        Ok(())
    }

    /// All that a command wrote to a stream, up to `most` bytes; of what was not kept, how it began.
    pub fn all_said(
        &self,
        origin: Origin<'_>,
        call: &Call,
        said: &Said,
        most: u64,
    ) -> Result<Vec<u8>> {
        let Some(whole) = said.whole.as_ref().filter(|_| said.left_out() > 0) else {
            return Ok(said.head.clone());
        };
        let mut bytes = Vec::new();
        let mut seen = None;
        while (bytes.len() as u64) < most.min(whole.bytes) {
            let offset = bytes.len() as u64;
            let length = FETCH_BYTES.min(most - offset);
            let part = Fetch { path: whole.path.clone(), offset, length, seen };
            let part = self.look(origin, call, part)?;
            if part.bytes.is_empty() {
                break;
            }
            bytes.extend_from_slice(&part.bytes);
            seen = Some(part.seen);
        }
        Ok(bytes)
    }

    /// Records what a command did whose changes nothing held back.
    fn take_in(&self, origin: Origin<'_>, call: &Call, ran: Ran) -> Result<Outcome<Finished>> {
        // It is over: that the caller's time is up changes nothing about what it did.
        let landed = self.look(origin, &Call::new(call.shared_world()), TakeIn);
        self.open().workspace.drop_run(ran.run);
        Ok(Outcome::Done(Finished { ran, landed: landed?, dropped: None }))
    }

    /// A command of whose changes nothing is kept.
    fn without_effect(&self, ran: Ran, why: &str) -> Outcome<Finished> {
        self.open().workspace.drop_run(ran.run);
        Outcome::Done(Finished { ran, landed: Landed::default(), dropped: Some(why.to_owned()) })
    }

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

    /// Where the whole of what a run said is, stream by stream, as far as it is kept.
    pub fn kept_output(&self, run: RunId) -> Vec<WsPath> {
        self.open().workspace.kept_output(run)
    }

    /// What becomes durable before a command starts: its audit row, and that a yes is used up.
    pub(crate) fn start(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
        run: RunId,
    ) -> Result<()> {
        let mut entry = self.audit_entry::<Land>(origin, call, effect);
        entry.action = "start".to_owned();
        self.open().workspace.record_audit(&entry)?;
        let Some(approval) = self.permitted_start() else { return Ok(()) };
        match self.open().desk.start(approval, run) {
            Err(StoreError::Misfit(_)) => Err(started_already(approval)),
            done => done.map_err(store_fault),
        }
    }

    /// Makes what a command changed so, if it may be.
    fn land(&self, origin: Origin<'_>, call: &Call, ran: Ran) -> Result<Outcome<Finished>> {
        let workspace = &self.open().workspace;
        let run = ran.run;
        if self.mode()? == Mode::Plan {
            let why = "this chat is in plan mode: whatever the command changed was dropped";
            return Ok(self.without_effect(ran, why));
        }
        self.asks_about(run);
        let chat = self.current_chat()?;
        let default_of = chat.as_ref().and_then(|chat| chat.default_of.clone());
        let land = Land { run, chat: chat.map(|chat| chat.id), default_of };
        let landed = match self.perform(origin, call, land) {
            Ok(Outcome::Done(landed)) => Ok((landed, None)),
            Ok(Outcome::Pending(pending)) => return Ok(Outcome::Pending(pending)),
            // The command is over and has something to say: that its changes are gone is part of it.
            Err(fault) if self.tells(&fault) => {
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
        Ok(Outcome::Done(Finished { ran, landed, dropped }))
    }

    /// Whether a fault is about what the command changed, and not about this machine or about a yes.
    fn tells(&self, fault: &Fault) -> bool {
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
