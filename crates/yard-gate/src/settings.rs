//! The policy of a workspace as people see and set it, and what it would say of a call. An agent can set
//! nothing here.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use yard_core::{Call, Effect, Fault, FaultCode, Result, Timestamp};
use yard_kernel::store_fault;
use yard_store::Grant;

use crate::revision::Plans;
use crate::{Judgement, Origin, Preset, Rules, Session, Verdict, plan_mode};

/// The policy of a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The preset that was set; without one the door's holds.
    pub preset: Option<Preset>,
    /// The preset that holds for this session.
    pub effective: Preset,
    /// The rules, as they were written.
    pub rules: Vec<Value>,
    /// What persons allowed for every chat, by approving it with a rule.
    pub saved: Vec<Saved>,
}

/// Something that a person allowed for every chat.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// What is allowed.
    pub rule: Value,
    /// Who allowed it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

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

/// Where a session that only explains notes what it is told.
#[derive(Debug, Default)]
pub(crate) struct Notebook {
    explained: Mutex<Vec<Explained>>,
    /// What would be shown to a person, where that is wanted.
    pub(crate) plans: Option<Plans>,
}

impl Notebook {
    /// One that also keeps what would be shown to a person.
    pub(crate) fn with_plans() -> Self {
        Self { plans: Some(Plans::default()), ..Self::default() }
    }

    pub(crate) fn note(&self, explained: Explained) {
        self.explained.lock().unwrap_or_else(PoisonError::into_inner).push(explained);
    }

    pub(crate) fn take(&self) -> Vec<Explained> {
        std::mem::take(&mut *self.explained.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Session {
    /// The policy of the workspace.
    pub fn settings(&self) -> Result<Settings> {
        let rules = self.open().read_rules()?;
        let saved = self.open().desk.grants(None).map_err(store_fault)?;
        Ok(Settings {
            preset: rules.preset,
            effective: self.preset_of(&rules),
            rules: rules.rules.iter().map(crate::Rule::to_value).collect(),
            saved: saved.into_iter().map(saved_of).collect(),
        })
    }

    /// Sets what `wanted` names of `preset`, `rules` and `saved`, as a person; the rest stays. What does
    /// not parse is refused whole.
    pub fn change_settings(&self, call: &Call, wanted: &Map<String, Value>) -> Result<Settings> {
        self.check_desk_write(call, "set policy")?;
        if !self.actor().is_person() {
            let why = "an agent cannot set the policy: only a person can, with `toolyard policy` or over HTTP";
            return self.refuse(call, "set policy", "", why);
        }
        let refused = |error: String| {
            let message = format!("{error}. Nothing was changed");
            Fault::new(FaultCode::BadArgument, message)
        };
        let parsed = Rules::parse(&Value::Object(wanted.clone())).map_err(refused)?;
        let mut rules = self.open().read_rules()?;
        if wanted.contains_key("preset") {
            rules.preset = parsed.preset;
        }
        if wanted.contains_key("rules") {
            rules.rules = parsed.rules;
        }
        let text = rules.to_text();
        let audit = self.desk_audit(call, "set policy", text.clone());
        let grant = |rule: &crate::Rule| Grant {
            chat: None,
            rule: rule.to_value().to_string(),
            by: audit.actor.clone(),
            at: audit.at,
        };
        let saved: Option<Vec<Grant>> =
            wanted.contains_key("saved").then(|| parsed.saved.iter().map(grant).collect());
        let desk = &self.open().desk;
        desk.set_policy(&text, saved.as_deref(), &audit).map_err(store_fault)?;
        self.open().rules_changed();
        self.open().bell.ring();
        self.judge_terminals_anew(call);
        self.settings()
    }

    /// Runs `call` in a session in which nothing changes, and says what would decide about each of its
    /// operations; nothing of it is recorded.
    pub fn explain<T>(&self, run: impl FnOnce(&Session) -> T) -> (Vec<Explained>, T) {
        let notebook = Arc::new(Notebook::default());
        let outcome = run(&self.explaining(Arc::clone(&notebook)));
        (notebook.take(), outcome)
    }

    /// What would decide about an effect.
    pub(crate) fn explained(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
    ) -> Result<Explained> {
        let effect = effect.clone();
        if let refused @ Verdict::Deny(_) = self.policy().judge_role(&effect) {
            let because = "the caller's role may only read the workspace".to_owned();
            return Ok(Explained { effect, verdict: refused, because });
        }
        let Judgement { verdict, because } = self.judged_in_words(origin, call, &effect)?;
        let in_plan_mode = (effect.changes_anything() || effect.sends_anything())
            && self.mode()? == crate::Mode::Plan
            && !matches!(verdict, Verdict::Deny(_));
        if let (true, refused @ Verdict::Deny(_)) =
            (in_plan_mode, plan_mode::judge(origin.toolset, &effect))
        {
            let because = "the chat is in plan mode".to_owned();
            return Ok(Explained { effect, verdict: refused, because });
        }
        Ok(Explained { effect, verdict, because })
    }
}

fn saved_of(grant: Grant) -> Saved {
    let rule = serde_json::from_str(&grant.rule).unwrap_or_default();
    Saved { rule, by: grant.by, at: grant.at }
}
