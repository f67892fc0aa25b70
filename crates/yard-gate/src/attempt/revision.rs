//! A request with other arguments that a person chose. It is planned again in a dry run. The result is shown to the
//! person, executed and stored.

use serde_json::Value;
use yard_core::{Effect, Fault, FaultCode, Result};
use yard_store::Revision;

use crate::approvals::effect_text;
use crate::attempt::Plan;
use crate::{Attempt, Verdict};

impl Attempt<'_> {
    /// Plans a call with the arguments `args`, which `run` makes. The fault says why it could not be performed: a rule
    /// denies it, or `run` fails.
    pub fn revise<T>(
        &self,
        args: &Value,
        run: impl FnOnce(&Attempt<'_>) -> Result<T>,
    ) -> Result<Revision> {
        let (explained, plans, outcome) = self.plan(run);
        let denied = explained.into_iter().find_map(|explained| match explained.verdict {
            Verdict::Deny(reason) => Some(Fault::new(FaultCode::Denied, reason)),
            Verdict::Allow | Verdict::Ask(_) => None,
        });
        if let Some(fault) = denied {
            return Err(fault);
        }
        if !plans.iter().any(Plan::is_last) {
            // No operation would have changed anything: the call ended by itself.
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
            effect: effect_text(&effect),
            diff: last.diff.clone(),
            state: last.state,
        })
    }
}
