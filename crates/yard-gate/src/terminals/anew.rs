//! Open terminals and the rules: they are judged anew when the rules are others than before, and those that
//! may not go on are ended with the reason.

use std::sync::Arc;

use yard_core::Call;

use crate::open::{OpenTerminal, held};
use crate::{Session, Verdict};

impl Session {
    /// Judges the open terminals by the rules as they are now.
    pub(crate) fn judge_terminals_anew(&self, call: &Call) {
        let all: Vec<Arc<OpenTerminal>> = held(&self.open().terminals).all.clone();
        all.iter().for_each(|one| self.judge_anew(one, call));
    }

    /// Judges a terminal by the rules as they are now, if they are not those of the last time. One that may
    /// not go on is ended.
    pub(super) fn judge_anew(&self, one: &OpenTerminal, call: &Call) {
        let Ok(rules) = self.open().rules(call) else { return };
        let rules = rules.in_full();
        if !one.terminal.is_running() || *held(&one.start.rules) == rules {
            return;
        }
        if let Some(reason) = self.reason_to_end(one, call) {
            let detail = format!("terminal {}: {reason}", one.terminal.run());
            // It is ended, whether or not that can be written down.
            let _ = self.open().workspace.record_audit(&self.desk_audit(call, "end", detail));
            one.end_because(reason);
        }
        *held(&one.start.rules) = rules;
    }

    /// Why an open terminal may not go on, if it may not.
    fn reason_to_end(&self, one: &OpenTerminal, call: &Call) -> Option<String> {
        let start = &one.start;
        let opener = self.of_another(one.actor, start.policy, one.chat);
        let attempt = opener.attempt(start.origin(), call);
        match attempt.judgement(&start.effect).ok()?.verdict {
            Verdict::Deny(reason) => return Some(reason),
            Verdict::Ask(reason) if !start.was_asked => return Some(reason),
            Verdict::Allow | Verdict::Ask(_) => {}
        }
        let call = attempt.reading().ok()?;
        match self.open().workspace.unmasked(&one.terminal, &call) {
            Ok(None) => None,
            Ok(Some(path)) => {
                Some(format!("{path} may not be read any more. Open another session"))
            }
            Err(fault) => Some(fault.message().to_owned()),
        }
    }
}
