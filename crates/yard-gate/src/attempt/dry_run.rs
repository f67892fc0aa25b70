//! Dry runs: attempts that change nothing and record what would be judged, or what a person would be shown.

use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::{ContentHash, Effect, EffectKind, Fault, FaultCode};

use super::Attempt;
use super::part::PartCheck;
use crate::Verdict;
use crate::approvals::PlannedEffect;

/// The judgement of one operation of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedEffect {
    /// The effect of the operation.
    pub effect: Effect,
    /// The verdict about it.
    pub verdict: Verdict,
    /// The rule, preset, role or mode that decides, for people.
    pub because: String,
    /// The rule that decides, if one of the workspace's policy does: its place there.
    pub rule: Option<usize>,
}

/// What a person would be shown of one operation.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) effect: Effect,
    pub(crate) state: ContentHash,
    pub(crate) diff: String,
}

impl Plan {
    /// Whether a dry run ends with it: the operation would change, start or send something.
    pub(crate) fn is_last(&self) -> bool {
        let starts = self.effect.paths.iter().any(|one| one.kind == EffectKind::Run);
        starts || self.effect.changes_anything() || !self.effect.dials.is_empty()
    }
}

/// The judgements of a dry run.
#[derive(Debug, Default)]
pub(super) struct DryRun {
    explained: Mutex<Vec<ExplainedEffect>>,
    /// What a person would be shown, if the caller asked for it.
    plans: Option<Mutex<Vec<Plan>>>,
    /// The part of the change that it looks at.
    part: Option<Arc<PartCheck>>,
}

impl DryRun {
    pub(super) fn record(&self, explained: ExplainedEffect) {
        self.explained.lock().push(explained);
    }

    pub(super) fn records_plans(&self) -> bool {
        self.plans.is_some()
    }

    pub(super) fn record_plan(&self, planned: PlannedEffect<'_>) {
        let PlannedEffect { effect, state, diff, .. } = planned;
        let Some(plans) = &self.plans else { return };
        let plan = Plan { effect: effect.clone(), state, diff };
        plans.lock().push(plan);
    }

    pub(super) fn part_check(&self) -> Option<&PartCheck> {
        self.part.as_deref()
    }

    fn take(&self) -> (Vec<ExplainedEffect>, Vec<Plan>) {
        let explained = &mut *self.explained.lock();
        let plans = self.plans.as_ref().map(|plans| std::mem::take(&mut *plans.lock()));
        (std::mem::take(explained), plans.unwrap_or_default())
    }
}

impl Attempt<'_> {
    /// Runs a call without performing it, and returns the judgement of each of its operations. Nothing is stored.
    pub fn explain<T>(&self, run: impl FnOnce(&Attempt<'_>) -> T) -> (Vec<ExplainedEffect>, T) {
        let (explained, _, outcome) = self.dry_run_with(DryRun::default(), run);
        (explained, outcome)
    }

    /// The same, with what a person would be shown of each operation.
    pub(crate) fn plan<T>(
        &self,
        run: impl FnOnce(&Attempt<'_>) -> T,
    ) -> (Vec<ExplainedEffect>, Vec<Plan>, T) {
        let dry_run = DryRun { plans: Some(Mutex::default()), ..DryRun::default() };
        self.dry_run_with(dry_run, run)
    }

    /// The same, with a look at a part of the change.
    pub(super) fn dry_run_of_part<T>(
        &self,
        check: &Arc<PartCheck>,
        run: impl FnOnce(&Attempt<'_>) -> T,
    ) {
        self.dry_run_with(DryRun { part: Some(Arc::clone(check)), ..DryRun::default() }, run);
    }

    fn dry_run_with<T>(
        &self,
        dry_run: DryRun,
        run: impl FnOnce(&Attempt<'_>) -> T,
    ) -> (Vec<ExplainedEffect>, Vec<Plan>, T) {
        let dry_run = Arc::new(dry_run);
        let mut attempt = self.clone();
        attempt.notes.dry_run = Some(Arc::clone(&dry_run));
        let outcome = run(&attempt);
        let (explained, plans) = dry_run.take();
        (explained, plans, outcome)
    }
}

/// The fault that ends a dry run before anything is performed.
pub(crate) fn dry_run_only() -> Fault {
    Fault::new(FaultCode::Unavailable, "this call is only explained")
}
