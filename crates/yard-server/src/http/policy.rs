//! The policy of a workspace over HTTP: people see and set what may happen without them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yard_gate::PolicySettings;

use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// What shall hold from now on; what is left out stays. What `GET` answers can be sent back.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewPolicy {
    /// `open`, `guarded` or `strict`: what holds where no rule says otherwise.
    preset: Option<String>,
    /// Rules, each with `then` (`allow`, `ask` or `deny`) and any of `effect`, `path` or
    /// `host`, `tool` and `why`.
    rules: Option<Vec<Value>>,
    /// What people allowed for every chat, as rules or as they are shown: sent back without some of them, those are
    /// forgotten.
    saved: Option<Vec<Value>>,
    /// Follows from the preset and is not set.
    #[expect(dead_code, reason = "what `GET` answers has it")]
    effective_preset: Option<String>,
}

/// Something that a person allowed for every chat.
#[derive(Serialize, JsonSchema)]
pub(super) struct SavedRule {
    /// What is allowed.
    rule: Value,
    /// Who allowed it, as `person:ID`.
    by: String,
    at: String,
}

/// The policy.
#[derive(Serialize, JsonSchema)]
pub(super) struct PolicyShown {
    /// The preset that was set, if one was.
    preset: Option<&'static str>,
    /// The preset that holds: the one that was set, else the server's own.
    effective_preset: &'static str,
    /// The rules, as they were written.
    rules: Vec<Value>,
    /// What people allowed for every chat, by approving it with a rule.
    saved: Vec<SavedRule>,
}

impl From<PolicySettings> for PolicyShown {
    fn from(settings: PolicySettings) -> Self {
        let saved = settings.saved.into_iter().map(|saved| SavedRule {
            rule: saved.rule,
            by: saved.by,
            at: saved.at.to_string(),
        });
        Self {
            preset: settings.preset.map(yard_gate::Preset::word),
            effective_preset: settings.effective.word(),
            rules: settings.rules,
            saved: saved.collect(),
        }
    }
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    Reply::ok(&PolicyShown::from(request.session()?.settings()?))
}

pub(super) fn set(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewPolicy { preset, rules, saved, .. } = request.json()?;
    let wanted = [
        ("preset", preset.map(Value::String)),
        ("rules", rules.map(Value::Array)),
        ("saved", saved.map(Value::Array)),
    ];
    let sent = wanted.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let wanted: Map<String, Value> = sent.collect();
    Reply::ok(&PolicyShown::from(request.session()?.change_settings(&request.call, &wanted)?))
}
