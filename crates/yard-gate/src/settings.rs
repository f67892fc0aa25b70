//! The policy of a workspace as people read and set it. An agent can set nothing here.

use serde_json::{Map, Value};
use yard_core::{Call, Fault, FaultCode, Result, Timestamp};
use yard_store::{Grant, StoreError};

use crate::{Preset, Rule, Session, WorkspacePolicy};

/// The policy of a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySettings {
    /// The preset that was set; without one that of the door holds.
    pub preset: Option<Preset>,
    /// The preset that holds for this session.
    pub effective: Preset,
    /// The rules.
    pub rules: Vec<Value>,
    /// The rules that people saved with an approval, for every chat.
    pub saved: Vec<SavedRule>,
}

/// A rule that a person saved with an approval.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedRule {
    /// The rule.
    pub rule: Value,
    /// The person who saved it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

impl Session {
    /// The policy of the workspace.
    pub fn settings(&self) -> Result<PolicySettings> {
        let rules = self.open().read_rules()?;
        let saved = self.open().records.grants(None)?;
        Ok(PolicySettings {
            preset: rules.preset,
            effective: self.preset_of(&rules),
            rules: rules.rules.iter().map(Rule::to_value).collect(),
            saved: saved.into_iter().map(saved_rule).collect(),
        })
    }

    /// Sets those of `preset`, `rules` and `saved` that `wanted` has, as a person. Nothing is set if any of them is
    /// invalid.
    pub fn change_settings(
        &self,
        call: &Call,
        wanted: &Map<String, Value>,
    ) -> Result<PolicySettings> {
        self.check_record_write(call, "set policy")?;
        if !self.actor().is_person() {
            let hint = self.open().hints.setting_policy;
            let why = format!("an agent cannot set the policy: only a person can{hint}");
            return self.refuse(call, "set policy", "", &why);
        }
        let refused = |error: String| {
            let message = format!("{error}. Nothing was changed");
            Fault::new(FaultCode::BadArgument, message)
        };
        let parsed = WorkspacePolicy::parse(&Value::Object(wanted.clone())).map_err(refused)?;
        while !self.try_change_settings(call, wanted, &parsed)? {
            // Another call set the policy meanwhile: this change is made to that policy.
            call.check()?;
        }
        self.open().forget_rules();
        self.open().changes.notify();
        self.rejudge_terminals(call);
        self.settings()
    }

    /// Sets what `wanted` names to what `parsed` has of it. Whether no other call set the policy meanwhile; else nothing was
    /// set.
    fn try_change_settings(
        &self,
        call: &Call,
        wanted: &Map<String, Value>,
        parsed: &WorkspacePolicy,
    ) -> Result<bool> {
        let records = &self.open().records;
        let before = records.policy()?;
        let mut rules = WorkspacePolicy::parse_stored(before.as_deref())?;
        if wanted.contains_key("preset") {
            rules.preset = parsed.preset;
        }
        if wanted.contains_key("rules") {
            rules.rules.clone_from(&parsed.rules);
        }
        let text = rules.to_text();
        let audit = self.audit_entry(call, "set policy", text.clone());
        let grant = |rule: &Rule| Grant {
            chat: None,
            rule: rule.to_value().to_string(),
            by: audit.actor.clone(),
            at: audit.at,
        };
        let saved: Option<Vec<Grant>> =
            wanted.contains_key("saved").then(|| parsed.saved.iter().map(grant).collect());
        match records.set_policy(before.as_deref(), &text, saved.as_deref(), &audit) {
            Err(StoreError::Misfit(_)) => Ok(false),
            done => done.map(|()| true).map_err(Fault::from),
        }
    }
}

fn saved_rule(grant: Grant) -> SavedRule {
    let rule = serde_json::from_str(&grant.rule).unwrap_or_default();
    SavedRule { rule, by: grant.by, at: grant.at }
}
