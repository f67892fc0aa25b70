//! The rules that a yes for more than one call would save, as they would be stored.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use yard_gate::RulePreview;

use super::approvals;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// What a yes with one scope would save.
#[derive(Serialize, JsonSchema)]
pub(super) struct RuleRow {
    /// `chat` or `rule`, as a decision takes it.
    scope: &'static str,
    /// The rule; null if there is no yes with that scope.
    rule: Option<Value>,
    /// Why there is none.
    why: Option<String>,
}

impl From<RulePreview> for RuleRow {
    fn from(preview: RulePreview) -> Self {
        let scope = preview.scope.word();
        match preview.rule {
            Ok(rule) => Self { scope, rule: Some(rule), why: None },
            Err(why) => Self { scope, rule: None, why: Some(why) },
        }
    }
}

/// What a yes would save, by scope.
#[derive(Serialize, JsonSchema)]
pub(super) struct Rules {
    rules: Vec<RuleRow>,
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let (approval, session) = (approvals::named(request)?, request.session()?);
    let previews = request.app.catalog.rule_previews(&approval, &session, &request.call)?;
    Reply::ok(&Rules { rules: previews.into_iter().map(RuleRow::from).collect() })
}
