//! The policy of a workspace as people read and set it. An agent can set nothing here.

use serde_json::{Map, Value};
use yard_core::{Call, Fault, FaultCode, Result, Timestamp};
use yard_store::{AuditEntry, Grant, ReplacedGrants, StoreError};

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
        let policy = self.open().read_policy()?;
        let saved = self.open().records.grants(None)?;
        Ok(PolicySettings {
            preset: policy.preset,
            effective: self.preset_of(&policy),
            rules: policy.rules.iter().map(Rule::to_value).collect(),
            saved: saved.into_iter().map(saved_rule).collect(),
        })
    }

    /// Sets those of `preset`, `rules` and `saved` that `wanted` has, as a person. Nothing is set if any of them is
    /// invalid. What doors show of the policy can be set again: an entry of `saved` is a rule, or `{rule, by, at}`.
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
        let wanted = without_derived(wanted.clone());
        let parsed = WorkspacePolicy::parse(&Value::Object(wanted.clone())).map_err(refused)?;
        let known = self.open().records.grants(None)?;
        while !self.try_change_settings(call, &wanted, &parsed, &known)? {
            // Another call set the policy meanwhile: this change is made to that policy.
            call.check()?;
            if wanted.contains_key("saved") && self.open().records.grants(None)? != known {
                let message = "a rule was saved meanwhile, and `saved` does not name it: look at the policy again, and \
                               send `saved` with that rule or without it. Nothing was changed";
                return Err(Fault::new(FaultCode::Stale, message));
            }
        }
        self.open().forget_policy();
        self.open().changes.notify();
        self.rejudge_terminals(call);
        self.settings()
    }

    /// Sets what `wanted` names to what `parsed` has of it, if the saved rules are still those that are `known`. Whether no
    /// other call changed any of that meanwhile; else nothing was set.
    fn try_change_settings(
        &self,
        call: &Call,
        wanted: &Map<String, Value>,
        parsed: &WorkspacePolicy,
        known: &[Grant],
    ) -> Result<bool> {
        let records = &self.open().records;
        let before = records.policy()?;
        let mut policy = WorkspacePolicy::parse_stored(before.as_deref())?;
        if wanted.contains_key("preset") {
            policy.preset = parsed.preset;
        }
        if wanted.contains_key("rules") {
            policy.rules.clone_from(&parsed.rules);
        }
        let text = policy.to_text();
        let audit = self.audit_entry(call, "set policy", text.clone());
        let after = grants_of(&parsed.saved, known, &audit);
        let saved = ReplacedGrants { before: known, after: &after };
        let saved = wanted.contains_key("saved").then_some(saved);
        match records.set_policy(before.as_deref(), &text, saved, &audit) {
            Err(StoreError::Misfit(_)) => Ok(false),
            done => done.map(|()| true).map_err(Fault::from),
        }
    }
}

/// What doors show of the policy, without what is derived: the preset that holds, and who saved a rule and when.
fn without_derived(mut shown: Map<String, Value>) -> Map<String, Value> {
    shown.shift_remove("effective_preset");
    for entry in shown.get_mut("saved").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(members) = entry.as_object() else { continue };
        let is_shown = members.keys().all(|name| ["rule", "by", "at"].contains(&name.as_str()));
        if let Some(rule) = members.get("rule").filter(|_| is_shown) {
            *entry = rule.clone();
        }
    }
    shown
}

/// The grants of saved rules. One that was saved before keeps its person and its time.
fn grants_of(rules: &[Rule], known: &[Grant], audit: &AuditEntry) -> Vec<Grant> {
    let grant = |rule: &Rule| {
        let value = rule.to_value();
        let is_same = |grant: &&Grant| {
            serde_json::from_str(&grant.rule).is_ok_and(|known: Value| known == value)
        };
        known.iter().find(is_same).cloned().unwrap_or_else(|| Grant {
            chat: None,
            rule: value.to_string(),
            by: audit.actor.clone(),
            at: audit.at,
        })
    };
    rules.iter().map(grant).collect()
}

fn saved_rule(grant: Grant) -> SavedRule {
    let rule = serde_json::from_str(&grant.rule).unwrap_or_default();
    SavedRule { rule, by: grant.by, at: grant.at }
}
