//! The thread that follows a terminal as long as its program runs: it records the changes of the program, ends it when it
//! is not used or the rules do not allow it any more, and publishes its end.

use std::sync::Arc;
use std::time::Duration;

use yard_core::Call;
use yard_kernel::{TerminalService, WriteMode};
use yard_sandbox::Deadline;

use super::elsewhere;
use crate::open::OpenTerminal;
use crate::{Asks, Attempt, Origin, Session};

/// The time between two checks for activity of the program.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How often changes are recorded of a program without output.
const SILENT_INTERVAL: Duration = Duration::from_secs(15);
/// Recording changes takes at most one in so many parts of the time.
const MAX_TIME_SHARE: u32 = 20;
/// How many steps of a terminal wait to be shown.
const MAX_STEPS: usize = 16;

/// Follows a terminal and records its changes.
pub(super) struct Follower {
    session: Session,
    terminal: Arc<OpenTerminal>,
    toolset: String,
    tool: String,
    call: Call,
    idle: Duration,
    /// Without it the terminal still works, but other processes cannot reach it.
    _service: Option<TerminalService>,
}

/// Marks the terminal as settled when the follower ends, also if it panics.
struct SettleOnDrop<'a>(&'a OpenTerminal);

impl Drop for SettleOnDrop<'_> {
    fn drop(&mut self) {
        self.0.mark_settled();
    }
}

impl Follower {
    pub(super) fn new(
        session: Session,
        terminal: Arc<OpenTerminal>,
        opened_by: &Attempt<'_>,
    ) -> Self {
        let (origin, call) = (opened_by.origin(), opened_by.call());
        let idle = session.open().workspace.terminal_limits().idle;
        let service = elsewhere::serve(session.open(), &terminal, call).ok();
        Self {
            session,
            terminal,
            toolset: origin.toolset.to_owned(),
            tool: origin.tool.to_owned(),
            call: Call::new(call.shared_world()),
            idle,
            _service: service,
        }
    }

    /// Ends the terminal, and returns once its changes are recorded.
    pub(super) fn stop_and_record(&self) {
        self.terminal.terminal.stop();
        self.follow();
    }

    /// Returns when the terminal has ended and its changes are recorded.
    pub(super) fn follow(&self) {
        let _settling = SettleOnDrop(&self.terminal);
        let terminal = &self.terminal.terminal;
        let (mut last_activity, mut recorded_activity) = (0, 0);
        let mut until_unused = Deadline::of(self.idle);
        let (mut pause, mut until_check) =
            (Deadline::of(Duration::ZERO), Deadline::of(SILENT_INTERVAL));
        loop {
            let was_woken = terminal.wait_for_wake(CHECK_INTERVAL);
            if !terminal.is_running() {
                break;
            }
            if last_activity != terminal.activity() {
                (last_activity, until_unused) = (terminal.activity(), Deadline::of(self.idle));
            } else if until_unused.left().is_zero() {
                terminal.stop();
            }
            // Another process may have set other rules. If it cannot be judged now, the next round judges it again.
            let _ = self.session.rejudge_terminal(&self.terminal, &self.call);
            let has_news = was_woken || recorded_activity != last_activity;
            if (has_news || until_check.left().is_zero()) && pause.left().is_zero() {
                recorded_activity = last_activity;
                let begun = self.call.world().elapsed();
                self.record();
                let cost = self.call.world().elapsed().saturating_sub(begun);
                pause = Deadline::of(cost.saturating_mul(MAX_TIME_SHARE));
                until_check = Deadline::of(SILENT_INTERVAL);
            }
        }
        let (one, open) = (&self.terminal, self.session.open());
        // The terminal is over, even if the audit row cannot be written.
        let _ = self.attempt().audit_traffic(terminal.run(), &terminal.hosts());
        if !open.is_closing_others() {
            self.record();
        }
        one.publish(open, self.call.world().now(), one.state());
        let _ = open.workspace.mark_terminal_reported(terminal.run());
        let _ = open.workspace.forget_old_terminals();
    }

    fn attempt(&self) -> Attempt<'_> {
        let origin = Origin { toolset: &self.toolset, tool: &self.tool, asks: Asks::Never };
        self.session.attempt(origin, &self.call)
    }

    fn record(&self) {
        if self.terminal.write_mode != WriteMode::InPlace {
            return;
        }
        // One terminal at a time, so that the next one does not read again what this one has recorded.
        let one_at_a_time = self.session.open().recording.lock();
        let landed = self.attempt().record_changes_in_place();
        drop(one_at_a_time);
        let mut recorded = self.terminal.recorded.lock();
        match landed {
            Ok(landed) if landed.step.is_some() => {
                recorded.trouble = None;
                recorded.steps.push(landed);
                let old = recorded.steps.len().saturating_sub(MAX_STEPS);
                recorded.steps.drain(..old);
            }
            Ok(_) => recorded.trouble = None,
            Err(fault) => recorded.trouble = Some(fault.message().to_owned()),
        }
    }
}
