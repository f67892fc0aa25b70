//! An attempt in which nothing happens: it is only asked what would decide, or what a person would be shown.

use std::sync::{Arc, Mutex, PoisonError};

use yard_core::{ContentHash, Effect, EffectKind, Fault, FaultCode, Result};
use yard_store::Mode;

use super::Attempt;
use crate::approvals::Planned;
use crate::{Judgement, Verdict, plan_mode};

/// What would decide about one operation of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// What the operation would do.
    pub effect: Effect,
    /// What would be said.
    pub verdict: Verdict,
    /// What decides, in words.
    pub because: String,
}

/// What one operation of a planned call would show to a person.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) effect: Effect,
    pub(crate) state: ContentHash,
    pub(crate) diff: String,
}

impl Plan {
    /// Whether the call ends here when it is only planned: it would change, start or send something.
    pub(crate) fn is_last(&self) -> bool {
        let starts = self.effect.paths.iter().any(|one| one.kind == EffectKind::Run);
        starts || self.effect.changes_anything() || !self.effect.dials.is_empty()
    }
}

/// Where an attempt that only explains notes what would have been judged.
#[derive(Debug, Default)]
pub(super) struct Notebook {
    explained: Mutex<Vec<Explained>>,
    /// What would be shown to a person, where that is wanted.
    plans: Option<Mutex<Vec<Plan>>>,
}

impl Notebook {
    pub(super) fn note(&self, explained: Explained) {
        self.explained.lock().unwrap_or_else(PoisonError::into_inner).push(explained);
    }

    pub(super) fn keeps_plans(&self) -> bool {
        self.plans.is_some()
    }

    pub(super) fn note_plan(&self, planned: Planned<'_>) {
        let Planned { effect, state, diff, .. } = planned;
        let Some(plans) = &self.plans else { return };
        let plan = Plan { effect: effect.clone(), state, diff };
        plans.lock().unwrap_or_else(PoisonError::into_inner).push(plan);
    }

    fn take(&self) -> (Vec<Explained>, Vec<Plan>) {
        let explained = &mut *self.explained.lock().unwrap_or_else(PoisonError::into_inner);
        let plans = self.plans.as_ref().map(|plans| {
            std::mem::take(&mut *plans.lock().unwrap_or_else(PoisonError::into_inner))
        });
        (std::mem::take(explained), plans.unwrap_or_default())
    }
}

impl Attempt<'_> {
    /// Runs a call in which nothing happens, and says what would decide about each of its operations; nothing of it
    /// is recorded.
    pub fn explain<T>(&self, run: impl FnOnce(&Attempt<'_>) -> T) -> (Vec<Explained>, T) {
        let (explained, _, outcome) = self.run_unperformed(Notebook::default(), run);
        (explained, outcome)
    }

    /// The same, with what a person would be shown of each operation.
    pub(crate) fn plan<T>(
        &self,
        run: impl FnOnce(&Attempt<'_>) -> T,
    ) -> (Vec<Explained>, Vec<Plan>, T) {
        let notebook = Notebook { plans: Some(Mutex::default()), ..Notebook::default() };
        self.run_unperformed(notebook, run)
    }

    fn run_unperformed<T>(
        &self,
        notebook: Notebook,
        run: impl FnOnce(&Attempt<'_>) -> T,
    ) -> (Vec<Explained>, Vec<Plan>, T) {
        let notebook = Arc::new(notebook);
        let mut attempt = self.clone();
        attempt.notes.notebook = Some(Arc::clone(&notebook));
        let outcome = run(&attempt);
        let (explained, plans) = notebook.take();
        (explained, plans, outcome)
    }

    /// What would decide about an effect.
    pub(super) fn explained(&self, effect: &Effect) -> Result<Explained> {
        let (session, toolset) = (self.session, self.origin.toolset);
        let effect = effect.clone();
        if let refused @ Verdict::Deny(_) = session.policy().judge_role(&effect) {
            let because = "the caller's role may only read the workspace".to_owned();
            return Ok(Explained { effect, verdict: refused, because });
        }
        let Judgement { verdict, because } = self.judged_in_words(&effect)?;
        let in_plan_mode = (effect.changes_anything() || effect.sends_anything())
            && session.mode()? == Mode::Plan
            && !matches!(verdict, Verdict::Deny(_));
        let how_out = self.open().words.leaving_plan_mode(toolset);
        if let (true, refused @ Verdict::Deny(_)) =
            (in_plan_mode, plan_mode::judge(how_out, &effect))
        {
            let because = "the chat is in plan mode".to_owned();
            return Ok(Explained { effect, verdict: refused, because });
        }
        Ok(Explained { effect, verdict, because })
    }
}

/// Nothing happens where it is only asked what would decide.
pub(crate) fn only_explained() -> Fault {
    Fault::new(FaultCode::Unavailable, "this call is only explained")
}
