//! Judges open terminals again when the rules have changed, and ends those that are not allowed any more.

use std::sync::Arc;

use yard_core::{Call, FaultCode, Result};

use crate::open::OpenTerminal;
use crate::{Session, Verdict};

impl Session {
    /// Judges all open terminals by the current rules.
    pub(crate) fn rejudge_terminals(&self, call: &Call) {
        let all: Vec<Arc<OpenTerminal>> = self.open().terminals.lock().all.clone();
        for one in all {
            // If it cannot be judged now, the thread that follows it judges it again within a second.
            let _ = self.rejudge_terminal(&one, call);
        }
    }

    /// Judges a terminal by the current rules, unless they are those of its last judgement, and ends it if it is not
    /// allowed any more. After a fault it is not judged yet.
    pub(super) fn rejudge_terminal(&self, one: &OpenTerminal, call: &Call) -> Result<()> {
        let rules = self.open().policy(call)?.to_full_text();
        if !one.terminal.is_running() || *one.start.rules.lock() == rules {
            return Ok(());
        }
        if let Some(reason) = self.reason_to_end(one, call)? {
            let detail = format!("terminal {}: {reason}", one.terminal.run());
            // It is ended, even if the audit row cannot be written.
            let _ = self.open().workspace.record_audit(&self.audit_entry(call, "end", detail));
            one.end_because(reason);
        }
        *one.start.rules.lock() = rules;
        Ok(())
    }

    /// Why an open terminal is not allowed any more, if so.
    fn reason_to_end(&self, one: &OpenTerminal, call: &Call) -> Result<Option<String>> {
        let start = &one.start;
        let opener = self.new_session_of(one.actor, start.policy, one.chat);
        let attempt = opener.attempt(start.origin(), call);
        let judged = match attempt.judgement(&start.effect) {
            // Its chat was deleted, and what people allowed there with it.
            Err(fault) if fault.code() == FaultCode::NotFound => {
                return Ok(Some(fault.message().to_owned()));
            }
            judged => judged?,
        };
        match judged.verdict {
            Verdict::Deny(reason) => return Ok(Some(reason)),
            Verdict::Ask(reason) if !start.was_asked => return Ok(Some(reason)),
            Verdict::Allow | Verdict::Ask(_) => {}
        }
        let call = attempt.restricted_call()?;
        Ok(match self.open().workspace.unmasked(&one.terminal, &call) {
            Ok(None) => None,
            Ok(Some(path)) => {
                Some(format!("{path} may not be read any more. Open another session"))
            }
            Err(fault) => Some(fault.message().to_owned()),
        })
    }
}
