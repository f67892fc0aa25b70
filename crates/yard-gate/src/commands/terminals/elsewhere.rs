//! Terminals that run in other processes on the data folder: this process asks the one that runs a terminal, and answers
//! for its own.
//!
//! Whether a caller may look, type or end was judged by the process that asks, by the records that both share. The process
//! that answers refuses only what the terminal itself does not take now.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use yard_core::{Call, Fault, FaultCode, Result, RunId};
use yard_kernel::{Screen, TerminalService, WriteMode};
use yard_sandbox::{Deadline, Size};
use yard_store::{Mode, TerminalState};

use crate::open::{OpenTerminal, OpenWorkspace, SETTLING_TIME, TerminalInfo};
use crate::session::deleted_chat;

/// How long an answer waits for what the program prints in reply to input.
const REPLY_TIME: Duration = Duration::from_millis(150);
/// How long the screen of another process is waited for.
const LOOK_TIME: Duration = Duration::from_secs(2);
/// The same for input: typing waits 2 seconds for a program that does not read.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// The same for the end of a terminal, whose changes are recorded then.
const END_TIME: Duration = Duration::from_secs(40);
/// How many processes are asked for the screens of their terminals at the same time.
const ASKED_AT_ONCE: usize = 32;

/// What is asked of the process that runs a terminal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum TerminalRequest {
    /// Only its screen.
    Look,
    /// Types a text.
    Type { text: String },
    /// Changes the size of its screen.
    Resize { rows: u16, columns: u16 },
    /// Ends it, with everything that it started.
    Stop,
}

/// What a terminal shows after a request.
#[derive(Serialize, Deserialize)]
pub(super) struct TerminalReply {
    ports: Vec<u16>,
    text: String,
    cursor: (u16, u16),
    rows: u16,
    columns: u16,
    is_full: bool,
}

/// Why a request was refused.
#[derive(Serialize, Deserialize)]
struct Refusal {
    code: String,
    message: String,
}

impl TerminalRequest {
    /// Does it with a terminal of this process.
    pub(super) fn perform(
        &self,
        one: &OpenTerminal,
        open: &OpenWorkspace,
        call: &Call,
    ) -> Result<TerminalReply> {
        match self {
            Self::Look => {}
            Self::Type { text } => {
                one.check_mode(open)?;
                one.check_takes_input()?;
                open.workspace.share_ports(one.chat, &one.terminal);
                let before = one.terminal.activity();
                one.terminal.type_text(text, call)?;
                // What was typed and its echo.
                let replied = before.saturating_add(text.len() as u64 * 2);
                one.terminal.wait_for_activity(replied, REPLY_TIME);
            }
            Self::Resize { rows, columns } => {
                one.check_takes_input()?;
                one.terminal.resize(Size { rows: *rows, columns: *columns })?;
            }
            Self::Stop => {
                one.terminal.stop();
                one.wait_settled(&Deadline::of(SETTLING_TIME));
            }
        }
        Ok(TerminalReply::of(one))
    }

    fn time(&self) -> Duration {
        match self {
            Self::Look => LOOK_TIME,
            Self::Type { .. } | Self::Resize { .. } => ANSWER_TIME,
            Self::Stop => END_TIME,
        }
    }
}

impl TerminalReply {
    fn of(one: &OpenTerminal) -> Self {
        let Screen { text, cursor, size, is_full } = one.terminal.screen();
        let Size { rows, columns } = size;
        Self { ports: one.terminal.ports(), text, cursor, rows, columns, is_full }
    }

    pub(super) fn screen(self) -> Screen {
        let Self { text, cursor, rows, columns, is_full, .. } = self;
        Screen { text, cursor, size: Size { rows, columns }, is_full }
    }
}

impl OpenTerminal {
    /// A fault if its program takes no input any more.
    pub(super) fn check_takes_input(&self) -> Result<()> {
        if let Some(ended) = self.ended() {
            let reason = format!("the session {} was ended: {ended}", self.name);
            return Err(Fault::new(FaultCode::Denied, reason));
        }
        if !self.terminal.is_running() {
            let reason = format!("the session {} is over; open another one", self.name);
            return Err(Fault::new(FaultCode::NotFound, reason));
        }
        Ok(())
    }

    /// Why nothing may be typed while its chat is in a mode.
    pub(super) fn barred_in(&self, mode: Mode) -> Option<String> {
        (self.write_mode == WriteMode::InPlace && mode == Mode::Plan).then(|| {
            format!(
                "this chat is in plan mode, and the session {} was opened in build mode: what is typed \
                 there can change files. Open another session, which cannot",
                self.name
            )
        })
    }

