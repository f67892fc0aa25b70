//! What a call needs to read in order to be planned, judged before it is planned.

use yard_core::{Effect, EffectKind, Fault, FaultCode, PathEffect, Result, WsPath};
use yard_kernel::Execute;

use super::Attempt;
use crate::{Asks, Origin, Preset, Verdict};

/// Files that an operation needs to read and that its caller may not read without a person's yes.
#[derive(Default)]
pub(super) struct NeededReading {
    unread: Vec<WsPath>,
    /// Those that a rule asks about: who is asked about the change is asked about reading them, too.
    by_rule: Vec<WsPath>,
}

impl NeededReading {
    pub(super) fn asked_for(&self) -> Vec<PathEffect> {
        let reading = |path: &WsPath| Effect::one(EffectKind::Read, path.clone()).paths;
        self.by_rule.iter().flat_map(reading).collect()
    }

    /// A fault of a plan may quote a file: who may not read it gets other words.
    pub(super) fn reworded(&self, fault: Fault) -> Fault {
        let tells = matches!(
            fault.code(),
            FaultCode::TextNotFound
                | FaultCode::TextNotUnique
                | FaultCode::NoChange
                | FaultCode::Stale
        );
        match self.unread.first().filter(|_| tells) {
            None => fault,
            Some(path) => {
                let message = format!(
                    "the change does not fit {path}, and why is not said: this file may not be read \
                     without a person's word. Read it first"
                );
                Fault::new(fault.code(), message)
            }
        }
    }
}

impl Attempt<'_> {
    /// Denies the output of commands that could read more than this caller may.
    pub(super) fn judge_kept_output(&self, effect: &Effect) -> Verdict {
        let workspace = &self.open().workspace;
        let reads = effect.paths.iter().filter(|one| one.kind == EffectKind::Read);
        let withheld = |one: &&PathEffect| !workspace.may_see_output(&one.path, self.call);
        match reads.into_iter().find(withheld) {
            None => Verdict::Allow,
            Some(one) => Verdict::Deny(format!(
                "{} is what a command said that could read files which you may not read. Run the command again yourself",
                one.path
            )),
        }
    }

    /// What an operation needs to read that its caller may not: a fault if that is denied. Whether such a
    /// change would have fitted is not said, so that nobody can guess at a file by changing it.
    pub(super) fn needed_reading<O: Execute>(&self, op: &O) -> Result<NeededReading> {
        let mut needed = NeededReading::default();
        let reads = op.read_paths();
        if reads.is_empty() || self.notes.notebook.is_some() {
            return Ok(needed);
        }
        let asks = self.origin.asks.to_read();
        let attempt = Self { origin: Origin { asks, ..self.origin }, ..self.clone() };
        let preset = self.session.preset_of(&*self.open().rules(self.call)?);
        if self.call.reading().is_none() && preset != Preset::Strict && asks == Asks::Never {
            return Ok(needed);
        }
        for named in reads {
            let leads_to = self.open().workspace.leads_to(&named).filter(|path| *path != named);
            for path in std::iter::once(named).chain(leads_to) {
                let reading = Effect::one(EffectKind::Read, path.clone());
                if let Some(touched) = &self.notes.touched {
                    touched.note(&reading);
                }
                match attempt.judge(&reading)? {
                    Verdict::Allow => {}
                    Verdict::Ask(_) => {
                        needed.by_rule.extend((!self.call.may_read(&path)).then(|| path.clone()));
                        needed.unread.push(path);
                    }
                    Verdict::Deny(reason) => return attempt.deny::<O, _>(&reading, reason),
                }
            }
        }
        Ok(needed)
    }
}
