//! The files that an operation has to read in order to be planned. They are judged before it is planned.

use yard_core::{Effect, EffectKind, Fault, FaultCode, PathEffect, Result, WsPath};
use yard_kernel::Execute;

use super::{Attempt, dry_run_only};
use crate::{Asks, Origin, Preset, Verdict};

/// Files that an operation has to read and that its caller may not read without an approval.
#[derive(Default)]
pub(super) struct RequiredReads {
    unread: Vec<WsPath>,
    /// Those that a rule asks about: a person who is asked about the change is asked about reading them as well.
    by_rule: Vec<WsPath>,
}

impl RequiredReads {
    pub(super) fn effects_to_approve(&self) -> Vec<PathEffect> {
        let reading = |path: &WsPath| Effect::one(EffectKind::Read, path.clone()).paths;
        self.by_rule.iter().flat_map(reading).collect()
    }

    /// The fault of a plan, without a quotation from a file that the caller may not read.
    pub(super) fn without_content(&self, fault: Fault) -> Fault {
        let may_quote = matches!(
            fault.code(),
            FaultCode::TextNotFound
                | FaultCode::TextNotUnique
                | FaultCode::NoChange
                | FaultCode::Stale
        );
        match self.unread.first().filter(|_| may_quote) {
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
    /// Denies the stored output of commands that could read more than this caller may.
    pub(super) fn judge_command_output(&self, effect: &Effect) -> Verdict {
        let workspace = &self.open().workspace;
        let reads = effect.paths.iter().filter(|one| one.kind == EffectKind::Read);
        let is_withheld = |one: &&PathEffect| !workspace.may_see_output(&one.path, self.call);
        match reads.into_iter().find(is_withheld) {
            None => Verdict::Allow,
            Some(one) => Verdict::Deny(format!(
                "{} is what a command said that could read files which you may not read. Run the command again yourself",
                one.path
            )),
        }
    }

    /// The files that an operation has to read and its caller may not; a fault if reading one is denied. Whether such a
    /// change would have fitted is not revealed, so that no caller can guess the content of a file by changing it.
    pub(super) fn judge_required_reads<O: Execute>(&self, op: &O) -> Result<RequiredReads> {
        let mut required = RequiredReads::default();
        let reads = op.read_paths();
        if reads.is_empty() {
            return Ok(required);
        }
        let asks = self.origin.asks.to_read();
        let attempt = Self { origin: Origin { asks, ..self.origin }, ..self.clone() };
        let preset = self.session.preset_of(&*self.open().policy(self.call)?);
        if self.call.reading().is_none() && preset != Preset::Strict && asks == Asks::Never {
            return Ok(required);
        }
        for named in reads {
            let leads_to = self.open().workspace.leads_to(&named).filter(|path| *path != named);
            for path in std::iter::once(named).chain(leads_to) {
                let reading = Effect::one(EffectKind::Read, path.clone());
                if let Some(touched) = &self.notes.touched {
                    touched.add(&reading);
                }
                match attempt.judge(&reading)? {
                    Verdict::Allow => {}
                    Verdict::Ask(_) => {
                        required.by_rule.extend((!self.call.may_read(&path)).then(|| path.clone()));
                        required.unread.push(path);
                    }
                    Verdict::Deny(reason) => {
                        return match attempt.record_if_dry_run::<()>(&reading, None)? {
                            true => Err(dry_run_only()),
                            false => attempt.deny::<O, _>(&reading, reason),
                        };
                    }
                }
            }
        }
        Ok(required)
    }
}
