//! Judges open terminals again when the rules have changed, and ends those that are not allowed any more.

use std::sync::Arc;

use yard_core::Call;

use crate::open::OpenTerminal;
use crate::{Session, Verdict};

impl Session {
    /// Judges all open terminals by the current rules.
    pub(crate) fn rejudge_terminals(&self, call: &Call) {
        let all: Vec<Arc<OpenTerminal>> = self.open().terminals.lock().all.clone();
        all.iter().for_each(|one| self.rejudge_terminal(one, call));
    }

    /// Judges a terminal by the current rules, unless they are those of its last judgement, and ends it if it is not
    /// allowed any more.
    pub(super) fn rejudge_terminal(&self, one: &OpenTerminal, call: &Call) {
        let Ok(rules) = self.open().rules(call) else { return };
        let rules = rules.to_full_text();
        if !one.terminal.is_running() || *one.start.rules.lock() == rules {
            return;
        }
        if let Some(reason) = self.reason_to_end(one, call) {
            let detail = format!("terminal {}: {reason}", one.terminal.run());
            // It is ended, even if the audit row cannot be written.
            let _ = self.open().workspace.record_audit(&self.audit_entry(call, "end", detail));
            one.end_because(reason);
        }
        *one.start.rules.lock() = rules;
    }

    /// Why an open terminal is not allowed any more, if so.
    fn reason_to_end(&self, one: &OpenTerminal, call: &Call) -> Option<String> {
        let start = &one.start;
        let opener = self.new_session_of(one.actor, start.policy, one.chat);
        let attempt = opener.attempt(start.origin(), call);
        match attempt.judgement(&start.effect).ok()?.verdict {
            Verdict::Deny(reason) => return Some(reason),
            Verdict::Ask(reason) if !start.was_asked => return Some(reason),
            Verdict::Allow | Verdict::Ask(_) => {}
        }
        let call = attempt.restricted_call().ok()?;
        match self.open().workspace.unmasked(&one.terminal, &call) {
            Ok(None) => None,
            Ok(Some(path)) => {
                Some(format!("{path} may not be read any more. Open another session"))
            }
            Err(fault) => Some(fault.message().to_owned()),
        }
    }
}
