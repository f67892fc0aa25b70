//! What a call needs to read, judged before it is planned; and what it looks at, noted for its transcript.

use std::sync::Arc;

use yard_core::{Call, ChatId, Effect, EffectKind, Fault, FaultCode, PathEffect, Result, WsPath};
use yard_kernel::Execute;

use crate::policy::Preset;
use crate::reading::Touched;
use crate::{Actor, Asks, Origin, Policy, Session, Verdict};

/// Files that an operation needs to read and that its caller may not read without a person's word.
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

impl Session {
    /// The same session for one call whose line of the transcript says what it was about.
    #[must_use]
    pub fn tracking(&self) -> Self {
        let touched = self.touched.clone().unwrap_or_default();
        Self { touched: Some(touched), ..self.clone() }
    }

    pub(crate) fn touched(&self) -> Option<&Touched> {
        self.touched.as_deref()
    }

    /// Somebody else's session in this workspace, outside of any call.
    pub(crate) fn instead_as(&self, actor: Actor, policy: Policy, chat: ChatId) -> Self {
        let session = Self::new(Arc::clone(&self.open), actor, policy);
        Self { chat: Some(chat), ..session }
    }

    /// A word against what commands said who could read more than this caller may.
    pub(super) fn judge_kept_output(&self, call: &Call, effect: &Effect) -> Verdict {
        let reads = effect.paths.iter().filter(|one| one.kind == EffectKind::Read);
        let withheld = |one: &&PathEffect| !self.open.workspace.may_see_output(&one.path, call);
        match reads.into_iter().find(withheld) {
            None => Verdict::Allow,
            Some(one) => Verdict::Deny(format!(
                "{} is what a command said that could read files which you may not read. Run the command again yourself",
                one.path
            )),
        }
    }

    /// What an operation needs to read that its caller may not: a fault if that is denied. Whether such a
    /// change would have fitted is not told, so that nobody can guess at a file by changing it.
    pub(super) fn needed_reading<O: Execute>(
        &self,
        origin: Origin<'_>,
        call: &Call,
        op: &O,
    ) -> Result<NeededReading> {
        let mut needed = NeededReading::default();
        let origin = Origin { asks: origin.asks.to_read(), ..origin };
        let reads = op.reads();
        if reads.is_empty() || self.is_inner || self.notebook.is_some() {
            return Ok(needed);
        }
        let preset = self.open.rules(call)?.preset.unwrap_or_else(|| self.policy.preset());
        let asks = preset == Preset::Strict || origin.asks != Asks::Never;
        if call.reading().is_none() && !asks {
            return Ok(needed);
        }
        for named in reads {
            let leads_to = self.open.workspace.leads_to(&named).filter(|path| *path != named);
            for path in std::iter::once(named).chain(leads_to) {
                let reading = Effect::one(EffectKind::Read, path.clone());
                self.touched().into_iter().for_each(|touched| touched.note(&reading));
                match self.judge(origin, call, &reading)? {
                    Verdict::Allow => {}
                    Verdict::Ask(_) => {
                        needed.by_rule.extend((!call.may_read(&path)).then(|| path.clone()));
                        needed.unread.push(path);
                    }
                    Verdict::Deny(reason) => {
                        let mut entry = self.audit_entry::<O>(origin, call, &reading);
                        entry.action = format!("deny {}", entry.action);
                        self.open.workspace.record_audit(&entry)?;
                        return Err(Fault::new(FaultCode::Denied, reason));
                    }
                }
            }
        }
        Ok(needed)
    }
}
