//! The thread that goes with a terminal for as long as its program runs: it records what the program changes, ends it
//! when nobody uses it or the rules do not allow it any more, and publishes its end.

use std::sync::Arc;
use std::time::Duration;

use yard_core::Call;
use yard_kernel::Ground;
use yard_sandbox::Deadline;

use crate::open::{OpenTerminal, held};
use crate::{Asks, Attempt, Origin, Session};

/// Between two looks whether a program did something.
const REST: Duration = Duration::from_secs(1);
/// A program that says nothing may change files all the same: it is looked for so often.
const SILENT: Duration = Duration::from_secs(15);
/// Looking for changes takes at most one part in so many of the time.
const SHARE: u32 = 20;
/// However long it took, by a clock that may have been set meanwhile.
const LONGEST_COST: i64 = 60_000;
/// Steps that a terminal made and no look has shown yet.
const MOST_STEPS: usize = 16;

/// Goes with a terminal and records what it changes.
pub(super) struct Follower {
    session: Session,
    terminal: Arc<OpenTerminal>,
    toolset: String,
    tool: String,
    call: Call,
    idle: Duration,
}

/// However a follower ends, nobody waits for it any longer.
struct Settling<'a>(&'a OpenTerminal);

impl Drop for Settling<'_> {
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
        Self {
            session,
            terminal,
            toolset: origin.toolset.to_owned(),
            tool: origin.tool.to_owned(),
            call: Call::new(call.shared_world()),
            idle,
        }
    }

    pub(super) fn follow(&self) {
        let _settling = Settling(&self.terminal);
        let terminal = &self.terminal.terminal;
        let (mut moved, mut recorded, mut idle) = (0, 0, Deadline::of(self.idle));
        let (mut rest, mut silent) = (Deadline::of(Duration::ZERO), Deadline::of(SILENT));
        loop {
            let nudged = terminal.rests(REST);
            if !terminal.runs() {
                break;
            }
            if moved != terminal.moved() {
                (moved, idle) = (terminal.moved(), Deadline::of(self.idle));
            } else if idle.left().is_zero() {
                terminal.stop();
            }
            // Another process may have set other rules.
            self.session.judge_anew(&self.terminal, &self.call);
            let is_due = nudged || recorded != moved || silent.left().is_zero();
            if is_due && rest.left().is_zero() {
                recorded = moved;
                let begun = self.now();
                self.record();
                let cost = self.now().saturating_sub(begun).clamp(0, LONGEST_COST);
                rest = Deadline::of(Duration::from_millis(cost.unsigned_abs()) * SHARE);
                silent = Deadline::of(SILENT);
            }
        }
        let (one, open) = (&self.terminal, self.session.open());
        // The terminal is over, whether or not this can be written down.
        let _ = self.attempt().note_traffic(terminal.run(), &terminal.hosts());
        if !open.is_closing_others() {
            self.record();
        }
        one.publish(open, self.call.world().now(), one.state());
        let _ = open.workspace.terminal_is_told(terminal.run());
        let _ = open.workspace.forget_old_terminals();
    }

    fn attempt(&self) -> Attempt<'_> {
        let origin = Origin { toolset: &self.toolset, tool: &self.tool, asks: Asks::Never };
        self.session.attempt(origin, &self.call)
    }

    fn now(&self) -> i64 {
        self.call.world().now().as_millis()
    }

    fn record(&self) {
        if self.terminal.ground != Ground::Place {
            return;
        }
        // One at a time: what one has recorded the next one need not read.
        let one_at_a_time = held(&self.session.open().recording);
        let landed = self.attempt().record_changes_in_place();
        drop(one_at_a_time);
        let mut recorded = held(&self.terminal.recorded);
        match landed {
            Ok(landed) if landed.step.is_some() => {
                recorded.trouble = None;
                recorded.steps.push(landed);
                let old = recorded.steps.len().saturating_sub(MOST_STEPS);
                recorded.steps.drain(..old);
            }
            Ok(_) => recorded.trouble = None,
            Err(fault) => recorded.trouble = Some(fault.message().to_owned()),
        }
    }
}