    /// A fault if the mode of its chat allows no input.
    fn check_mode(&self, open: &OpenWorkspace) -> Result<()> {
        let chat = open.records.chat(self.chat)?.ok_or_else(|| deleted_chat(self.chat))?;
        match self.barred_in(chat.mode) {
            Some(reason) => Err(Fault::new(FaultCode::Denied, reason)),
            None => Ok(()),
        }
    }
}

/// Answers the requests of other processes about a terminal of this process until the service is dropped.
pub(super) fn serve(
    open: &Arc<OpenWorkspace>,
    one: &Arc<OpenTerminal>,
    call: &Call,
) -> io::Result<TerminalService> {
    let (workspace, terminal) = (Arc::clone(open), Arc::clone(one));
    let world = call.shared_world();
    open.workspace.serve_terminal(one.terminal.run(), move |request| {
        let invalid = || Fault::new(FaultCode::BadArgument, "this request is not known here");
        let request = serde_json::from_slice::<TerminalRequest>(request).map_err(|_| invalid());
        let call = Call::new(Arc::clone(&world));
        let reply = request.and_then(|request| request.perform(&terminal, &workspace, &call));
        let reply = reply.map_err(|fault| Refusal {
            code: format!("{:?}", fault.code()),
            message: fault.message().to_owned(),
        });
        serde_json::to_vec(&reply).unwrap_or_default()
    })
}

impl OpenWorkspace {
    /// Asks the process that runs a terminal. `None` if no other process runs it, or if it is none of those that may be
    /// seen: then nothing is asked.
    pub(super) fn ask_elsewhere(
        &self,
        run: RunId,
        request: &TerminalRequest,
        may_see: impl Fn(&TerminalInfo) -> bool,
    ) -> Result<Option<(TerminalInfo, TerminalReply)>> {
        let info = self.running_elsewhere(run)?;
        let Some(info) = info.filter(may_see) else { return Ok(None) };
        let invalid = |_| Fault::new(FaultCode::Io, "another process sent what cannot be read");
        let asked = serde_json::to_vec(request).map_err(invalid)?;
        let answer = self.workspace.request_of_terminal(run, &asked, request.time())?;
        let Some(answer) = answer else { return Ok(None) };
        let reply: std::result::Result<TerminalReply, Refusal> =
            serde_json::from_slice(&answer).map_err(invalid)?;
        let reply = reply.map_err(|refusal| {
            let code = FaultCode::ALL.into_iter().find(|code| format!("{code:?}") == refusal.code);
            Fault::new(code.unwrap_or(FaultCode::Unavailable), refusal.message)
        })?;
        Ok(Some((TerminalInfo { ports: reply.ports.clone(), ..info }, reply)))
    }

    /// The terminals that other processes run and that may be seen.
    pub(super) fn list_elsewhere(
        &self,
        may_see: impl Fn(&TerminalInfo) -> bool + Sync,
    ) -> Result<Vec<TerminalInfo>> {
        let mut runs = self.workspace.served_terminals()?;
        let here = self.terminals.lock();
        runs.retain(|run| !here.all.iter().any(|one| one.terminal.run() == *run));
        drop(here);
        // One that does not answer is left out, so that the others are still listed.
        let ask = |run| self.ask_elsewhere(run, &TerminalRequest::Look, &may_see).ok().flatten();
        Ok(ask_together(&runs, ask).into_iter().map(|(info, _)| info).collect())
    }

    /// A terminal as it is if another process runs it.
    fn running_elsewhere(&self, run: RunId) -> Result<Option<TerminalInfo>> {
        let Some(note) = self.workspace.terminal_note(run)? else { return Ok(None) };
        let log = self.workspace.kept_output(run).into_iter().next();
        Ok(TerminalInfo::of_note(&note, run, TerminalState::Running, log))
    }
}

/// Asks many processes at the same time, so that those that do not answer are waited for together.
fn ask_together<T: Send>(runs: &[RunId], ask: impl Fn(RunId) -> Option<T> + Sync) -> Vec<T> {
    let ask = &ask;
    let mut answers = Vec::new();
    for some in runs.chunks(ASKED_AT_ONCE) {
        thread::scope(|scope| {
            let asked: Vec<_> = some.iter().map(|run| scope.spawn(move || ask(*run))).collect();
            answers.extend(asked.into_iter().filter_map(|one| one.join().ok().flatten()));
        });
    }
    answers
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn processes_are_asked_at_the_same_time_and_their_answers_are_in_order() {
        let runs: Vec<RunId> = (0..40).map(|number| RunId::from_bytes([number; 16])).collect();
        // Nobody gets past it alone.
        let pairs = Barrier::new(2);
        let answers = ask_together(&runs, |run| {
            pairs.wait();
            (run != runs[7]).then_some(run)
        });
        let expected: Vec<RunId> = runs.iter().copied().filter(|run| *run != runs[7]).collect();
        assert_eq!(answers, expected);
    }
}
