//! A request with other arguments, as a person wants them: planned anew, in a session in which nothing
//! happens. What comes of it is what the person is shown, what is executed and what is kept.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use yard_core::{ContentHash, Effect, EffectKind, Fault, FaultCode, Result};
use yard_store::Revision;

use crate::approvals::{Planned, effect_json};
use crate::settings::Notebook;
use crate::{Session, Verdict};

/// What the operations of a planned call would show to a person, in their order.
#[derive(Debug, Default)]
pub(crate) struct Plans(Mutex<Vec<Plan>>);

#[derive(Debug)]
struct Plan {
    effect: Effect,
    state: ContentHash,
    diff: String,
}

impl Plan {
    /// Whether the call ends here when it is only planned: it would change, start or send something.
    fn is_last(&self) -> bool {
        let starts = self.effect.paths.iter().any(|one| one.kind == EffectKind::Run);
        starts || self.effect.changes_anything() || !self.effect.dials.is_empty()
    }
}

impl Plans {
    pub(crate) fn note(&self, planned: Planned<'_>) {
        let Planned { effect, state, diff, .. } = planned;
        let plan = Plan { effect: effect.clone(), state, diff };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(plan);
    }

    fn take(&self) -> Vec<Plan> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Session {
    /// Plans a call with the arguments `args`; `run` makes it. The fault says why it could not happen: a
    /// rule denies it, or what `run` says is wrong with it.
    pub fn revise<T>(
        &self,
        args: &Value,
        run: impl FnOnce(&Session) -> std::result::Result<T, Fault>,
    ) -> Result<Revision> {
        let notebook = Arc::new(Notebook::with_plans());
        let outcome = run(&self.explaining(Arc::clone(&notebook)));
        let denied = notebook.take().into_iter().find_map(|noted| match noted.verdict {
            Verdict::Deny(reason) => Some(Fault::new(FaultCode::Denied, reason)),
            Verdict::Allow | Verdict::Ask(_) => None,
        });
        if let Some(fault) = denied {
            return Err(fault);
        }
        let plans = notebook.plans.as_ref().map(Plans::take).unwrap_or_default();
        if !plans.iter().any(Plan::is_last) {
            // It came to nothing that would have stopped it here: it ended by itself.
            outcome?;
        }
        let reads = plans.iter().filter(|plan| !plan.is_last());
        let mut paths: Vec<_> = reads.flat_map(|plan| plan.effect.paths.clone()).collect();
        let last = plans.iter().find(|plan| plan.is_last()).or(plans.last());
        let last = last.ok_or_else(|| {
            let message = "with these arguments the call would do nothing that can be shown";
            Fault::new(FaultCode::BadArgument, message)
        })?;
        let more = last.effect.paths.iter().filter(|one| !paths.contains(one)).cloned();
        let more: Vec<_> = more.collect();
        paths.extend(more);
        let effect = Effect { paths, dials: last.effect.dials.clone() };
        Ok(Revision {
            args: args.to_string(),
            effect: effect_json(&effect).to_string(),
            diff: last.diff.clone(),
            state: last.state,
        })
    }
}
