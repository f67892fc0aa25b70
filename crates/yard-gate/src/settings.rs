//! The policy of a workspace as people see and set it. An agent can set nothing here.

use serde_json::{Map, Value};
use yard_core::{Call, Fault, FaultCode, Result, Timestamp};
use yard_kernel::store_fault;
use yard_store::Grant;

use crate::{Preset, Rules, Session};

/// The policy of a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySettings {
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

impl Session {
    /// The policy of the workspace.
    pub fn settings(&self) -> Result<PolicySettings> {
        let rules = self.open().read_rules()?;
        let saved = self.open().desk.grants(None).map_err(store_fault)?;
        Ok(PolicySettings {
            preset: rules.preset,
            effective: self.preset_of(&rules),
            rules: rules.rules.iter().map(crate::Rule::to_value).collect(),
            saved: saved.into_iter().map(saved_of).collect(),
        })
    }

    /// Sets what `wanted` names of `preset`, `rules` and `saved`, as a person; the rest stays. What does
    /// not parse is refused whole.
    pub fn change_settings(
        &self,
        call: &Call,
        wanted: &Map<String, Value>,
    ) -> Result<PolicySettings> {
        self.check_desk_write(call, "set policy")?;
        if !self.actor().is_person() {
            let setting = self.open().words.setting_policy;
            let why = format!("an agent cannot set the policy: only a person can{setting}");
            return self.refuse(call, "set policy", "", &why);
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
}

fn saved_of(grant: Grant) -> Saved {
    let rule = serde_json::from_str(&grant.rule).unwrap_or_default();
    Saved { rule, by: grant.by, at: grant.at }
}
