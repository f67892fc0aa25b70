//! Open terminals and the rules: they are judged anew when the rules are others than before, and those that
//! may not go on are ended with the reason.

use std::sync::{Arc, Mutex};

use yard_core::{Call, Effect};

use super::{Held, held};
use crate::{Asks, Origin, Policy, Session, Verdict};

/// What was judged when a terminal was opened.
pub(super) struct Start {
    pub(super) policy: Policy,
    pub(super) toolset: String,
    pub(super) tool: String,
    pub(super) asks: Asks,
    pub(super) effect: Effect,
    /// A person was asked, and said yes.
    pub(super) was_asked: bool,
    /// The rules under which it was judged last.
    pub(super) rules: Mutex<String>,
}

impl Start {
    fn origin(&self) -> Origin<'_> {
        Origin { toolset: &self.toolset, tool: &self.tool, asks: self.asks }
    }
}

impl Session {
    /// Judges the open terminals by the rules as they are now.
    pub(crate) fn judge_terminals_anew(&self, call: &Call) {
        let all: Vec<Arc<Held>> = held(&self.open().terminals).all.clone();
        all.iter().for_each(|one| self.judge_anew(one, call));
    }

    /// Judges a terminal by the rules as they are now, if they are not those of the last time. One that may
    /// not go on is ended.
    pub(super) fn judge_anew(&self, one: &Held, call: &Call) {
        let Ok(rules) = self.open().rules(call) else { return };
        let rules = rules.in_full();
        if !one.terminal.runs() || *held(&one.start.rules) == rules {
            return;
        }
        if let Some(reason) = self.against(one, call) {
            let detail = format!("terminal {}: {reason}", one.terminal.run());
            // It is ended, whether or not that can be written down.
            let _ = self.open().workspace.record_audit(&self.desk_audit(call, "end", detail));
            one.end_because(reason);
        }
        *held(&one.start.rules) = rules;
    }

    /// What stands against a terminal that is open.
    fn against(&self, one: &Held, call: &Call) -> Option<String> {
        let opener = self.instead_as(one.actor, one.start.policy, one.chat);
        let (origin, start) = (one.start.origin(), &one.start);
        match opener.judgement(origin, call, &start.effect).ok()?.verdict {
            Verdict::Deny(reason) => return Some(reason),
            Verdict::Ask(reason) if !start.was_asked => return Some(reason),
            Verdict::Allow | Verdict::Ask(_) => {}
        }
        let call = opener.reading(origin, call).ok()?;
        match self.open().workspace.unmasked(&one.terminal, &call) {
            Ok(None) => None,
            Ok(Some(path)) => {
                Some(format!("{path} may not be read any more. Open another session"))
            }
            Err(fault) => Some(fault.message().to_owned()),
        }
    }
}
